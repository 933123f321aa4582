"""The hold: who may act on an invoice, and until when (protocol section 1).

NULL is free. A hold in the future is live: its owner is working. One in the past is stale: a
charge may have been sent and its result was not saved. A stale hold is not free.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.account import SweepMode
from anchorhold.domain.answer import Deadline
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.scope import Scope


class HoldState(StrEnum):
    """What the hold of an invoice says at this moment."""

    NONE = "none"
    LIVE = "live"
    STALE = "stale"
    PARKED = "parked"
    """An unclear answer that named no PaymentIntent."""
    FOLLOWING = "following"
    """No hold, but the invoice follows a PaymentIntent (`processing` or `unknown`)."""


@dataclass(frozen=True, slots=True)
class Token:
    """What a claim wrote. Every write of the owner compares all of it."""

    scope: Scope
    invoice_id: InvoiceId
    attempt_id: AttemptId
    hold_until: datetime
    seq: int

    @property
    def params(self) -> dict[str, object]:
        """The parameters that the owner's writes compare."""
        return {
            **self.scope.params,
            "invoice_id": self.invoice_id,
            "attempt_id": self.attempt_id,
            "hold_until": self.hold_until,
            "seq": self.seq,
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """A hold that was won, with all that its charge needs; the amount is in minor units."""

    token: Token
    kind: AttemptKind
    intent_id: str | None
    """The live intent that is confirmed; None: direct, one call creates and confirms."""
    amount: int
    currency: str
    payment_method: str
    action_is_old: bool
    """The intent has been waiting for the customer for more than an hour."""
    stripe_account: str
    """Where the intent lives; another connected account can only be refused."""
    stripe_customer_id: str = ""
    payment_method_types: tuple[str, ...] = ()
    sweep_mode: SweepMode = SweepMode.FENCE
    presumed: bool = False
    """An earlier attempt of the invoice is `presumed_none`: look once more before sending (A1)."""
    card_declined: bool = False
    """The payment method was declined lately, or is charged for another invoice at this moment."""


@dataclass(frozen=True, slots=True)
class Sending:
    """The re-check passed: the attempt is committed as `sending`, and this much time is left."""

    deadline: Deadline
    """The request ends by then."""
    hold_ends: Deadline
    """Nothing more is done under this hold after then."""
