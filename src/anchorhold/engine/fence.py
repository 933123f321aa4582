"""The fence: proving by its idempotency key what became of a direct charge (section 6, S10).

The sweep takes the hold over first, so that a frozen owner can send and save nothing any more; it
sends under a deadline like a charge. Whoever runs this may die between any two lines: a probe sent
again has the same answer, and what it made is found in the list and cancelled (S6).
"""

from dataclasses import replace

from anchorhold.domain import outcome
from anchorhold.domain.answer import Deadline, IntentStatus, IntentView, Refused, Result, Shown
from anchorhold.domain.attempt import AttemptState, Cause
from anchorhold.domain.fencing import Fence, Request, read
from anchorhold.domain.intent import probe_params
from anchorhold.domain.invoice import OPEN
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Source
from anchorhold.domain.sweep import Evidence, HoldFacts
from anchorhold.engine import direct as charging
from anchorhold.engine import saving
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.saving import Holder
from anchorhold.store import direct
from anchorhold.store.direct import TakenOver

FENCED = End("S10", AttemptState.FENCED, Cause.NEVER_RAN)


async def fence(deps: Deps, connected: Connected, facts: HoldFacts, seen: Evidence) -> None:
    """The attempt is proven by its key, or it waits; nothing when the hold moved meanwhile."""
    over = await direct.take_over(deps.db, facts, deps.timing, actor=deps.actor)
    if over is None:
        return
    until = _until(deps, connected, seen, over)
    probe = await connected.provider.create_intent(probe_params(over.params), over.key, until)
    row = read(Request.PROBE, probe)
    if row.act is Fence.NEVER_RAN and isinstance(probe, Shown):
        await _never_ran(deps, connected, facts, over, probe.value, until)
    elif row.act is Fence.REPLAY:
        await _replay(deps, connected, facts, over, until)
    else:
        await _give_back(deps, over, row.id, probe)


def _until(deps: Deps, connected: Connected, seen: Evidence, over: TakenOver) -> Deadline:
    """No byte leaves after the check's cut, the hold's end, or the end of the key's use."""
    bound = connected.provider.deadline(deps.timing.deadline_auto_seconds)
    ends = (bound, over.deadline, *([seen.until] if seen.until else []))
    return min(ends, key=lambda deadline: deadline.at)


async def _never_ran(
    deps: Deps,
    connected: Connected,
    facts: HoldFacts,
    over: TakenOver,
    made: IntentView,
    until: Deadline,
) -> None:
    """What the probe made is cancelled before the hold is free: it must not stay payable."""
    left = await charging.cancel(connected, made.id, until)
    if left is None or left.status is not IntentStatus.CANCELED:
        await _back(deps, over, "the probe could not be cancelled")
        return
    await saving.end(deps, _holder(facts, over), Meaning.NOT_SENT, FENCED)


async def _replay(
    deps: Deps, connected: Connected, facts: HoldFacts, over: TakenOver, until: Deadline
) -> None:
    answer = await connected.provider.create_intent(over.params, over.key, until)
    row = read(Request.REPLAY, answer)
    match row.act:
        case Fence.ITS_ANSWER:
            await _its_answer(deps, connected, facts, over, answer, until)
        case Fence.SAVED_ERROR:
            await _wait(deps, facts, over, Cause.SERVER_ERROR)
        case Fence.OTHERS_KEY:
            await _wait(deps, facts, over, Cause.KEY_REUSED)
        case _:
            await _give_back(deps, over, row.id, answer)


async def _its_answer(
    deps: Deps,
    connected: Connected,
    facts: HoldFacts,
    over: TakenOver,
    answer: Result[IntentView],
    until: Deadline,
) -> None:
    row = replace(outcome.read_direct(answer, facts.sweep_mode), id="S10")
    if row.meaning is Meaning.FOLLOW and facts.status not in OPEN:
        await _give_back(deps, over, "S5", answer)  # nobody would record it
        return
    charged = await charging.act(deps, connected, _holder(facts, over), row, answer, until)
    if charged.meaning in (Meaning.KEEP, Meaning.ASK):
        await _give_back(deps, over, row.id, answer)


async def _wait(deps: Deps, facts: HoldFacts, over: TakenOver, cause: Cause) -> None:
    """The key has said all that it can: the attempt waits for its day to be over (S11)."""
    unknown = replace(ENDS[Meaning.ASK], rule="S10", cause=cause)
    if facts.status not in OPEN:
        unknown = replace(unknown, payment_status=None)
    await saving.end(deps, _holder(facts, over), Meaning.ASK, unknown)
    await _back(deps, over, cause)


async def _give_back(deps: Deps, over: TakenOver, rule: str, answer: Result[IntentView]) -> None:
    said = f"{answer.status} {answer.label}" if isinstance(answer, Refused) else str(answer)
    await _back(deps, over, f"{rule}: {said}")


async def _back(deps: Deps, over: TakenOver, error: str) -> None:
    await direct.give_back(
        deps.db, over.token, hold_until=over.old_end, error=error, actor=deps.actor
    )


def _holder(facts: HoldFacts, over: TakenOver) -> Holder:
    return Holder(
        over.token,
        states=frozenset({facts.own.state}),
        statuses=frozenset({facts.status}),
        source=Source.SWEEP,
    )
