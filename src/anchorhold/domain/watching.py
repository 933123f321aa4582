"""TABLE: what a watched intent's status means (protocol sections 6, Audit, and 7, F9).

Watched is the live intent of a superseded attempt: the attempt's charge may still come.
"""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import PAYABLE, UNDER_WAY, IntentStatus
from anchorhold.domain.invoice import ANY, CLOSED, OPEN, InvoiceStatus


class Watch(StrEnum):
    """What the watcher does."""

    SETTLE = "settle"
    FOLLOW = "follow"
    """The invoice follows it from now on."""
    WAIT = "wait"
    CANCEL = "cancel"
    """A closed invoice must not stay payable."""
    END = "end"
    """The next intent may be prepared."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    id: str
    intent: frozenset[IntentStatus]
    invoice: frozenset[InvoiceStatus]
    act: Watch
    because: str


# fmt: off
WATCH = (
    Row("W1", frozenset({IntentStatus.SUCCEEDED}), ANY, Watch.SETTLE,
        "money arrived: never lose it"),
    Row("W2", UNDER_WAY, OPEN, Watch.FOLLOW, "the bank decides later"),
    Row("W3", UNDER_WAY, CLOSED, Watch.WAIT, "its end is looked for"),
    Row("W4", frozenset({IntentStatus.CANCELED}), ANY, Watch.END,
        "a cancelled intent never charges"),
    Row("W5", PAYABLE, OPEN, Watch.WAIT, "the next attempt confirms this same intent"),
    Row("W6", PAYABLE, CLOSED, Watch.CANCEL, "nothing is due and it could still be paid"),
)
# fmt: on


def read(intent: IntentStatus, invoice: InvoiceStatus) -> Row:
    """The row for this status of the intent and of the invoice."""
    return next(row for row in WATCH if intent in row.intent and invoice in row.invoice)
