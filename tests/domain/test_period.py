"""Periods tile time for any anchor, zone and interval; shares of a period sum to its price."""

import calendar as months
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.period import (
    COUNT_MAX,
    EARLIEST,
    Calendar,
    Interval,
    Period,
    Unit,
    calendar_of,
)
from anchorhold.domain.refusals import Refusal

ZONES = sorted(available_timezones() - {"localtime", "Factory"})
# Two places crossed the date line and skipped a day; Lord Howe moves by half an hour.
ODD_ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
    "Asia/Kathmandu", "Africa/Casablanca", "America/St_Johns", "Pacific/Kwajalein",
)  # fmt: skip
INSTANTS = st.integers(0, 190 * 365 * 86400).map(lambda s: EARLIEST + timedelta(seconds=s))
INTERVALS = st.builds(Interval, st.sampled_from(Unit), st.integers(1, 26))


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    """Any calendar that a subscription can have, without an end."""
    interval = draw(INTERVALS)
    day = None if interval.unit is Unit.WEEK else draw(st.none() | st.integers(1, 31))
    name = draw(st.sampled_from(ODD_ZONES) | st.sampled_from(ZONES))
    return calendar_of(draw(INSTANTS), name, interval, anchor_day=day)


def stepped(of: Calendar, number: int) -> datetime:
    """A boundary by walking from month to month: slow, and without dateutil."""
    steps, unit = number * of.interval.count, of.interval.unit
    if unit is Unit.WEEK:
        wall = of.anchor + timedelta(days=7 * steps)
    else:
        year, month = of.anchor.year, of.anchor.month
        for _ in range(abs(steps) * (12 if unit is Unit.YEAR else 1)):
            month += 1 if steps > 0 else -1
            year, month = (year + (month > 12) - (month < 1), (month - 1) % 12 + 1)
        day = min(of.anchor_day, months.monthrange(year, month)[1])
        wall = of.anchor.replace(year=year, month=month, day=day)
    return wall.replace(tzinfo=ZoneInfo(of.zone_name)).astimezone(UTC)


@given(calendars())
@settings(max_examples=150, deadline=None)
def test_periods_tile_time_from_the_start_on(of: Calendar) -> None:
    first = of.number_at(of.starts_at)
    periods = [of.period(first + n) for n in range(6)]
    found = [period for period in periods if period]
    assert len(found) == 6
    assert found[0].start == of.starts_at
    assert all(left.end == right.start for left, right in pairwise(found))
    assert all(period.start < period.end for period in found)


@given(calendars(), st.integers(-30, 30))
@settings(max_examples=150, deadline=None)
def test_a_boundary_is_where_a_walk_from_month_to_month_ends(of: Calendar, number: int) -> None:
    assert of.boundary(number) == stepped(of, number)


@given(calendars(), st.integers(0, 3_000_000))
@settings(max_examples=150, deadline=None)
def test_each_instant_is_in_the_one_period_of_its_number(of: Calendar, minutes: int) -> None:
    instant = of.starts_at + timedelta(minutes=minutes)
    number = of.number_at(instant)
    assert of.boundary(number) <= instant < of.boundary(number + 1)


@given(calendars(), st.integers(0, 1_000_000))
@settings(max_examples=150, deadline=None)
def test_the_last_period_ends_with_the_subscription(of: Calendar, minutes: int) -> None:
    ends_at = of.starts_at + timedelta(minutes=minutes)
    cut = Calendar(of.anchor, of.anchor_day, of.zone_name, of.interval, of.starts_at, ends_at)
    number = cut.number_at(of.starts_at)
    assume(cut.period(number + 40) is None)
    periods = [period for n in range(40) if (period := cut.period(number + n))]
    assert sum((period.end - period.start for period in periods), timedelta()) == (
        ends_at - of.starts_at
    )


PARTS = st.lists(st.integers(1, 10**6), min_size=1, max_size=12)


@given(st.integers(-(10**8), 10**8), PARTS)
def test_shares_of_parts_sum_to_the_price_and_are_what_fractions_say(
    amount: int, seconds: list[int]
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    ends = [begin + timedelta(seconds=sum(seconds[: n + 1])) for n in range(len(seconds))]
    starts = [begin, *ends]
    parts = [
        Period(0, start, end, begin, ends[-1]) for start, end in zip(starts, ends, strict=False)
    ]
    assert [part.share(amount) for part in parts] == slow_shares(amount, seconds)
    assert sum(part.share(amount) for part in parts) == amount


def slow_shares(amount: int, seconds: list[int]) -> list[int]:
    """Each part gets its exact fraction and what was left over before it, rounded down."""
    given: list[int] = []
    left = Fraction(0)
    for part in seconds:
        left += Fraction(amount * part, sum(seconds))
        given.append(left.numerator // left.denominator)
        left -= given[-1]
    return given


def on(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def begins(of: Calendar, count: int) -> list[str]:
    """The wall times at which the first periods begin."""
    number = of.number_at(of.starts_at)
    starts = [of.boundary(number + n) for n in range(count)]
    return [f"{at.astimezone(ZoneInfo(of.zone_name)):%Y-%m-%d %H:%M}" for at in starts]


def test_the_31st_is_the_last_day_of_a_short_month_and_the_31st_again() -> None:
    of = calendar_of(on("2026-01-31 09:00"), "UTC", Interval(Unit.MONTH))
    assert begins(of, 4) == [
        "2026-01-31 09:00", "2026-02-28 09:00", "2026-03-31 09:00", "2026-04-30 09:00",
    ]  # fmt: skip


def test_the_29th_of_february_is_the_28th_in_other_years() -> None:
    of = calendar_of(on("2024-02-29 00:00"), "UTC", Interval(Unit.YEAR))
    assert [begin[:10] for begin in begins(of, 5)] == [
        "2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29",
    ]  # fmt: skip


def test_k4_a_time_that_a_clock_change_skips_or_doubles_comes_once() -> None:
    zone = "Europe/Berlin"
    of = calendar_of(on("2026-03-22 02:30", zone), zone, Interval(Unit.WEEK))
    assert begins(of, 3) == ["2026-03-22 02:30", "2026-03-29 03:30", "2026-04-05 02:30"]
    autumn = calendar_of(on("2026-10-18 02:30", zone), zone, Interval(Unit.WEEK))
    number = autumn.number_at(autumn.starts_at)
    lengths = [autumn.boundary(number + n + 1) - autumn.boundary(number + n) for n in range(3)]
    week, hour = timedelta(weeks=1), timedelta(hours=1)
    assert lengths == [week, week + hour, week]


def test_an_anchor_day_makes_a_short_first_period() -> None:
    of = calendar_of(on("2026-02-10 12:00"), "UTC", Interval(Unit.MONTH), anchor_day=31)
    first = of.period(of.number_at(of.starts_at))
    assert first is not None
    assert (first.start, first.end) == (on("2026-02-10 12:00"), on("2026-02-28 12:00"))
    assert first.whole_start == on("2026-01-31 12:00")
    assert begins(of, 3)[1:] == ["2026-02-28 12:00", "2026-03-31 12:00"]


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("month", Interval(Unit.MONTH)),
        ("3 months", Interval(Unit.MONTH, 3)),
        ("1 year", Interval(Unit.YEAR)),
        ("2 weeks", Interval(Unit.WEEK, 2)),
    ],
)
def test_an_interval_is_read_and_said(text: str, interval: Interval) -> None:
    assert Interval.parse(text) == interval
    assert Interval.parse(str(interval)) == interval


@pytest.mark.parametrize("text", ["", "day", "0 months", "121 weeks", "months 3", "-1 year", "²w"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        Interval.parse(text)
    assert refused.value.code is BillingCode.INTERVAL_MALFORMED


@pytest.mark.parametrize("count", [0, COUNT_MAX + 1])
def test_a_count_out_of_bounds_is_a_bug(count: int) -> None:
    with pytest.raises(ValueError, match="intervals"):
        Interval(Unit.WEEK, count)


@pytest.mark.parametrize(
    ("starts_at", "zone", "day", "code"),
    [
        (EARLIEST, "Mars/Olympus", None, BillingCode.ZONE_UNKNOWN),
        (EARLIEST, "../etc/passwd", None, BillingCode.ZONE_UNKNOWN),
        (EARLIEST - timedelta(seconds=1), "UTC", None, BillingCode.START_UNLIKELY),
        (on("2200-01-01"), "UTC", None, BillingCode.START_UNLIKELY),
        (EARLIEST, "UTC", 32, BillingCode.ANCHOR_DAY_INVALID),
        (EARLIEST, "UTC", 0, BillingCode.ANCHOR_DAY_INVALID),
    ],
)
def test_a_calendar_that_nobody_means_is_refused(
    starts_at: datetime, zone: str, day: int | None, code: BillingCode
) -> None:
    with pytest.raises(Refusal) as refused:
        calendar_of(starts_at, zone, Interval(Unit.MONTH), anchor_day=day)
    assert refused.value.code is code


def test_weeks_have_no_anchor_day() -> None:
    with pytest.raises(Refusal):
        calendar_of(EARLIEST, "UTC", Interval(Unit.WEEK), anchor_day=1)
