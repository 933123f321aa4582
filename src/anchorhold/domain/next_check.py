"""When an invoice with something under way is looked at next (protocol sections 6 and 7).

Computed from the facts and the times, never a fixed hour. All times are the database's clock.
"""

from datetime import datetime, timedelta

from anchorhold.domain import ladder
from anchorhold.domain.timing import Timing


def next_check_at(
    timing: Timing,
    *,
    now: datetime,
    hold_until: datetime | None,
    asked_at: datetime | None,
    followed_at: datetime | None = None,
    directly: bool = False,
) -> datetime:
    """From when on a check may ask Stripe: `now` when it is due already, else later than that.

    `asked_at` is when Stripe was last asked about it. A hold comes before a followed intent: while
    its hold is set, an invoice belongs to the sweep. `directly`: the hold's attempt charges in one
    call, so that its first look comes SWEEP_WAIT after its end.
    """
    if hold_until is not None:
        wait = timedelta(seconds=timing.sweep_wait_seconds if directly else 0)
        return max(now, hold_until + wait, _after_hold(timing, hold_until, asked_at))
    return max(now, _after_look(followed_at, asked_at) or now)


def _after_hold(timing: Timing, hold_until: datetime, asked_at: datetime | None) -> datetime:
    """A hold is first looked at when it ends; one that was kept comes again after RECHECK."""
    if asked_at is None or asked_at < hold_until:
        return hold_until
    return asked_at + timedelta(seconds=timing.recheck_seconds)


def _after_look(followed_at: datetime | None, asked_at: datetime | None) -> datetime | None:
    """The ladder, as the follower climbs it: by the age at the last look."""
    last = asked_at or followed_at
    if last is None or followed_at is None:
        return last + timedelta(seconds=ladder.FIRST_S) if last else None
    age_s = (last - followed_at).total_seconds()
    return last + timedelta(seconds=ladder.wait_s(age_s))
