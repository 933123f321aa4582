"""What Stripe said, or what is known when it said nothing.

Every call ends in exactly one of four ways (`Result`): Stripe showed an object, Stripe refused,
provably nothing was sent, or nobody can tell from here. Which of them may release a hold is
decided by the table in `domain/outcome.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class IntentStatus(StrEnum):
    """The statuses of a PaymentIntent (Stripe API: The PaymentIntent object)."""

    REQUIRES_PAYMENT_METHOD = "requires_payment_method"
    REQUIRES_CONFIRMATION = "requires_confirmation"
    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    REQUIRES_CAPTURE = "requires_capture"
    CANCELED = "canceled"
    SUCCEEDED = "succeeded"


PAYABLE = frozenset(
    {
        IntentStatus.REQUIRES_PAYMENT_METHOD,
        IntentStatus.REQUIRES_CONFIRMATION,
        IntentStatus.REQUIRES_ACTION,
    }
)
"""Statuses in which whoever holds the client secret can still pay."""

UNDER_WAY = frozenset({IntentStatus.PROCESSING, IntentStatus.REQUIRES_CAPTURE})
"""Statuses in which nobody can pay any more, and the money has not come."""


@dataclass(frozen=True, slots=True)
class Decline:
    """Why a bank, or Stripe for it, said no (Stripe API: Errors, card errors)."""

    code: str
    decline_code: str | None = None
    advice_code: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class ChargeView:
    """One charge of an intent; amounts in minor units, `created` in Stripe's whole seconds."""

    id: str
    status: str
    amount: int
    amount_refunded: int
    currency: str
    payment_method: str | None
    created: int
    failure: Decline | None = None

    @property
    def refunded_in_full(self) -> bool:
        """Nothing of a succeeded charge is left."""
        return self.status == "succeeded" and self.amount_refunded >= self.amount


@dataclass(frozen=True, slots=True)
class IntentView:
    """A PaymentIntent as Stripe showed it; amounts in minor units.

    `latest_charge` is None where Stripe named the charge without showing it (an intent inside an
    error body): then `latest_charge_id` stands alone and nothing is known of refunds.
    """

    id: str
    status: IntentStatus
    amount: int
    amount_received: int
    currency: str
    customer: str | None
    payment_method: str | None
    created: int
    metadata: Mapping[str, str]
    latest_charge: ChargeView | None = None
    last_error: Decline | None = None
    latest_charge_id: str | None = None

    @property
    def paid(self) -> bool:
        """It succeeded and its money was not given back in full (protocol section 6, S1)."""
        charge = self.latest_charge
        refunded = charge is not None and charge.refunded_in_full
        return self.status is IntentStatus.SUCCEEDED and not refunded

    @property
    def payable(self) -> bool:
        """Whoever has the client secret can still pay it."""
        return self.status in PAYABLE


@dataclass(frozen=True, slots=True)
class EventView:
    """An event's key facts: which object, and the idempotency key of the request behind it."""

    id: str
    type: str
    created: int
    object_id: str
    idempotency_key: str | None
    decline: Decline | None = None
    """The object's `last_payment_error` at the time, for a failed payment."""


@dataclass(frozen=True, slots=True)
class CustomerView:
    """A customer at Stripe; a deleted one can still be retrieved and says so."""

    id: str
    deleted: bool = False
    test_clock: bool = False
    """It lives on a test clock: what is made for it is dated by that clock (H18)."""


class NotSent(StrEnum):
    """Why it is a fact, and not a guess, that no byte of the request left (protocol section 4)."""

    BREAKER_OPEN = "breaker_open"
    CONNECT_FAILED = "connect_failed"
    DEADLINE_PASSED = "deadline_passed"
    CREDENTIALS_UNREADABLE = "credentials_unreadable"


class Doubt(StrEnum):
    """Why nobody can tell from here whether the request had an effect (protocol section 4)."""

    CONNECTION_LOST = "connection_lost"
    DEADLINE = "deadline"
    UNREADABLE_ANSWER = "unreadable_answer"


@dataclass(frozen=True, slots=True)
class Shown(Generic[T_co]):
    """A 2xx answer. `replayed`: Stripe returned the saved answer of an earlier request."""

    value: T_co
    request_id: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """An HTTP status of 400 or more, with Stripe's error object taken apart."""

    status: int
    type: str | None = None
    code: str | None = None
    param: str | None = None
    message: str = ""
    decline: Decline | None = None
    charge_id: str | None = None
    intent: IntentView | None = None
    request_id: str | None = None
    replayed: bool = False
    retry_after: int | None = None

    @property
    def label(self) -> str:
        """The most telling word for it: Stripe's code, else its type, else the HTTP status."""
        return self.code or self.type or str(self.status)


@dataclass(frozen=True, slots=True)
class NothingSent:
    """Provably nothing reached Stripe."""

    cause: NotSent
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Bytes left and no readable answer came back."""

    cause: Doubt
    detail: str = ""


Result = Shown[T_co] | Refused | NothingSent | Unclear
"""How a call ended. Reads and writes alike."""


def intent_in(answer: Result[IntentView]) -> IntentView | None:
    """The intent that the answer shows, also where a refusal carries it."""
    if isinstance(answer, Shown):
        return answer.value
    return answer.intent if isinstance(answer, Refused) else None


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant of the process's monotonic clock, opaque to the engine, which has no clock."""

    at: float


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """All rows of a list, every page read, newest first."""

    rows: tuple[T_co, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Slice(Generic[T_co]):
    """One page of a list, newest first; `after` is where the next begins, None behind the last."""

    rows: tuple[T_co, ...]
    after: str | None
