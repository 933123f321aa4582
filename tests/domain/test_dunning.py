"""The next step of a run: each row of its table, and the times of day in a zone."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest

from anchorhold.domain.answer import Decline
from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import (
    CARD_TRIES_MAX,
    NEXT_STEP,
    TRIES_MAX,
    Facts,
    Next,
    Policy,
    StepKind,
    at_time_of_day,
    next_step,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
POLICY = Policy((24, 72, 120), None, "UTC", FinalAction.CANCEL)
JUST_DECLINED = Facts(
    now=NOON,
    opened_at=NOON,
    retries=0,
    tries=1,
    declined_at=NOON,
    decline=Decline("card_declined", "insufficient_funds"),
    declined_method="pm_1",
    method="pm_1",
    card_declines=1,
    card_free_at=None,
)


def because(code: str, advice: str | None = None) -> Decline:
    return Decline("card_declined", code, advice)


def after(hours: float, step: StepKind, rule: str) -> Next:
    return Next(step, NOON + timedelta(hours=hours), rule)


def test_y1_a_customer_who_stopped_all_payments_is_asked_by_a_person_only() -> None:
    facts = replace(JUST_DECLINED, decline=because("stop_payment_order"))
    assert next_step(POLICY, facts) == after(216, StepKind.FINAL, "Y1")
    assert next_step(POLICY, replace(facts, method="pm_2")) == after(216, StepKind.FINAL, "Y1")


def test_y2_a_bank_is_asked_eight_times_about_an_invoice() -> None:
    facts = replace(JUST_DECLINED, tries=TRIES_MAX, retries=1, method="pm_2")
    assert next_step(POLICY, facts) == after(192, StepKind.FINAL, "Y2")
    facts = replace(facts, tries=TRIES_MAX - 1)
    assert next_step(POLICY, facts).step is StepKind.RETRY


def test_y3_without_a_payment_method_the_run_waits_for_its_end() -> None:
    facts = replace(JUST_DECLINED, method=None)
    assert next_step(POLICY, facts) == after(216, StepKind.FINAL, "Y3")


def test_y4_after_the_last_decline_comes_the_end() -> None:
    facts = replace(JUST_DECLINED, retries=3, now=NOON + timedelta(minutes=1))
    assert next_step(POLICY, facts) == Next(StepKind.FINAL, facts.now, "Y4")
    assert next_step(POLICY, replace(facts, method="pm_2")).rule == "Y6"


def test_y5_a_card_that_was_declined_too_often_waits_until_it_was_not() -> None:
    free_at = NOON + timedelta(days=9)
    facts = replace(JUST_DECLINED, card_declines=CARD_TRIES_MAX, card_free_at=free_at)
    assert next_step(POLICY, facts) == Next(StepKind.RETRY, free_at, "Y5")
    soon = replace(facts, card_free_at=NOON + timedelta(hours=1))
    assert next_step(POLICY, soon) == after(24, StepKind.RETRY, "Y5")
    fewer = replace(facts, card_declines=CARD_TRIES_MAX - 1, card_free_at=None)
    assert next_step(POLICY, fewer).rule == "Y9"
    assert next_step(POLICY, replace(facts, method="pm_2")).rule == "Y5"


def test_y6_another_payment_method_is_tried_at_once() -> None:
    for code in ("expired_card", "insufficient_funds", "authentication_required"):
        facts = replace(JUST_DECLINED, decline=because(code), method="pm_2")
        assert next_step(POLICY, facts) == after(0, StepKind.RETRY, "Y6")


def test_y6_a_decline_of_nobody_knows_what_makes_no_method_new() -> None:
    facts = replace(JUST_DECLINED, declined_method=None, decline=None, declined_at=None)
    assert next_step(POLICY, facts) == after(24, StepKind.RETRY, "Y9")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("expired_card", None),
        ("authentication_required", None),
        ("insufficient_funds", "do_not_try_again"),
        ("insufficient_funds", "confirm_card_data"),
    ],
)
def test_y7_a_card_that_would_be_declined_again_is_not_tried(code: str, advice: str | None) -> None:
    facts = replace(JUST_DECLINED, decline=because(code, advice))
    assert next_step(POLICY, facts) == after(216, StepKind.FINAL, "Y7")


def test_y8_a_bank_that_wants_a_day_has_it() -> None:
    facts = replace(JUST_DECLINED, decline=because("card_velocity_exceeded"))
    hourly = replace(POLICY, waits_hours=(1, 48))
    assert next_step(hourly, facts) == after(24, StepKind.RETRY, "Y8")
    assert next_step(hourly, replace(facts, retries=1)) == after(48, StepKind.RETRY, "Y8")


def test_y9_the_waits_are_taken_in_their_turn() -> None:
    waits = [next_step(POLICY, replace(JUST_DECLINED, retries=n)) for n in range(3)]
    assert waits == [after(hours, StepKind.RETRY, "Y9") for hours in (24, 72, 120)]


def test_a_try_that_is_overdue_is_due() -> None:
    late = replace(JUST_DECLINED, now=NOON + timedelta(hours=24))
    assert next_step(POLICY, late).is_due(late.now)
    early = replace(JUST_DECLINED, now=NOON + timedelta(hours=23))
    assert not next_step(POLICY, early).is_due(early.now)


def test_the_last_row_fits_whatever_no_other_does() -> None:
    assert NEXT_STEP[-1].facts == NEXT_STEP[-1].without == frozenset()


def in_berlin(at: time) -> Policy:
    return replace(POLICY, at=at, zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("earliest", "at", "moment"),
    [
        ("2026-12-01T06:59:59", time(8), "2026-12-01T07:00:00"),
        ("2026-12-01T07:00:00", time(8), "2026-12-01T07:00:00"),
        ("2026-12-01T07:00:01", time(8), "2026-12-02T07:00:00"),
        # The day there is another one than in UTC.
        ("2026-12-01T23:30:00", time(0, 15), "2026-12-02T23:15:00"),
        ("2026-07-01T23:30:00", time(8), "2026-07-02T06:00:00"),
    ],
)
def test_a_retry_comes_at_the_policys_time_of_day(earliest: str, at: time, moment: str) -> None:
    came = at_time_of_day(datetime.fromisoformat(earliest + "+00:00"), in_berlin(at))
    assert came == datetime.fromisoformat(moment + "+00:00")


@pytest.mark.parametrize("day", ["2027-03-28", "2027-10-31"])
def test_case_k4_half_past_two_comes_once_on_the_days_when_the_clocks_change(day: str) -> None:
    policy = in_berlin(time(2, 30))
    start = datetime.fromisoformat(day + "T00:00:00+00:00") - timedelta(days=2)
    moments = {at_time_of_day(start + timedelta(minutes=n), policy) for n in range(4 * 24 * 60)}
    days = sorted(moment.date().isoformat() for moment in moments)
    assert len(days) == len(set(days)) == 5
    assert day in days


def test_without_a_time_of_day_it_comes_when_the_wait_is_over() -> None:
    assert at_time_of_day(NOON, POLICY) == NOON
