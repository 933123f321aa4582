"""A sweep with many holds: shared by lanes and workers, each hold once, and what ends a run."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import LiteralString

import pytest

from anchorhold.app import open_app
from anchorhold.domain.answer import Refused
from anchorhold.domain.scope import Scope
from anchorhold.engine.claim import claim_due
from anchorhold.engine.sweep import NO_ANSWERS, Stopped
from anchorhold.lanes import Lanes, checks_at_once
from anchorhold.settings import load
from anchorhold.stripe.breaker import BreakerState
from anchorhold.twin import FaultKind, Rule
from anchorhold.twin.server import TwinServer
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.check import check
from anchorhold.worker.stop import Stop
from tests.worker import world as worlds
from tests.worker.world import World, connect_account, due_invoices

ENDED: tuple[LiteralString, ...] = (
    "UPDATE anchorhold.invoice SET hold_until = hold_until - interval '1 hour'"
    " WHERE account_id = %s",
    "UPDATE anchorhold.attempt SET hold_until = hold_until - interval '1 hour'"
    " WHERE account_id = %s",
)
RETRIEVE = "GET /v1/payment_intents/{id}"


async def stale(world: World, count: int, scope: Scope | None = None) -> None:
    """So many holds whose owner died before it sent anything; they ended an hour ago."""
    scope = scope or world.scope
    deps, stop = world.app.deps, Stop()
    await due_invoices(deps.db, scope, count, prefix=f"{scope.account_id}-")
    stop.request()
    await collect_batch(deps, scope, limit=count, stop=stop)
    claims = await claim_due(deps, scope, limit=count, directly=False)
    assert len(claims) == count
    for statement in ENDED:
        world.sql(statement, scope.account_id)


def looks(world: World) -> Counter[str]:
    """How often each intent was retrieved."""
    return Counter(
        entry.path
        for entry in world.twin.requests
        if entry.method == "GET" and entry.path.startswith("/v1/payment_intents/")
    )


async def test_each_hold_is_checked_once_however_many_lanes_there_are(world: World) -> None:
    await stale(world, 50)
    swept = await check(world.app.deps, world.scope)
    assert world.app.deps.together.width > 1
    assert (swept.checks, swept.stopped) == (50, None)
    assert set(looks(world).values()) == {1}


async def test_workers_share_the_holds_and_check_none_twice(
    world: World, env: Mapping[str, str]
) -> None:
    await stale(world, 50)
    async with open_app(load(env), actor="worker:other") as other:
        runs = await asyncio.gather(*(check(app.deps, world.scope) for app in (world.app, other)))
    assert sum(run.checks for run in runs) == 50
    assert sorted(looks(world).values()) == [1] * 50


async def test_a_run_is_about_one_account_and_mode(world: World) -> None:
    other = await connect_account(world.app, "other")
    await stale(world, 3)
    await stale(world, 4, other)
    assert (await check(world.app.deps, world.scope)).checks == 3
    assert len(looks(world)) == 3
    assert (await check(world.app.deps, other)).checks == 4


async def test_a_stripe_that_does_not_answer_costs_three_checks_and_not_one_a_lane(
    world: World,
) -> None:
    """The others are checked in the next run, and not when a kept hold comes again."""
    await stale(world, 12)
    world.faults(Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, probability=1))
    swept = await check(world.app.deps, world.scope)
    assert (swept.checks, swept.stopped) == (NO_ANSWERS, Stopped.SILENCE)
    world.faults()
    assert (await check(world.app.deps, world.scope)).checks == 9


async def test_silence_in_the_midst_of_a_run_ends_what_runs_and_begins_no_other(
    world: World,
) -> None:
    await stale(world, 60)
    silent = Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, calls=frozenset(range(2, 100)))
    world.faults(silent)
    swept = await check(world.app.deps, world.scope)
    lanes = world.app.deps.together.width
    assert swept.stopped is Stopped.SILENCE
    assert 1 + NO_ANSWERS <= swept.checks <= NO_ANSWERS + lanes


async def test_a_check_is_cut_when_stripe_takes_too_long(
    env: Mapping[str, str], twin_server: TwinServer
) -> None:
    async with worlds.world(env, twin_server, CHECK_CUT_SECONDS="0.3") as world:
        await stale(world, 2)
        slow = Rule(FaultKind.SLOW, RETRIEVE, calls=frozenset({1}), seconds=600)
        world.faults(slow)
        async with asyncio.timeout(15):
            swept = await check(world.app.deps, world.scope)
    assert swept.rows == {"S14": 1, "S8": 1}


async def test_a_check_never_goes_through_the_breaker(world: World) -> None:
    await stale(world, 3)
    breaker = world.app.wires.breaker
    for _ in range(5):
        permit = breaker.admit()
        assert permit is not None
        breaker.record(permit, Refused(503))
    assert breaker.view().state is BreakerState.OPEN
    swept = await check(world.app.deps, world.scope)
    assert swept.rows == {"S8": 3}
    assert breaker.view().state is BreakerState.OPEN


async def test_what_is_left_when_the_time_is_up_is_checked_by_the_next_run(
    env: Mapping[str, str], twin_server: TwinServer
) -> None:
    async with worlds.world(env, twin_server, SWEEP_BUDGET_SECONDS="0.3") as world:
        await stale(world, 60)
        world.faults(Rule(FaultKind.SLOW, RETRIEVE, probability=1, seconds=0.3))
        runs = [await check(world.app.deps, world.scope)]
        assert runs[0].stopped is Stopped.BUDGET
        world.faults()
        while runs[-1].stopped:
            runs.append(await check(world.app.deps, world.scope))
    assert sum(run.checks for run in runs) == 60
    assert set(looks(world).values()) == {1}


async def test_lanes_all_end_before_what_one_raised_is_raised() -> None:
    ended: list[int] = []

    async def work() -> None:
        number = len(ended)
        ended.append(number)
        await asyncio.sleep(0)
        if number == 1:
            raise ZeroDivisionError
        await asyncio.sleep(0)
        ended.append(number)

    with pytest.raises(ZeroDivisionError):
        await Lanes(3).run(work)
    assert ended == [0, 1, 2, 0, 2]


@pytest.mark.parametrize(
    ("asked", "rate", "lanes"),
    [("32", "25", 32), ("500", "25", 281), ("32", "1", 11), ("32", "0.01", 1)],
)
def test_no_more_lanes_than_leave_the_rate_limit_in_a_quarter_of_a_check(
    asked: str, rate: str, lanes: int, env: Mapping[str, str]
) -> None:
    """At 45 s a check may wait 11 s for its turn; one that is cut while it waits got no answer."""
    settings = load(
        {
            **env,
            "ANCHORHOLD_SWEEP_CONCURRENCY": asked,
            "ANCHORHOLD_STRIPE_RATE_PER_ENDPOINT": rate,
            "ANCHORHOLD_CHECK_CUT_SECONDS": "45",
        }
    )
    assert checks_at_once(settings) == lanes
