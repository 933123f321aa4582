"""Everything works through PgBouncer in transaction mode (case P3)."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from anchorhold.store.db import connect
from tests.engine.flows import FLOWS, Flow
from tests.engine.rig import Gate, Rig, rig
from tests.store.pooler import PROGRAM, pooler, prepared

pytestmark = pytest.mark.skipif(
    PROGRAM is None and os.environ.get("CI") != "true",
    reason="pgbouncer is not installed: apt-get install -y pgbouncer",
)


@pytest.fixture(name="pooled")
def _pooled(database: str) -> Iterator[str]:
    with pooler(database, sessions=3) as conninfo:
        yield conninfo


async def test_the_sessions_behind_it_are_shared(pooled: str) -> None:
    """Or the tests here would show nothing."""
    async with connect(pooled, size=8) as db:
        pids = await asyncio.gather(
            *(db.one("SELECT pg_backend_pid() FROM pg_sleep(0)", int) for _ in range(40))
        )
    assert len(set(pids)) <= 3


async def test_nothing_is_left_in_its_sessions(pooled: str) -> None:
    """No prepared statement and no setting: the next transaction may be anybody's."""
    async with connect(pooled, size=4) as db:
        for _ in range(10):
            await asyncio.gather(*(db.one("SELECT %(n)s::int", int, n=n) for n in range(4)))
        assert await db.one("SHOW statement_timeout", str) == "0"
    assert prepared(pooled) == []


@asynccontextmanager
async def pooled_rig(pooled: str) -> AsyncGenerator[Rig]:
    """A rig whose pool goes through PgBouncer; what the test looks at by hand prepares nothing."""
    async with rig(pooled) as world:
        world.by_hand.prepare_threshold = None
        yield world


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
async def test_a_charge_goes_through_it(database: str, flow: Flow) -> None:
    """One session, because the rig's clock is a setting of the session."""
    with pooler(database, sessions=1) as pooled:
        async with pooled_rig(pooled) as world:
            await _charge(world, flow)


async def _charge(world: Rig, flow: Flow) -> None:
    invoice = await flow.start(world)
    await flow.run(world, Gate())
    await world.recover()
    assert world.paid_at_stripe().get(invoice, 0) == int(flow.paid)
    assert world.row(invoice)["hold_until"] is None
    assert world.row(invoice)["status"] == ("paid" if flow.paid else "open")


async def test_many_are_charged_through_it_at_once(pooled: str) -> None:
    async with pooled_rig(pooled) as world:
        for _ in range(12):
            await world.invoice()
        await world.prepare()
        await asyncio.gather(*(world.charge_due() for _ in range(4)))
        paid = world.sql("SELECT count(*) FROM anchorhold.invoice WHERE status = 'paid'")
        assert paid == [(12,)]
        assert set(world.paid_at_stripe().values()) == {1}
