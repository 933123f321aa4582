"""What an answer means: each row of protocol section 4, in its order, and what it saves."""

import itertools
import sys

import pytest

from anchorhold.domain.answer import (
    Decline,
    Doubt,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Unclear,
)
from anchorhold.domain.attempt import RUNNING, AttemptState, Cause
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import BlockedReason, PaymentStatus
from anchorhold.domain.outcome import ENDS, OUTCOME, Meaning, end_of, read
from tests.domain.tables import rows_without_a_test
from tests.domain.views import intent, refused, shown

STATUSES = (400, 401, 402, 403, 404, 405, 409, 413, 422, 424, 429, 500, 502, 503, 504)
CODES = (
    None, "authentication_required", "card_declined", "payment_intent_unexpected_state",
    "lock_timeout", "rate_limit", "resource_missing", "idempotency_key_in_use", "unheard_of",
)  # fmt: skip
TYPES = (None, "card_error", "invalid_request_error", "idempotency_error", "api_error")
PARAMS = (None, "intent", "payment_method", "customer")

ANSWERS: list[Result[IntentView]] = [
    *(shown(status) for status in IntentStatus),
    *(
        Refused(status, type=type_, code=code, param=param)
        for status, code, type_, param in itertools.product(STATUSES, CODES, TYPES, PARAMS)
    ),
    *(NothingSent(cause) for cause in NotSent),
    *(Unclear(doubt) for doubt in Doubt),
]
"""Every combination of what the table looks at."""


def rule(answer: Result[IntentView]) -> tuple[str, Meaning]:
    row = read(answer)
    return row.id, row.meaning


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in OUTCOME))


def test_every_answer_has_a_row_and_every_row_an_answer() -> None:
    assert {read(answer).id for answer in ANSWERS} == {row.id for row in OUTCOME}


def test_every_meaning_says_what_it_saves_or_acts_itself() -> None:
    acted_on = {Meaning.SETTLE, Meaning.READ_INTENT}
    assert set(ENDS) | acted_on == set(Meaning)
    assert {row.meaning for row in OUTCOME} == set(Meaning)


def test_a_hold_ends_only_with_an_attempt_whose_end_is_known() -> None:
    for answer in ANSWERS:
        row = read(answer)
        if row.meaning in ENDS:
            end = end_of(row, answer)
            assert end.clears == (end.state not in RUNNING), answer
            assert end.moves_seq == (end.clears and end.state is not AttemptState.NOT_SENT), answer


def test_only_a_definite_answer_frees_the_hold() -> None:
    for answer in ANSWERS:
        row = read(answer)
        frees = row.meaning in ENDS and ENDS[row.meaning].clears
        match answer:
            case Unclear():
                assert not frees
            case Refused(status=status) if status >= 500 or status in {409, 424}:
                assert not frees, answer
            case Refused(status=429, code=code):
                assert frees == (code == "rate_limit")
            case NothingSent():
                assert frees


def test_a1_a_success_is_settled() -> None:
    assert rule(shown(IntentStatus.SUCCEEDED)) == ("A1", Meaning.SETTLE)


def test_a2_processing_is_followed_by_its_id() -> None:
    answer = shown(IntentStatus.PROCESSING)
    assert rule(answer) == ("A2", Meaning.FOLLOW)
    end = end_of(read(answer), answer)
    assert (end.state, end.payment_status) == (AttemptState.PROCESSING, PaymentStatus.PROCESSING)
    assert (end.followed_intent, end.moves_seq, end.clears) == ("pi_1", True, True)


def test_a3_a_customer_in_the_middle_of_paying_is_waited_for() -> None:
    answer = shown(IntentStatus.REQUIRES_ACTION)
    assert rule(answer) == ("A3", Meaning.WAIT_FOR_CUSTOMER)
    end = end_of(read(answer), answer)
    assert (end.state, end.customer_acts, end.intent) == (AttemptState.SUPERSEDED, True, None)
    assert end.pause_s > 0


def test_a4_a_cancelled_intent_ends_and_the_next_is_prepared() -> None:
    answer = shown(IntentStatus.CANCELED)
    assert rule(answer) == ("A4", Meaning.INTENT_CANCELED)
    end = end_of(read(answer), answer)
    assert (end.state, end.intent) == (AttemptState.SUPERSEDED, IntentState.CANCELED)


@pytest.mark.parametrize(
    "status",
    [
        IntentStatus.REQUIRES_PAYMENT_METHOD,
        IntentStatus.REQUIRES_CONFIRMATION,
        IntentStatus.REQUIRES_CAPTURE,
    ],
)
def test_a5_a_status_in_which_no_confirm_ends_is_looked_at_again(status: IntentStatus) -> None:
    assert rule(shown(status)) == ("A5", Meaning.ASK)


def test_a6_a_bank_that_wants_the_customer_blocks_automatic_charges() -> None:
    answer = refused(402, type="card_error", code="authentication_required")
    assert rule(answer) == ("A6", Meaning.NEEDS_CUSTOMER)
    end = end_of(read(answer), answer)
    assert (end.state, end.payment_status) == (AttemptState.FAILED, PaymentStatus.FAILED)
    assert end.blocked is BlockedReason.CUSTOMER_ACTION


def test_a7_a_decline_is_definite_and_keeps_its_words() -> None:
    decline = Decline("card_declined", "insufficient_funds", "try_again_later", "No funds.")
    answer = Refused(402, code="card_declined", decline=decline, charge_id="ch_1", request_id="r")
    assert rule(answer) == ("A7", Meaning.DECLINE)
    end = end_of(read(answer), answer)
    assert (end.state, end.payment_status, end.cause) == (
        AttemptState.FAILED,
        PaymentStatus.FAILED,
        Cause.ANSWERED,
    )
    assert (end.decline, end.charge_id, end.request_id) == (decline, "ch_1", "r")
    assert (end.blocked, end.intent) == (None, None)


def test_a7_the_decline_after_which_stripe_cancels_the_intent_ends_it_too() -> None:
    answer = Refused(402, code="card_declined", intent=intent(IntentStatus.CANCELED))
    assert end_of(read(answer), answer).intent is IntentState.CANCELED


def test_a8_an_unexpected_state_is_read_from_the_intent_in_the_body() -> None:
    answer = refused(400, code="payment_intent_unexpected_state")
    assert rule(answer) == ("A8", Meaning.READ_INTENT)


def test_a9_a_key_used_with_other_parameters_proves_nothing_and_is_no_decline() -> None:
    answer = refused(400, type="idempotency_error")
    assert rule(answer) == ("A9", Meaning.KEEP)
    end = end_of(read(answer), answer)
    assert (end.cause, end.payment_status, end.clears) == (Cause.KEY_REUSED, None, False)


@pytest.mark.parametrize("status", [401, 403])
def test_a10_a_refused_key_sent_nothing(status: int) -> None:
    answer = refused(status)
    assert rule(answer) == ("A10", Meaning.ACCOUNT_REFUSED)
    end = end_of(read(answer), answer)
    assert (end.state, end.cause) == (AttemptState.NOT_SENT, Cause.ACCOUNT_REFUSED)


def test_a11_an_intent_that_is_not_shown_is_never_nothing() -> None:
    answer = refused(404, code="resource_missing", param="intent")
    assert rule(answer) == ("A11", Meaning.KEEP)
    assert end_of(read(answer), answer).cause is Cause.INTENT_NOT_SHOWN


@pytest.mark.parametrize(("status", "param"), [(400, None), (404, "payment_method")])
def test_a12_a_request_that_says_something_wrong_waits_for_a_person(
    status: int, param: str | None
) -> None:
    answer = refused(status, code="resource_missing", param=param)
    assert rule(answer) == ("A12", Meaning.SETUP_FAULT)
    end = end_of(read(answer), answer)
    assert (end.state, end.blocked) == (AttemptState.FAILED, BlockedReason.SETUP)


def test_a13_a_locked_object_keeps_the_hold() -> None:
    assert rule(refused(429, code="lock_timeout")) == ("A13", Meaning.KEEP)


def test_a14_a_limiter_ran_before_anything_and_the_account_backs_off() -> None:
    answer = refused(429, code="rate_limit")
    assert rule(answer) == ("A14", Meaning.BACK_OFF)
    end = end_of(read(answer), answer)
    assert (end.state, end.cause) == (AttemptState.NOT_SENT, Cause.RATE_LIMITED)
    assert end.pause_s > 0


def test_a15_another_request_with_this_key_keeps_the_hold() -> None:
    assert rule(refused(409, code="idempotency_key_in_use")) == ("A15", Meaning.KEEP)


@pytest.mark.parametrize(
    "answer",
    [refused(500), refused(503), refused(424), refused(429, code="unheard_of"), refused(405)],
    ids=str,
)
def test_a16_whatever_else_is_refused_is_looked_up(answer: Refused) -> None:
    assert rule(answer) == ("A16", Meaning.ASK)


@pytest.mark.parametrize("cause", sorted(set(NotSent) - {NotSent.CREDENTIALS_UNREADABLE}))
def test_a17_nothing_sent_frees_the_hold_under_its_cause(cause: NotSent) -> None:
    answer = NothingSent(cause)
    assert rule(answer) == ("A17", Meaning.NOT_SENT)
    end = end_of(read(answer), answer)
    assert (end.state, end.cause) == (AttemptState.NOT_SENT, Cause(cause.value))


@pytest.mark.parametrize("doubt", Doubt)
def test_a18_bytes_that_left_without_an_answer_are_looked_up(doubt: Doubt) -> None:
    answer = Unclear(doubt)
    assert rule(answer) == ("A18", Meaning.ASK)
    end = end_of(read(answer), answer)
    assert (end.state, end.payment_status) == (AttemptState.UNKNOWN, PaymentStatus.UNKNOWN)
    assert (end.cause, end.clears) == (Cause(doubt.value), False)


def test_a19_an_unreadable_key_sent_nothing_and_flags_the_account() -> None:
    answer = NothingSent(NotSent.CREDENTIALS_UNREADABLE)
    assert rule(answer) == ("A19", Meaning.ACCOUNT_REFUSED)
    end = end_of(read(answer), answer)
    assert (end.state, end.cause) == (AttemptState.NOT_SENT, Cause.CREDENTIALS_UNREADABLE)


def test_a_cause_can_be_written_for_every_way_of_not_knowing() -> None:
    assert {cause.value for cause in (*NotSent, *Doubt)} <= {cause.value for cause in Cause}
