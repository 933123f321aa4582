"""When a hold is somebody's business: later than its time, and not before."""

from anchorhold.domain.alarms import Overdue, overdue
from anchorhold.domain.hold import HoldState
from anchorhold.domain.timing import Timing

TIMING = Timing()


def test_a_stale_hold_is_overdue_after_its_alarm_and_not_at_it() -> None:
    after = TIMING.hold_alarm_seconds
    assert overdue(HoldState.STALE, after, TIMING) is None
    assert overdue(HoldState.STALE, after + 1, TIMING) is Overdue.HOLD


def test_a_park_has_its_own_time() -> None:
    assert overdue(HoldState.PARKED, TIMING.hold_alarm_seconds + 1, TIMING) is None
    assert overdue(HoldState.PARKED, TIMING.parked_alarm_seconds + 1, TIMING) is Overdue.PARK


def test_what_is_not_a_hold_that_ended_is_never_overdue() -> None:
    for state in (HoldState.NONE, HoldState.LIVE, HoldState.FOLLOWING):
        assert overdue(state, 10**9, TIMING) is None
