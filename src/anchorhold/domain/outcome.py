"""TABLE: what an answer means (protocol section 4).

The first row that fits decides; a direct charge looks at the rows of its own first. Rows are
literal data: tests, docs, journal and the rules command all read the same tuple.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from anchorhold.domain.account import SweepMode
from anchorhold.domain.answer import (
    Decline,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.domain.attempt import AttemptState, Cause
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import BlockedReason, PaymentStatus


class Said(StrEnum):
    """The four ways a call ends."""

    INTENT = "intent"
    REFUSED = "refused"
    NOTHING_SENT = "nothing sent"
    UNCLEAR = "unclear"


class Meaning(StrEnum):
    """What the owner does with the answer."""

    SETTLE = "settle"
    FOLLOW = "follow"
    DECLINE = "decline"
    NEEDS_CUSTOMER = "needs_customer"
    WAIT_FOR_CUSTOMER = "wait_for_customer"
    SETUP_FAULT = "setup_fault"
    READ_INTENT = "read_intent"
    """The body carries the intent: act on it as if it had been retrieved."""
    INTENT_CANCELED = "intent_canceled"
    ACCOUNT_REFUSED = "account_refused"
    BACK_OFF = "back_off"
    NOT_SENT = "not_sent"
    KEEP = "keep"
    """Nothing is saved but the cause; the sweep asks Stripe."""
    ASK = "ask"
    """Unclear: retrieve the intent at once, while the hold allows it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. An empty condition fits everything."""

    id: str
    said: Said
    meaning: Meaning
    because: str
    intent: frozenset[IntentStatus] = frozenset()
    http: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    params: frozenset[str] = frozenset()
    not_sent: frozenset[NotSent] = frozenset()
    cause: Cause | None = None
    """What is written as the cause, where it is not the meaning's own."""
    sweep: frozenset[SweepMode] = frozenset()

    def fits(self, answer: Result[IntentView]) -> bool:
        """The row's conditions hold for this answer."""
        if isinstance(answer, Shown):
            return self.said is Said.INTENT and _within(answer.value.status, self.intent)
        if isinstance(answer, Refused):
            return self.said is Said.REFUSED and self._fits_refusal(answer)
        if isinstance(answer, NothingSent):
            return self.said is Said.NOTHING_SENT and _within(answer.cause, self.not_sent)
        return self.said is Said.UNCLEAR

    def _fits_refusal(self, answer: Refused) -> bool:
        return (
            _within(answer.status, self.http)
            and _within(answer.code, self.codes)
            and _within(answer.type, self.types)
            and _within(answer.param, self.params)
        )


def _within(value: object, allowed: frozenset[object] | frozenset[int] | frozenset[str]) -> bool:
    return not allowed or value in allowed


CUSTOMER_WANTED: Final = "authentication_required"
"""Stripe's word for a bank that wants the customer present, as code and as decline code."""

_I = IntentStatus
_M = Meaning

# fmt: off
OUTCOME = (
    Row("A1", Said.INTENT, _M.SETTLE, "money arrived: never lose it",
        intent=frozenset({_I.SUCCEEDED})),
    Row("A2", Said.INTENT, _M.FOLLOW, "the bank decides later; the intent is followed by its id",
        intent=frozenset({_I.PROCESSING})),
    Row("A3", Said.INTENT, _M.WAIT_FOR_CUSTOMER, "the customer is in the middle of paying",
        intent=frozenset({_I.REQUIRES_ACTION})),
    Row("A4", Said.INTENT, _M.INTENT_CANCELED, "a cancelled intent never charges; prepare the next",
        intent=frozenset({_I.CANCELED})),
    Row("A5", Said.INTENT, _M.ASK, "a confirm does not end like this: look again"),
    Row("A6", Said.REFUSED, _M.NEEDS_CUSTOMER, "the bank wants the customer present",
        http=frozenset({402}), codes=frozenset({CUSTOMER_WANTED})),
    Row("A7", Said.REFUSED, _M.DECLINE, "the bank said no: definite",
        http=frozenset({402})),
    Row("A8", Said.REFUSED, _M.READ_INTENT, "the body carries the intent's true state",
        http=frozenset({400}), codes=frozenset({"payment_intent_unexpected_state"})),
    Row("A9", Said.REFUSED, _M.KEEP, "an earlier request with this key did reach Stripe",
        http=frozenset({400}), types=frozenset({"idempotency_error"}), cause=Cause.KEY_REUSED),
    Row("A10", Said.REFUSED, _M.ACCOUNT_REFUSED, "nothing was executed: the key is not accepted",
        http=frozenset({401, 403})),
    Row("A11", Said.REFUSED, _M.KEEP, "a refused read of the intent is never nothing",
        http=frozenset({404}), params=frozenset({"intent"}), cause=Cause.INTENT_NOT_SHOWN),
    Row("A12", Said.REFUSED, _M.SETUP_FAULT, "refused before any charge: definite",
        http=frozenset({400, 404})),
    Row("A13", Said.REFUSED, _M.KEEP, "another request is at work on this intent",
        http=frozenset({429}), codes=frozenset({"lock_timeout"})),
    Row("A14", Said.REFUSED, _M.BACK_OFF, "limiters run before the API: nothing was executed",
        http=frozenset({429}), codes=frozenset({"rate_limit"})),
    Row("A15", Said.REFUSED, _M.KEEP, "another request with this key is at work",
        http=frozenset({409})),
    Row("A16", Said.REFUSED, _M.ASK, "a server error is indeterminate"),
    Row("A19", Said.NOTHING_SENT, _M.ACCOUNT_REFUSED, "no byte left: the key cannot be read",
        not_sent=frozenset({NotSent.CREDENTIALS_UNREADABLE})),
    Row("A17", Said.NOTHING_SENT, _M.NOT_SENT, "no byte left: definite"),
    Row("A18", Said.UNCLEAR, _M.ASK, "bytes left and no readable answer came back"),
)
"""What the answer to a confirm means."""

DIRECT = (
    Row("D1", Said.INTENT, _M.NEEDS_CUSTOMER, "nobody is there to act, and it would stay payable",
        intent=frozenset({_I.REQUIRES_ACTION})),
    Row("D2", Said.REFUSED, _M.ASK, "an earlier request with this key did reach Stripe",
        http=frozenset({400}), types=frozenset({"idempotency_error"}), cause=Cause.KEY_REUSED),
    Row("D3", Said.REFUSED, _M.KEEP, "without a fence a 429 is taken for a lost result",
        http=frozenset({429}), codes=frozenset({"rate_limit"}), cause=Cause.RATE_LIMITED,
        sweep=frozenset({SweepMode.ADR})),
)
"""What is different about the answer to a create that confirms in one call.

`ask` has nothing to retrieve there: an intent in the body is followed, and without one the
attempt is parked.
"""
# fmt: on


def read(answer: Result[IntentView]) -> Row:
    """The row that decides this answer to the only send of an attempt."""
    return next(row for row in OUTCOME if row.fits(answer))


def read_direct(answer: Result[IntentView], sweep: SweepMode) -> Row:
    """The row that decides this answer to the only send of a direct charge."""
    own = (row for row in DIRECT if _within(sweep, row.sweep) and row.fits(answer))
    return next(own, None) or read(answer)


@dataclass(frozen=True, slots=True)
class End:
    """What ending an attempt writes, all of it in one commit.

    `payment_status` None: back to the one that the claim found. `moves_seq`: the counter moves,
    so the next attempt has a new key. `pause_s`: no automatic charge before so many seconds.
    """

    rule: str
    state: AttemptState
    cause: Cause | None
    payment_status: PaymentStatus | None = None
    clears: bool = True
    moves_seq: bool = True
    followed_intent: str | None = None
    keeps_following: bool = False
    blocked: BlockedReason | None = None
    intent: IntentState | None = None
    decline: Decline | None = None
    charge_id: str | None = None
    request_id: str | None = None
    pause_s: float = 0
    customer_acts: bool = False
    fails_twice: bool = False
    """Superseded twice in a row: the invoice becomes failed (S8)."""
    own_intent: str | None = None
    """The intent that this attempt turned out to have made, where it knew none."""
    manual: bool = False
    """Only a person collects it from now on; a notice says so."""


# fmt: off
ENDS = {
    _M.FOLLOW: End("", AttemptState.PROCESSING, Cause.ANSWERED, PaymentStatus.PROCESSING),
    _M.DECLINE: End("", AttemptState.FAILED, Cause.ANSWERED, PaymentStatus.FAILED),
    _M.NEEDS_CUSTOMER: End("", AttemptState.FAILED, Cause.ANSWERED, PaymentStatus.FAILED,
                           blocked=BlockedReason.CUSTOMER_ACTION),
    _M.WAIT_FOR_CUSTOMER: End("", AttemptState.SUPERSEDED, Cause.CUSTOMER_IS_PAYING,
                              pause_s=600, customer_acts=True),
    _M.SETUP_FAULT: End("", AttemptState.FAILED, Cause.ANSWERED, PaymentStatus.FAILED,
                        blocked=BlockedReason.SETUP),
    _M.INTENT_CANCELED: End("", AttemptState.SUPERSEDED, Cause.INTENT_CANCELED,
                            intent=IntentState.CANCELED),
    _M.ACCOUNT_REFUSED: End("", AttemptState.NOT_SENT, Cause.ACCOUNT_REFUSED, moves_seq=False,
                            pause_s=60),
    _M.BACK_OFF: End("", AttemptState.NOT_SENT, Cause.RATE_LIMITED, moves_seq=False, pause_s=30),
    _M.NOT_SENT: End("", AttemptState.NOT_SENT, Cause.RECHECK_REFUSED, moves_seq=False,
                     pause_s=30),
    _M.KEEP: End("", AttemptState.SENDING, Cause.ANOTHER_REQUEST, clears=False, moves_seq=False),
    _M.ASK: End("", AttemptState.UNKNOWN, Cause.SERVER_ERROR, PaymentStatus.UNKNOWN,
                clears=False, moves_seq=False),
}
"""What each meaning saves. Settling is not here: it is section 8's own write."""
# fmt: on


ABSENT = Decline("authentication_required", message="The bank wants the customer present.")
"""The words for a customer who would have to act and is not there (H17)."""


def end_of(row: Row, answer: Result[IntentView]) -> End:
    """The end that this answer writes, with the cause, the decline and the request filled in."""
    end = ENDS[row.meaning]
    end = replace(end, rule=row.id, cause=row.cause or end.cause)
    if isinstance(answer, Shown):
        needs = row.meaning is Meaning.NEEDS_CUSTOMER
        return replace(
            end,
            decline=ABSENT if needs else None,
            request_id=answer.request_id,
            charge_id=_charge_of(answer.value),
            followed_intent=answer.value.id if row.meaning is Meaning.FOLLOW else None,
        )
    if isinstance(answer, Refused):
        return replace(
            end,
            decline=answer.decline or Decline(answer.label, message=answer.message),
            charge_id=answer.charge_id,
            request_id=answer.request_id,
            intent=_state_of(answer.intent) or end.intent,
        )
    return replace(end, cause=cause_of(answer))


def blocked_by(decline: Decline | None) -> BlockedReason | None:
    """What a decline blocks that was seen at Stripe: the same as its answer would have (A6)."""
    needs = decline is not None and CUSTOMER_WANTED in {decline.code, decline.decline_code}
    return ENDS[Meaning.NEEDS_CUSTOMER].blocked if needs else None


def cause_of(answer: NothingSent | Unclear) -> Cause:
    """The cause that is written on the attempt for a call without an answer."""
    return Cause(answer.cause.value)


def _state_of(intent: IntentView | None) -> IntentState | None:
    """A decline can be the last: Stripe cancels an intent after too many."""
    canceled = intent is not None and intent.status is IntentStatus.CANCELED
    return IntentState.CANCELED if canceled else None


def _charge_of(intent: IntentView) -> str | None:
    return intent.latest_charge.id if intent.latest_charge else None
