"""When a hold is looked at next: computed from the facts, never a fixed hour (section 5)."""

from datetime import datetime, timedelta

from anchorhold.domain.timing import Timing


def next_check_at(
    timing: Timing, *, now: datetime, hold_until: datetime | None, asked_at: datetime | None
) -> datetime:
    """The earliest moment at which the next check may take the hold, never before `now`.

    A live hold ends first; one that was asked about after its end waits for RECHECK. Without a
    hold the invoice follows an intent, and its follower comes with the next tick at the latest.
    """
    if hold_until is None:
        return now + timedelta(seconds=timing.tick_seconds)
    if asked_at is None or asked_at < hold_until:
        return max(now, hold_until)
    return max(now, asked_at + timedelta(seconds=timing.recheck_seconds))
