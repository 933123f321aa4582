"""What a direct attempt left behind, read from the rows and from what Stripe showed (section 6)."""

from datetime import timedelta

from anchorhold.domain.account import SweepMode
from anchorhold.domain.answer import IntentStatus
from anchorhold.domain.attempt import RUNNING, AttemptState, Cause
from anchorhold.domain.sweep import Evidence, HoldFacts, Trace
from anchorhold.domain.timing import Timing

KEY_SAID_ALL = frozenset({Cause.SERVER_ERROR, Cause.KEY_REUSED})
"""Causes that a fence itself wrote: its key can say no more than that."""


def trace_of(facts: HoldFacts, seen: Evidence, timing: Timing) -> Trace:
    """The trace of the hold's own attempt. All times are the database's clock."""
    own = facts.own
    if not own.direct:
        return Trace.INTENT
    if own.state is AttemptState.CLAIMED:
        return Trace.UNSENT
    if own.state not in RUNNING or _canceled(facts, seen):
        return Trace.PROVEN
    if facts.sweep_mode is SweepMode.ADR:
        if own.state is AttemptState.SENDING:
            return Trace.LOST
    elif fence_left_s(facts, timing) > 0 and not (own.rule == "S10" and own.cause in KEY_SAID_ALL):
        return Trace.FENCEABLE
    return Trace.DAY_OVER if _day_over(facts, timing) else Trace.WAITS


def _canceled(facts: HoldFacts, seen: Evidence) -> bool:
    """The intent that the attempt made is cancelled: it takes no money any more (F4)."""
    return any(
        intent.status is IntentStatus.CANCELED and facts.maker(intent) == facts.own.id
        for intent in seen.intents
    )


def fence_left_s(facts: HoldFacts, timing: Timing) -> float:
    """For how many seconds the attempt's key may still be used."""
    if facts.own.sent_at is None:
        return 0
    age_s = (facts.now - facts.own.sent_at).total_seconds()
    return timing.fence_max_seconds - age_s


def _day_over(facts: HoldFacts, timing: Timing) -> bool:
    """A day after the hold that the claim wrote; a fence moved the hold itself since."""
    held = timedelta(seconds=timing.hold_seconds + timing.parked_wait_seconds)
    return facts.now >= facts.own.claimed_at + held


def too_early(facts: HoldFacts, timing: Timing) -> bool:
    """A direct hold is left alone for SWEEP_WAIT after its end: its request may be on its way."""
    wait = timedelta(seconds=timing.sweep_wait_seconds if facts.own.direct else 0)
    return facts.live or facts.now < facts.token.hold_until + wait
