"""The table of closing, walked row by row."""

import sys

import pytest

from anchorhold.domain.answer import (
    Doubt,
    IntentStatus,
    NothingSent,
    NotSent,
    Refused,
    Shown,
    Unclear,
)
from anchorhold.domain.closing import (
    CLOSING,
    ENDINGS,
    FINAL_ACTIONS,
    Act,
    Answer,
    FinalAction,
    Step,
    Without,
    finish_of,
    read,
)
from tests.domain.tables import rows_without_a_test
from tests.domain.views import intent


def said(answer: Answer) -> tuple[str, Step]:
    row = read(answer)
    return row.id, row.step


def in_body(status: IntentStatus) -> Refused:
    return Refused(400, code="payment_intent_unexpected_state", intent=intent(status=status))


def test_every_row_has_a_test() -> None:
    rows = (*CLOSING, *FINAL_ACTIONS)
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in rows))


@pytest.mark.parametrize("status", IntentStatus)
def test_every_status_of_an_intent_has_a_row_that_is_about_it(status: IntentStatus) -> None:
    for answer in (Shown(intent(status=status)), in_body(status)):
        assert status in read(answer).intent


def test_every_act_has_its_ending() -> None:
    assert set(ENDINGS) == set(Act)


def test_every_final_action_has_its_row() -> None:
    assert [row.action for row in FINAL_ACTIONS] == list(FinalAction)


def test_c1_without_an_intent_nothing_at_stripe_can_pay() -> None:
    assert said(Without.NO_INTENT) == ("C1", Step.WRITE)


def test_c2_an_intent_in_another_stripe_account_is_out_of_reach() -> None:
    assert said(Without.ANOTHER_ACCOUNT) == ("C2", Step.REFUSE)


def test_c3_a_success_is_settled_however_it_is_shown() -> None:
    assert said(Shown(intent(status=IntentStatus.SUCCEEDED))) == ("C3", Step.SETTLE)
    assert said(in_body(IntentStatus.SUCCEEDED)) == ("C3", Step.SETTLE)


def test_c4_a_cancelled_intent_lets_the_close_be_written() -> None:
    assert said(Shown(intent(status=IntentStatus.CANCELED))) == ("C4", Step.WRITE)
    assert said(in_body(IntentStatus.CANCELED)) == ("C4", Step.WRITE)


def test_c5_what_the_bank_decides_later_is_followed() -> None:
    assert said(in_body(IntentStatus.PROCESSING)) == ("C5", Step.FOLLOW)
    assert said(in_body(IntentStatus.REQUIRES_CAPTURE)) == ("C5", Step.FOLLOW)


def test_c6_an_intent_that_can_still_be_paid_keeps_the_hold() -> None:
    assert said(in_body(IntentStatus.REQUIRES_ACTION)) == ("C6", Step.KEEP)


def test_c7_a_state_that_was_not_shown_keeps_the_hold() -> None:
    assert said(Refused(400, code="payment_intent_unexpected_state")) == ("C7", Step.KEEP)


@pytest.mark.parametrize("status", [401, 403])
def test_c8_a_key_that_is_not_accepted_flags_the_account(status: int) -> None:
    assert said(Refused(status)) == ("C8", Step.FLAG)


@pytest.mark.parametrize("status", [400, 402, 404])
def test_c9_what_stripe_will_not_do_is_told_to_a_person(status: int) -> None:
    assert said(Refused(status, code="resource_missing")) == ("C9", Step.REFUSE)


def test_c10_a_rate_limit_executed_nothing() -> None:
    assert said(Refused(429, code="rate_limit")) == ("C10", Step.RELEASE)


@pytest.mark.parametrize(("status", "code"), [(429, "lock_timeout"), (409, None), (429, None)])
def test_c11_another_request_at_work_keeps_the_hold(status: int, code: str | None) -> None:
    assert said(Refused(status, code=code)) == ("C11", Step.KEEP)


def test_c12_a_key_that_cannot_be_read_flags_the_account() -> None:
    assert said(NothingSent(NotSent.CREDENTIALS_UNREADABLE)) == ("C12", Step.FLAG)


@pytest.mark.parametrize("cause", sorted(set(NotSent) - {NotSent.CREDENTIALS_UNREADABLE}))
def test_c13_where_no_byte_left_the_hold_is_released(cause: NotSent) -> None:
    assert said(NothingSent(cause)) == ("C13", Step.RELEASE)


@pytest.mark.parametrize("answer", [Refused(500), Refused(424), *map(Unclear, Doubt)])
def test_c14_what_nobody_can_tell_keeps_the_hold(answer: Answer) -> None:
    assert said(answer) == ("C14", Step.KEEP)


def test_z1_a_cancelled_subscription_ends_its_invoice() -> None:
    assert finish_of(FinalAction.CANCEL).closes


def test_z2_marking_uncollectible_ends_the_invoice() -> None:
    assert finish_of(FinalAction.MARK_UNCOLLECTIBLE).closes


def test_z3_a_pause_leaves_it_to_a_person() -> None:
    row = finish_of(FinalAction.PAUSE)
    assert (row.closes, row.manual) == (False, True)


def test_z4_leaving_it_changes_nothing() -> None:
    row = finish_of(FinalAction.LEAVE)
    assert (row.closes, row.manual) == (False, False)
