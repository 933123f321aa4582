"""Everything that can meet at an invoice, all at once, on many invoices: no deadlock, all legal."""

import asyncio
import random
from typing import Any, LiteralString, TypeVar

import pytest
from psycopg import errors
from typing_extensions import override

from anchorhold.store.db import PoolDb, connect
from tests.store.acts import STAGES, Stage
from tests.store.legal import broken
from tests.store.scene import Scene

T = TypeVar("T")

INVOICES = 120
AT_ONCE = 3


class CountingDb(PoolDb):
    """`PoolDb`, which sends the victims of deadlocks again; here they are counted."""

    deadlocks = 0

    @override
    async def _once(self, query: LiteralString, shape: type[T], params: dict[str, Any]) -> list[T]:
        try:
            return await super()._once(query, shape, params)
        except errors.DeadlockDetected:
            self.deadlocks += 1
            raise


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
async def test_all_that_can_meet_meets_at_many_invoices(stage: Stage, scene: Scene) -> None:
    states = await stage.arrange(scene, INVOICES)
    async with connect(scene.conninfo, size=8) as pool:
        db = CountingDb(pool._pool)
        await storm(db, scene, stage, states)
    assert db.deadlocks == 0
    assert broken(scene) == []


async def storm(db: PoolDb, scene: Scene, stage: Stage, states: list[Any]) -> None:
    """Each act comes to each invoice once, in an order of its own, beside those of two others."""
    dice = random.Random(stage.name)
    for first in range(0, len(states), AT_ONCE):
        acts = [(act, state) for state in states[first : first + AT_ONCE] for act in stage.acts]
        dice.shuffle(acts)
        await asyncio.gather(*(stage.acts[act](db, scene, state) for act, state in acts))
