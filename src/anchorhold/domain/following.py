"""TABLE: what a followed intent's status means (protocol section 7, F5)."""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import PAYABLE, UNDER_WAY, IntentStatus
from anchorhold.domain.invoice import ANY, CLOSED, OPEN, InvoiceStatus


class Follow(StrEnum):
    """What the follower does."""

    SETTLE = "settle"
    WAIT = "wait"
    END = "end"
    """The following ends as a decline of the followed attempt."""
    CANCEL = "cancel"
    """Cancel first: a closed invoice must not stay payable. The next look ends the following."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    id: str
    intent: frozenset[IntentStatus]
    invoice: frozenset[InvoiceStatus]
    act: Follow
    because: str
    own: bool | None = None
    """Whether the intent is the invoice's own live one; None: either."""


# fmt: off
FOLLOW = (
    Row("F1", frozenset({IntentStatus.SUCCEEDED}), ANY, Follow.SETTLE,
        "money arrived: never lose it"),
    Row("F2", UNDER_WAY, ANY, Follow.WAIT, "the bank has not decided yet"),
    Row("F3", frozenset({IntentStatus.CANCELED}), ANY, Follow.END,
        "a cancelled intent never charges"),
    Row("F4", PAYABLE, OPEN, Follow.END, "the bank said no", own=True),
    Row("F6", PAYABLE, OPEN, Follow.CANCEL, "a direct charge's: it would stay payable beside the "
        "next one (H17)", own=False),
    Row("F5", PAYABLE, CLOSED, Follow.CANCEL, "nothing is due and it could still be paid"),
)
# fmt: on


def read(intent: IntentStatus, invoice: InvoiceStatus, *, own: bool = True) -> Row:
    """The row for this status of the intent and of the invoice; `own`: its own live intent."""
    return next(
        row
        for row in FOLLOW
        if intent in row.intent and invoice in row.invoice and row.own in {None, own}
    )
