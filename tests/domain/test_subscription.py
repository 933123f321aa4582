"""What comes next on a subscription, in advance and in arrears, up to its end; what it costs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhold.domain.ids import PriceId
from anchorhold.domain.period import Calendar, Interval, Unit, calendar_of
from anchorhold.domain.price import Billing, Item, Scheme
from anchorhold.domain.subscription import due_until, first_after, lines, next_due

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
MONTHLY = calendar_of(JANUARY, "UTC", Interval(Unit.MONTH))
ADVANCE, ARREARS = Billing.IN_ADVANCE, Billing.IN_ARREARS


def month(number: int, day: int = 1) -> datetime:
    return datetime(2026, number, day, tzinfo=UTC)


def ending(at: datetime) -> Calendar:
    return replace(MONTHLY, ends_at=at)


def test_in_advance_a_period_is_due_when_it_begins_and_in_arrears_when_it_is_over() -> None:
    assert next_due(MONTHLY, ADVANCE, 1).at == month(2)
    assert next_due(MONTHLY, ARREARS, 1).at == month(3)


def test_what_is_due_comes_oldest_first_and_no_more_than_asked_for() -> None:
    due = due_until(MONTHLY, ADVANCE, 0, month(4), limit=9)
    assert [one.at for one in due] == [month(1), month(2), month(3), month(4)]
    assert due_until(MONTHLY, ADVANCE, 0, month(4), limit=2) == due[:2]
    assert due_until(MONTHLY, ARREARS, 0, month(1, 31), limit=9) == []


@pytest.mark.parametrize("billing", Billing)
def test_the_end_comes_after_the_last_period_and_nothing_after_it(billing: Billing) -> None:
    due = due_until(ending(month(2, 15)), billing, 0, month(12), limit=9)
    assert [one.period is None for one in due] == [False, False, True]
    assert due[1].period is not None
    assert (due[1].period.end, due[2].at) == (month(2, 15), month(2, 15))


def test_in_arrears_the_last_part_is_due_when_the_subscription_ends() -> None:
    assert next_due(ending(month(1, 11)), ARREARS, 0).at == month(1, 11)


def test_a_subscription_without_end_has_always_something_next() -> None:
    with pytest.raises(ValueError, match="before the start"):
        next_due(replace(MONTHLY, starts_at=month(3)), ADVANCE, 0)


@given(st.integers(0, 20), st.integers(0, 900), st.sampled_from(Billing))
@settings(max_examples=100, deadline=None)
def test_after_a_pause_comes_the_first_that_is_not_due_yet(
    number: int, days: int, billing: Billing
) -> None:
    instant = JANUARY + timedelta(days=days)
    due = first_after(MONTHLY, billing, number, instant)
    slow = number
    while next_due(MONTHLY, billing, slow).at <= instant:
        slow += 1
    assert due == next_due(MONTHLY, billing, slow)


def test_after_a_pause_beyond_the_end_comes_the_end() -> None:
    due = first_after(ending(month(2, 15)), ADVANCE, 1, month(6))
    assert (due.period, due.at) == (None, month(2, 15))


def item(scheme: Scheme, amount: int, quantity: int) -> Item:
    return Item(PriceId("pri_1"), "seat", scheme, amount, quantity)


def test_a_line_costs_the_units_or_the_period() -> None:
    period = MONTHLY.period(0)
    assert period is not None
    made = lines([item(Scheme.PER_UNIT, 500, 3), item(Scheme.FLAT, 900, 3)], period)
    assert [line.amount for line in made] == [1500, 900]


def test_a_part_of_a_period_costs_its_share() -> None:
    period = ending(month(1, 11)).period(0)
    assert period is not None
    (line,) = lines([item(Scheme.FLAT, 3100, 1)], period)
    assert line.amount == 1000
