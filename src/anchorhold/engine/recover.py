"""A database that lost its tail is made whole from what Stripe knows (protocol section 11).

Nothing of the mode is claimed meanwhile: every claim compares the lineage that only `finish` sets.
Whoever leads may die anywhere; the next one goes on where it stopped, and doing a page again
changes nothing.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from anchorhold.domain.answer import IntentView, Refused, Result, Shown, Slice
from anchorhold.domain.recovering import (
    Act,
    Phase,
    Rule,
    Run,
    Standing,
    decide,
    half_shown,
    invoice_of,
    is_ours,
)
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.recover_acts import StoppedError, act, retrieve
from anchorhold.store import checks, recoveries

TRIES = 3
"""So often a page is asked for before the recovery is left for later."""
EVENTS_LIVE = timedelta(days=29)
"""Stripe keeps events for 30 days: older changes are found by listing."""
IN_FLIGHT_S = 60.0
"""Beyond the longest call: when a charge of before the fail-over has ended for certain."""

PHASES = (Phase.CREATED, Phase.CHANGED)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was read and done: PaymentIntents `read` and `ours`, and how many each rule decided.

    `stopped` says why it was left for later; the mode is closed to claims until it is done.
    """

    since: datetime
    counts: dict[str, int] = field(default_factory=dict)
    stopped: str | None = None


Told = Callable[[Phase, dict[str, int]], None]
"""Hears of every page that was worked off."""


def nobody(phase: Phase, counts: dict[str, int]) -> None:
    """Tells nobody."""


async def ensure(deps: Deps, scope: Scope) -> Recovered | None:
    """The mode is whole (None), or was recovered now as far as Stripe answered."""
    look = await recoveries.look(deps.db, scope)
    if look is None or look.whole:
        return None
    return await recover(deps, scope)


async def recover(
    deps: Deps, scope: Scope, *, since: datetime | None = None, told: Told = nobody
) -> Recovered | None:
    """The mode is whole again, or why not; None: not due, or another process is at it.

    With `since` it is made due, and reads from then on.
    """
    if since is not None:
        await recoveries.doubt(deps.db, scope, silence_s=0)
    run = await recoveries.begin(
        deps.db,
        scope,
        since=since,
        back_s=deps.timing.list_back_seconds,
        in_flight_s=deps.timing.call_bound_seconds + IN_FLIGHT_S,
        actor=deps.actor,
    )
    if run is None:
        return None
    deps.log.info("recover.began", account=scope.account_id, since=str(run.since))
    connected = await deps.providers.of(scope)
    if connected is None:
        return await _stop(deps, scope, run, "Stripe is not connected")
    return await _lead(_Reading(deps, connected, scope, Counter(run.counts), told), run)


async def survey(
    deps: Deps, scope: Scope, *, since: datetime | None = None, told: Told = nobody
) -> Recovered:
    """What a recovery would do, with nothing changed here or at Stripe.

    Raises Refusal: stripe_key_missing.
    """
    look = await recoveries.look(deps.db, scope)
    connected = await deps.providers.of(scope)
    if look is None or connected is None:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    start = since or look.seen_at - timedelta(seconds=deps.timing.list_back_seconds)
    reading = _Reading(deps, connected, scope, Counter(), told)
    try:
        for phase, begin in await _spans(deps, scope, start):
            after: str | None = None
            while True:
                page = await _page(reading, phase, begin, after)
                await _work_off(reading, phase, page.rows)
                if (after := page.after) is None:
                    break
    except StoppedError as stopped:
        return Recovered(start, dict(reading.counts), str(stopped))
    return Recovered(start, dict(reading.counts))


@dataclass(slots=True)
class _Reading:
    """One process's reading of Stripe for a mode; `run` is its lease, None where it only looks."""

    deps: Deps
    connected: Connected
    scope: Scope
    counts: Counter[str]
    told: Told
    run: Run | None = None


async def _lead(reading: _Reading, run: Run) -> Recovered:
    reading.run = run
    try:
        run = await _read_all(reading, run)
        return await _finish(reading, run)
    except StoppedError as stopped:
        return await _stop(reading.deps, reading.scope, reading.run, str(stopped))
    except Exception as error:
        # The database went away again, say: whoever comes next must not wait for the lease.
        with suppress(Exception):
            await _stop(reading.deps, reading.scope, reading.run, f"{type(error).__name__}")
        raise


async def _read_all(reading: _Reading, run: Run) -> Run:
    """Every page since then was worked off; the run with its last lease."""
    for phase, begin in await _spans(reading.deps, reading.scope, run.since):
        if PHASES.index(phase) < PHASES.index(run.phase):
            continue
        after = run.after if phase is run.phase else None
        while True:
            page = await _page(reading, phase, begin, after)
            await _work_off(reading, phase, page.rows)
            after = page.after
            reading.run = run = await _advance(reading, run, phase, after)
            if after is None:
                break
    return run


async def _spans(deps: Deps, scope: Scope, since: datetime) -> list[tuple[Phase, int]]:
    """What is read, and from which second on: newer intents, and events about older ones."""
    now = await checks.now(deps.db)
    begin = int(since.timestamp())
    if now - since < EVENTS_LIVE:
        return [(Phase.CREATED, begin), (Phase.CHANGED, begin)]
    oldest = await recoveries.oldest_live(deps.db, scope)
    back = int(deps.timing.list_back_seconds)
    return [(Phase.CREATED, min(begin, int(oldest.timestamp()) - back) if oldest else begin)]


async def _page(
    reading: _Reading, phase: Phase, begin: int, after: str | None
) -> Slice[IntentView]:
    """One page; raises StoppedError when Stripe did not show it."""
    provider = reading.connected.provider
    ask = provider.page_of_intents if phase is Phase.CREATED else provider.page_of_changes
    why = ""
    for _ in range(TRIES):
        deadline = provider.deadline(reading.deps.timing.check_cut_seconds)
        answer = await ask(begin, after, deadline)
        if isinstance(answer, Shown):
            return answer.value
        why = _said(answer)
    raise StoppedError(why)


def _said(answer: Result[Slice[IntentView]]) -> str:
    if isinstance(answer, Refused):
        return f"Stripe answered {answer.status} {answer.message}".strip()
    return f"Stripe did not answer: {getattr(answer, 'cause', '')}"


async def _work_off(reading: _Reading, phase: Phase, rows: Sequence[IntentView]) -> None:
    """Each intent of ours on a page was acted on, each once."""
    ours = {row.id: row for row in reversed(rows) if is_ours(reading.scope, row)}
    reading.counts["read"] += len(rows)
    reading.counts["ours"] += len(ours)
    found = [(row.id, invoice_of(row)) for row in ours.values()]
    if found:
        for standing in await recoveries.look_up(reading.deps.db, reading.scope, found):
            await _settle(reading, phase, ours[standing.intent_id], standing)
    reading.told(phase, dict(reading.counts))


async def _settle(reading: _Reading, phase: Phase, intent: IntentView, standing: Standing) -> None:
    """The rows say what Stripe says about this intent, or a rule leaves it to somebody else."""
    rule = decide(intent, standing)
    if rule.act is not Act.NOTHING and (phase is Phase.CHANGED or half_shown(intent)):
        shown = await retrieve(reading.deps, reading.connected, intent.id)
        if shown is None:
            reading.counts["unreadable"] += 1
            return
        intent, rule = shown, decide(shown, standing)
    reading.counts[rule.id] += 1
    if reading.run is not None:
        await _act(reading, rule, intent, standing)


async def _act(reading: _Reading, rule: Rule, intent: IntentView, standing: Standing) -> None:
    """By the rule, and once more by the next where something had moved."""
    for _ in range(TRIES):
        changed = await act(reading.deps, reading.connected, reading.scope, rule, intent, standing)
        if changed is None:
            return
        found = [(intent.id, standing.invoice_id)]
        (standing,) = await recoveries.look_up(reading.deps.db, reading.scope, found)
        intent, before = changed, rule
        rule = decide(intent, standing)
        if rule.act is Act.ADOPT and before.act is Act.ADOPT:
            rule = replace(rule, act=Act.CANCEL)
    reading.deps.log.error("recover.moves", invoice=standing.invoice_id, intent=intent.id)


async def _advance(reading: _Reading, run: Run, phase: Phase, after: str | None) -> Run:
    lease = await recoveries.advance(
        reading.deps.db,
        reading.scope,
        run,
        phase=Phase.CHANGED if after is None else phase,
        after=after,
        counts=dict(reading.counts),
    )
    if lease is None:
        raise StoppedError("another process leads it now")
    return replace(run, lease_until=lease)


async def _finish(reading: _Reading, run: Run) -> Recovered:
    deps, scope = reading.deps, reading.scope
    counts = dict(reading.counts)
    if run.too_early:
        why = "a charge of before the fail-over may still be on its way"
        await recoveries.give_up(deps.db, scope, run, failure=why, from_the_start=True)
        return Recovered(run.since, counts, why)
    if await recoveries.finish(deps.db, scope, run) is None:
        return Recovered(run.since, counts, "another process leads it, or it failed over again")
    deps.log.info("recover.done", account=scope.account_id, since=str(run.since), **counts)
    return Recovered(run.since, counts)


async def _stop(deps: Deps, scope: Scope, run: Run, why: str) -> Recovered:
    await recoveries.give_up(deps.db, scope, run, failure=why)
    deps.log.error("recover.stopped", account=scope.account_id, reason=why)
    return Recovered(run.since, run.counts, why)
