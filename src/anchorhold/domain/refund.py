"""Money given back, and TABLE: what an answer to a refund means (protocol section 8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from anchorhold.domain.answer import NothingSent, Refused, Result, Shown
from anchorhold.domain.disputes import Dispute
from anchorhold.domain.ids import InvoiceId, PaymentId

METADATA_REFUND: Final = "anchorhold_refund_id"


class RefundState(StrEnum):
    """How far a refund came: the first three are ours, the others Stripe's."""

    REQUESTED = "requested"
    """Committed, and perhaps sent."""
    REFUSED = "refused"
    NOT_MADE = "not_made"
    """Stripe showed no refund for this request a day later, and its key is spent."""
    PENDING = "pending"
    REQUIRES_ACTION = "requires_action"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It failed later: the money is with the merchant again."""
    CANCELED = "canceled"


STANDING: Final = frozenset(
    {RefundState.PENDING, RefundState.REQUIRES_ACTION, RefundState.SUCCEEDED}
)
"""A refund that counts as given back."""


@dataclass(frozen=True, slots=True)
class RefundView:
    """A refund as Stripe showed it; the amount in minor units."""

    id: str
    status: RefundState
    amount: int
    currency: str
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refundable:
    """A payment as a refund of it reads it; `seq` is compared when its refunds are written."""

    payment_id: PaymentId
    invoice_id: InvoiceId
    intent_id: str | None
    stripe_account: str | None
    amount: int
    amount_refunded: int
    amount_applied: int
    currency: str
    dispute: str | None
    seq: int

    @property
    def left(self) -> int:
        """What can still be given back, in minor units."""
        return self.amount - self.amount_refunded

    @property
    def too_much(self) -> int:
        """What of it counts towards no invoice and is not given back yet, in minor units."""
        return max(0, self.left - self.amount_applied)


class Standing(StrEnum):
    """What a payment says of itself, in one word."""

    SUCCEEDED = "succeeded"
    PARTLY_REFUNDED = "partly_refunded"
    REFUNDED = "refunded"
    DISPUTED = "disputed"
    """The bank decides about it."""
    CHARGED_BACK = "charged_back"
    """The dispute was lost, or the debit was returned."""


def standing(amount: int, amount_refunded: int, dispute: Dispute | None) -> Standing:
    """The word for a payment; amounts in minor units. A dispute says more than a refund."""
    match dispute:
        case Dispute.LOST:
            return Standing.CHARGED_BACK
        case Dispute.OPEN | Dispute.INQUIRY:
            return Standing.DISPUTED
        case _ if amount_refunded >= amount:
            return Standing.REFUNDED
        case _ if amount_refunded:
            return Standing.PARTLY_REFUNDED
        case _:
            return Standing.SUCCEEDED


class After(StrEnum):
    """What follows an answer to a refund."""

    LIST = "list"
    """Stripe's list of the payment's refunds is read and written."""
    DONE_BEFORE = "done_before"
    """Nothing is left to give back: done, never tried again."""
    DISPUTED = "disputed"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    """The request is taken back."""
    ASK = "ask"
    """Nobody can tell: Stripe's list is read now and in each tick."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line; empty conditions fit every refusal."""

    id: str
    kind: type
    after: After
    because: str
    http: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


# fmt: off
REFUND: Final = (
    Row("M1", Shown, After.LIST, "Stripe has it: the list says how far it came"),
    Row("M2", Refused, After.DONE_BEFORE, "all was given back before: done",
        codes=frozenset({"charge_already_refunded"})),
    Row("M3", Refused, After.DISPUTED, "the bank decides about this money",
        codes=frozenset({"charge_disputed"})),
    Row("M4", Refused, After.NOT_SENT, "nothing was executed: the key is not accepted",
        http=frozenset({401, 403})),
    Row("M5", Refused, After.NOT_SENT, "limiters run before the API: nothing was executed",
        http=frozenset({429}), codes=frozenset({"rate_limit"})),
    Row("M6", Refused, After.ASK, "an earlier request with this key did reach Stripe",
        types=frozenset({"idempotency_error"})),
    Row("M7", Refused, After.ASK, "another request is at work, or Stripe failed",
        http=frozenset({409, 424, 429, 500, 502, 503, 504})),
    Row("M8", Refused, After.REFUSED, "refused before any money moved: definite"),
    Row("M9", NothingSent, After.NOT_SENT, "no byte left: definite"),
    Row("M10", object, After.ASK, "bytes left and no readable answer came back"),
)
"""What the answer to the only send of a refund means."""
# fmt: on


def read(answer: Result[RefundView]) -> Row:
    """The row that decides this answer."""
    return next(row for row in REFUND if _fits(row, answer))


def _fits(row: Row, answer: Result[RefundView]) -> bool:
    if not isinstance(answer, row.kind):
        return False
    if not isinstance(answer, Refused):
        return True
    return (
        (not row.http or answer.status in row.http)
        and (not row.codes or answer.code in row.codes)
        and (not row.types or answer.type in row.types)
    )
