"""What a success at Stripe means for an invoice (protocol section 8)."""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import IntentView
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.invoice import InvoiceStatus


class Source(StrEnum):
    """Who brought the news of a payment."""

    ANSWER = "answer"
    SWEEP = "sweep"
    FOLLOWER = "follower"
    PREPARE = "prepare"
    WATCH = "watch"
    CLOSE = "close"
    AUDIT = "audit"
    RECOVER = "recover"
    PAGE = "page"
    WEBHOOK = "webhook"
    ELSEWHERE = "elsewhere"
    """Paid offline; an operator recorded it."""
    CREDIT = "credit"
    """Covered by the customer's credit balance."""


class Verdict(StrEnum):
    """What the news of a success did."""

    PAID = "paid"
    OVERPAID = "overpaid"
    """Paid, and more than was due: `payment.amount_mismatch` as well."""
    SHORT = "short"
    """Less than was due, or another currency: recorded, open, only a person collects the rest."""
    DUPLICATE = "duplicate"
    VOIDED = "voided"
    REFUNDED = "refunded"
    """Given back in full before we heard of it: recorded, and counts as not paid."""
    KNOWN = "known"
    """Recorded before; nothing changed but the hold, where it may end."""


NOTICES = {
    Verdict.OVERPAID: "payment.amount_mismatch",
    Verdict.SHORT: "payment.amount_mismatch",
    Verdict.DUPLICATE: "payment.duplicate_charge",
    Verdict.VOIDED: "payment.received_on_voided_invoice",
    Verdict.REFUNDED: "payment.found_refunded",
}
"""Every verdict that needs a person, and the notice it opens."""


@dataclass(frozen=True, slots=True)
class Success:
    """A succeeded intent, as settling needs it; amounts in minor units."""

    intent_id: str
    amount: int
    amount_refunded: int
    currency: str
    charge_id: str | None
    attempt_id: AttemptId | None
    """The attempt that made it, when that is proven."""

    @classmethod
    def of(cls, intent: IntentView, attempt_id: AttemptId | None) -> "Success":
        """The success that this intent shows: what was received, not what was asked for (E6)."""
        charge = intent.latest_charge
        return cls(
            intent_id=intent.id,
            amount=intent.amount_received,
            amount_refunded=min(charge.amount_refunded, intent.amount_received) if charge else 0,
            currency=intent.currency,
            charge_id=charge.id if charge else None,
            attempt_id=attempt_id,
        )


@dataclass(frozen=True, slots=True)
class Settled:
    """What settling left behind."""

    verdict: Verdict
    status: InvoiceStatus
    held: bool
