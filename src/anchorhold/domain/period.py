"""Billing periods: counted from an anchor, at a wall time, in a time zone (protocol section 10).

Period k begins k intervals after the anchor, never one interval after the period before it: the
31st becomes the 28th in February and is the 31st again in March. Periods tile time: each begins
where the one before it ends, at the same instant, whatever clocks are set forward or back.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil.relativedelta import relativedelta

from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.refusals import Refusal

COUNT_MAX: Final = 120
"""More intervals in one period than anybody bills by."""
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Between these a start is believed; what lies outside is a slip of the pen."""
_MICROSECOND: Final = timedelta(microseconds=1)


class Unit(StrEnum):
    """What a period is counted in."""

    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Interval:
    """How long a period is: so many weeks, months or years."""

    unit: Unit
    count: int = 1

    def __post_init__(self) -> None:
        """A count outside of 1 to 120 is a bug of the caller: ValueError."""
        if not 1 <= self.count <= COUNT_MAX:
            raise ValueError(f"1 to {COUNT_MAX} intervals, not {self.count}")

    @classmethod
    def parse(cls, text: str) -> "Interval":
        """What "month" or "3 months" says. Refuses the rest (INTERVAL_MALFORMED)."""
        words = text.lower().split()
        count = words.pop(0) if len(words) == 2 else "1"
        unit = words[0].removesuffix("s") if words else ""
        whole = count.isascii() and count.isdigit() and 1 <= int(count) <= COUNT_MAX
        if len(words) != 1 or not whole or unit not in set(Unit):
            raise Refusal(BillingCode.INTERVAL_MALFORMED, text=text[:40])
        return cls(Unit(unit), int(count))

    def __str__(self) -> str:
        """As `parse` reads it: "month", "3 months"."""
        return self.unit.value if self.count == 1 else f"{self.count} {self.unit.value}s"


def zone(name: str) -> ZoneInfo:
    """The time zone of this name. Refuses one that there is not (ZONE_UNKNOWN)."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refusal(BillingCode.ZONE_UNKNOWN, name=name[:60]) from error


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to `end`, in UTC; a part of the whole period around it, or all of it."""

    number: int
    start: datetime
    end: datetime
    whole_start: datetime
    whole_end: datetime

    def share(self, amount: int) -> int:
        """This part's share of what the whole period costs, in minor units.

        The shares of parts that tile the whole sum to exactly the amount: each is the difference
        of two amounts that were rounded down, up to its end and up to its start.
        """
        return self._upto(amount, self.end) - self._upto(amount, self.start)

    def _upto(self, amount: int, instant: datetime) -> int:
        past = (instant - self.whole_start) // _MICROSECOND
        return amount * past // ((self.whole_end - self.whole_start) // _MICROSECOND)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which periods a subscription has.

    `anchor` is a wall time in `zone_name`, without an offset. `anchor_day` is the day of the month
    that boundaries fall on where a month has it, and its last day otherwise; with weeks it means
    nothing. The first period begins at `starts_at` and the last one ends at `ends_at`, in UTC.
    """

    anchor: datetime
    anchor_day: int
    zone_name: str
    interval: Interval
    starts_at: datetime
    ends_at: datetime | None = None

    def boundary(self, number: int) -> datetime:
        """Where whole period `number` begins, in UTC; numbers before the anchor are negative.

        A wall time that a clock set forward skips is the instant so long after the skip; one that
        comes twice is the first of the two.
        """
        steps = number * self.interval.count
        match self.interval.unit:
            case Unit.WEEK:
                wall = self.anchor + relativedelta(weeks=steps)
            case Unit.MONTH:
                wall = self.anchor + relativedelta(months=steps, day=self.anchor_day)
            case Unit.YEAR:
                wall = self.anchor + relativedelta(years=steps, day=self.anchor_day)
        return wall.replace(tzinfo=ZoneInfo(self.zone_name)).astimezone(UTC)

    def period(self, number: int) -> Period | None:
        """Period `number`, cut at the subscription's start and end; None: nothing is left of it."""
        begin, finish = self.boundary(number), self.boundary(number + 1)
        start = max(begin, self.starts_at)
        end = finish if self.ends_at is None else min(finish, self.ends_at)
        return Period(number, start, end, begin, finish) if start < end else None

    def number_at(self, instant: datetime) -> int:
        """The number of the whole period that this instant is in."""
        number = self._guess(instant)
        while self.boundary(number) > instant:
            number -= 1
        while self.boundary(number + 1) <= instant:
            number += 1
        return number

    def _guess(self, instant: datetime) -> int:
        """Near the number: a period more or less, so that the walk from here is short."""
        wall = instant.astimezone(ZoneInfo(self.zone_name)).replace(tzinfo=None)
        months = (wall.year - self.anchor.year) * 12 + wall.month - self.anchor.month
        weeks = (wall - self.anchor) // timedelta(weeks=1)
        steps = {Unit.WEEK: weeks, Unit.MONTH: months, Unit.YEAR: months // 12}
        return steps[self.interval.unit] // self.interval.count


def calendar_of(
    starts_at: datetime, zone_name: str, interval: Interval, *, anchor_day: int | None = None
) -> Calendar:
    """The calendar of a subscription that starts then.

    Without an anchor day its periods begin as it does. With one, the first period is the part up
    to that day, and then whole ones follow. Refuses: ZONE_UNKNOWN, START_UNLIKELY,
    ANCHOR_DAY_INVALID.
    """
    if not EARLIEST <= starts_at < LATEST:
        raise Refusal(BillingCode.START_UNLIKELY, start=starts_at)
    wall = starts_at.astimezone(zone(zone_name)).replace(tzinfo=None)
    if anchor_day is None:
        return Calendar(wall, wall.day, zone_name, interval, starts_at)
    if interval.unit is Unit.WEEK or not 1 <= anchor_day <= 31:
        raise Refusal(BillingCode.ANCHOR_DAY_INVALID, day=anchor_day)
    anchor = wall + relativedelta(day=anchor_day)
    if anchor < wall:
        anchor = wall + relativedelta(months=1, day=anchor_day)
    return Calendar(anchor, anchor_day, zone_name, interval, starts_at)
