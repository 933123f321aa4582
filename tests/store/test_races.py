"""Any two writes that can meet at one invoice, in every order: what is left is legal."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from psycopg import AsyncConnection

from anchorhold.domain.payment import Settled
from tests.store.acts import STAGES, Stage, invoice_of
from tests.store.legal import broken
from tests.store.outcomes import OUTCOMES, Outcome
from tests.store.scene import Scene, claim_one
from tests.store.two import OPTIONS, Two, two

FIRSTS = [
    pytest.param(stage, first, id=f"{stage.name}: {first}")
    for stage in STAGES
    for first in stage.acts
]


@pytest.mark.parametrize(("stage", "first"), FIRSTS)
async def test_the_second_acts_on_what_the_first_left(
    stage: Stage, first: str, scene: Scene
) -> None:
    """The first holds its transaction open; the second waits for it, or does without it."""
    met = {}
    async with two(scene.conninfo) as pair:
        for second in stage.acts:
            apart = scene.apart()
            met[apart.scope.account_id] = f"{first}, then {second}"
            (state,) = await stage.arrange(apart, 1)
            await stage.acts[first](pair.first, apart, state)
            task = asyncio.create_task(stage.acts[second](pair.second, apart, state))
            await pair.waits(pair.second, task)
            await pair.first.conn.commit()
            await task
    assert broken(scene) == [], met


@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
async def test_what_two_writes_leave_behind(outcome: Outcome, scene: Scene) -> None:
    stage = next(stage for stage in STAGES if stage.name == outcome.stage)
    (state,) = await stage.arrange(scene, 1)
    async with two(scene.conninfo) as pair:
        await stage.acts[outcome.first](pair.first, scene, state)
        task = asyncio.create_task(stage.acts[outcome.second](pair.second, scene, state))
        await pair.waits(pair.second, task)
        await pair.first.conn.commit()
        assert _said(await task) == outcome.answer
    assert scene.sql(LEFT) == [outcome.left]


LEFT = """
    SELECT i.status, i.payment_status, CASE WHEN i.hold_until IS NULL THEN 'free' ELSE 'held' END,
           coalesce((SELECT a.state FROM anchorhold.attempt a ORDER BY a.id DESC LIMIT 1), 'none')
      FROM anchorhold.invoice i
"""


def _said(answer: Any) -> str:
    if answer is None or answer == []:
        return "-"
    return str(answer.verdict) if isinstance(answer, Settled) else "ok"


@pytest.mark.parametrize(("stage", "first"), FIRSTS)
async def test_two_who_waited_for_a_third_go_on_without_a_deadlock(
    stage: Stage, first: str, scene: Scene
) -> None:
    """Both have taken what they take before the invoice's row, which a third one holds."""
    met = {}
    async with two(scene.conninfo) as pair, third(scene.conninfo) as holder:
        await pair.first.conn.set_autocommit(True)
        for second in stage.acts:
            apart = scene.apart()
            met[apart.scope.account_id] = f"{first}, beside {second}"
            (state,) = await stage.arrange(apart, 1)
            await holder.execute(HOLD_ROW, [apart.scope.account_id, invoice_of(state)])
            tasks = await _queue(pair, apart, stage, (first, second), state)
            await holder.commit()
            await asyncio.gather(*tasks)
    assert broken(scene) == [], met


async def test_a_claim_that_waited_for_a_lock_has_its_whole_hold(scene: Scene) -> None:
    """H12: its clock is read when it writes, not when its statement came."""
    (invoice_id,) = await scene.due()
    async with two(scene.conninfo) as pair:
        await pair.first.conn.execute(HOLD_ROW, [scene.scope.account_id, invoice_id])
        task = asyncio.create_task(claim_one(pair.second, scene, invoice_id))
        assert await pair.waits(pair.second, task)
        free_at = scene.now()
        await pair.first.conn.rollback()
        claim = await task
    assert claim is not None
    assert claim.token.hold_until - timedelta(seconds=scene.timing.hold_seconds) > free_at


HOLD_ROW = "SELECT FROM anchorhold.invoice WHERE account_id = %s AND id = %s FOR UPDATE"


@asynccontextmanager
async def third(conninfo: str) -> AsyncGenerator["AsyncConnection[Any]"]:
    conn = await AsyncConnection.connect(conninfo, options=OPTIONS)
    async with conn:
        yield conn


async def _queue(
    pair: Two, scene: Scene, stage: Stage, acts: tuple[str, str], state: Any
) -> list[asyncio.Task[Any]]:
    tasks = []
    for db, act in zip((pair.first, pair.second), acts, strict=True):
        tasks.append(asyncio.create_task(stage.acts[act](db, scene, state)))
        await pair.waits(db, tasks[-1])
    return tasks
