"""TABLE: what a dispute's status means for the payment (protocol section 8).

A bank debit that is returned after it had succeeded comes as a dispute too (Stripe: ACH Direct
Debit, SEPA Direct Debit).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


@dataclass(frozen=True, slots=True)
class DisputeView:
    """A dispute as Stripe showed it; the amount in minor units."""

    id: str
    status: str
    amount: int
    currency: str
    reason: str
    intent_id: str | None


class Dispute(StrEnum):
    """What a payment says about its dispute."""

    INQUIRY = "inquiry"
    """A question of the bank's: no money moved."""
    OPEN = "open"
    """The money is withheld until the bank decides; the invoice stays as it is."""
    WON = "won"
    LOST = "lost"
    """The money is gone: the invoice is owed again, and only a person collects it."""
    CLOSED = "closed"
    """It ended without a decision about money."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `notice`: what a person is told."""

    id: str
    statuses: frozenset[str]
    means: Dispute
    notice: str | None
    because: str


# fmt: off
DISPUTES: Final = (
    Row("B1", frozenset({"warning_needs_response", "warning_under_review"}), Dispute.INQUIRY,
        "payment.disputed", "a question can become a dispute: answer it in time"),
    Row("B2", frozenset({"needs_response", "under_review"}), Dispute.OPEN,
        "payment.disputed", "the bank decides: evidence is due"),
    Row("B3", frozenset({"won"}), Dispute.WON, None, "the money is back"),
    Row("B4", frozenset({"lost"}), Dispute.LOST,
        "payment.dispute_lost", "the customer or the bank took the money back"),
    Row("B5", frozenset({"warning_closed", "prevented"}), Dispute.CLOSED, None,
        "it ended before money moved"),
)
# fmt: on


def read(status: str) -> Row | None:
    """The row of this status; None for one that Stripe has not documented."""
    return next((row for row in DISPUTES if status in row.statuses), None)
