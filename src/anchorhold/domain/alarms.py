"""When a hold needs a person: it should have ended long ago (protocol section 6, H16).

A park on schedule is no alarm, as it waits for a day by design. The same times are read by
`store/metrics.py` in SQL, for `/metrics`; a test compares the two.
"""

from enum import StrEnum
from typing import Final

from anchorhold.domain.hold import HoldState
from anchorhold.domain.timing import Timing


class Overdue(StrEnum):
    """What should not be there any more."""

    HOLD = "hold"
    """Older than HOLD_ALARM: several checks could not end it, or none was made."""
    PARK = "park"
    """Older than PARKED_ALARM: a day was waited for and more, and it was not taken back."""


ALARM_AFTER: Final = {
    HoldState.STALE: (Overdue.HOLD, "hold_alarm_seconds"),
    HoldState.PARKED: (Overdue.PARK, "parked_alarm_seconds"),
}


def overdue(state: HoldState, ended_s_ago: float, timing: Timing) -> Overdue | None:
    """The alarm of a hold that ended so many seconds ago, or None."""
    if state not in ALARM_AFTER:
        return None
    alarm, after = ALARM_AFTER[state]
    return alarm if ended_s_ago > getattr(timing, after) else None
