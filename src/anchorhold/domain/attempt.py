"""An attempt: one row for every taking of the hold, written before anything is sent.

Source: protocol section 1. The row is the evidence that the next pass reads.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.ids import ATTEMPT, AttemptId, InvoiceId, derive
from anchorhold.domain.invoice import PaymentStatus
from anchorhold.domain.scope import Scope


class AttemptKind(StrEnum):
    """Who took the hold, and for what."""

    AUTO = "auto"
    DUNNING = "dunning"
    COLLECT = "collect"
    CLOSE = "close"
    AMEND = "amend"
    FINAL_ACTION = "final_action"


CHARGES = frozenset({AttemptKind.AUTO, AttemptKind.DUNNING, AttemptKind.COLLECT})
"""The kinds that may send a charge; the others end as `not_sent`."""

CLAIMS_FROM = {
    AttemptKind.AUTO: (PaymentStatus.PENDING,),
    AttemptKind.DUNNING: (PaymentStatus.PENDING, PaymentStatus.FAILED),
    AttemptKind.COLLECT: (PaymentStatus.PENDING, PaymentStatus.FAILED),
    AttemptKind.CLOSE: (PaymentStatus.PENDING, PaymentStatus.FAILED),
    AttemptKind.AMEND: (PaymentStatus.PENDING, PaymentStatus.FAILED),
    AttemptKind.FINAL_ACTION: (PaymentStatus.PENDING, PaymentStatus.FAILED),
}
"""Which payment status a claim of each kind admits (protocol section 3, step 1)."""


class AttemptState(StrEnum):
    """How far an attempt came, as far as it is proven."""

    CLAIMED = "claimed"
    SENDING = "sending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PROCESSING = "processing"
    UNKNOWN = "unknown"
    NOT_SENT = "not_sent"
    SUPERSEDED = "superseded"
    """The intent showed no charge of this attempt; a late one can only be that same intent."""
    FENCED = "fenced"
    """Direct: the request never ran, and its key can run nothing any more."""
    PRESUMED_NONE = "presumed_none"
    """Direct: Stripe showed nothing for a day. Not proven: it stays on the audit."""


RUNNING = frozenset({AttemptState.CLAIMED, AttemptState.SENDING, AttemptState.UNKNOWN})
"""States in which the attempt's own hold may not end."""

UNPROVEN = RUNNING | {AttemptState.SUPERSEDED, AttemptState.PRESUMED_NONE}
"""States whose end is not certain; every other one is proven."""


class Cause(StrEnum):
    """Why an attempt is where it is; written on the row and told in its story."""

    ANSWERED = "answered"
    BREAKER_OPEN = "breaker_open"
    CONNECT_FAILED = "connect_failed"
    DEADLINE_PASSED = "deadline_passed"
    CREDENTIALS_UNREADABLE = "credentials_unreadable"
    RECHECK_REFUSED = "recheck_refused"
    ACCOUNT_REFUSED = "account_refused"
    RATE_LIMITED = "rate_limited"
    ANOTHER_REQUEST = "another_request"
    CONNECTION_LOST = "connection_lost"
    DEADLINE = "deadline"
    UNREADABLE_ANSWER = "unreadable_answer"
    SERVER_ERROR = "server_error"
    KEY_REUSED = "key_reused"
    INTENT_NOT_SHOWN = "intent_not_shown"
    INTENT_CANCELED = "intent_canceled"
    CUSTOMER_IS_PAYING = "customer_is_paying"
    INTENT_SUCCEEDED = "intent_succeeded"
    NO_TRACE = "no_trace"
    CALLER_CANCELLED = "caller_cancelled"
    NEVER_RAN = "never_ran"
    NOTHING_AFTER_A_DAY = "nothing_after_a_day"
    DONE = "done"
    REFUSED = "refused"
    OWNER_GONE = "owner_gone"


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What a check reads of one attempt. Times are the database's clock."""

    id: AttemptId
    kind: AttemptKind
    state: AttemptState
    seq: int
    intent_id: str | None
    payment_method: str | None
    stripe_account: str | None
    idempotency_key: str | None
    claimed_at: datetime
    sent_at: datetime | None
    charge_id: str | None
    charge_mode: ChargeMode = ChargeMode.PREPARED
    """How this attempt asks for money, whatever its account does by now."""
    cause: Cause | None = None
    rule: str | None = None
    stripe_customer_id: str | None = None

    @property
    def direct(self) -> bool:
        """Its request creates and confirms in one, so that a lost answer named no intent."""
        return self.charge_mode is ChargeMode.DIRECT and self.kind in CHARGES


def reference_of(scope: Scope, invoice_id: InvoiceId, seq: int) -> AttemptId:
    """What Stripe sees of a direct attempt, in the metadata `anchorhold_attempt_id`.

    Derived and not the row's own id: a database that lost its last commits sends the same request
    again, and Stripe answers with what it saved under the same key (protocol section 1).
    """
    return derive(ATTEMPT, scope.account_id, invoice_id, seq)
