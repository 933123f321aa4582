"""Real worker processes: killed, asked to stop, several at once, and without their database."""

import os
import signal
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest_asyncio
from psycopg import sql

from anchorhold import postgres
from anchorhold.store.migrate import upgrade
from anchorhold.twin import FaultKind, Rule
from anchorhold.twin.server import TwinServer
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.stop import Stop
from tests.postgres.conftest import own_folder
from tests.worker.processes import worker
from tests.worker.world import World, environment
from tests.worker.world import world as made_world

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
HANGS = Rule(FaultKind.SLOW, CONFIRM, probability=1, seconds=60)
SLOW = Rule(FaultKind.SLOW, CONFIRM, probability=1, seconds=0.5)


async def prepared(world: World, count: int) -> list[str]:
    """So many due invoices that have their intents already."""
    ids = await world.invoices(count)
    only_prepares = Stop()
    only_prepares.request()
    await collect_batch(world.app.deps, world.scope, limit=count, stop=only_prepares)
    return [*ids]


def count(world: World, condition: LiteralString) -> int:
    """How many invoices there are of which this is true."""
    ((number,),) = world.sql("SELECT count(*) FROM anchorhold.invoice WHERE " + condition)
    return int(number)


def end_holds(world: World) -> None:
    """Every hold that there is ended an hour earlier."""
    world.sql("UPDATE anchorhold.invoice SET hold_until = hold_until - interval '1 hour'")
    world.sql("UPDATE anchorhold.attempt SET hold_until = hold_until - interval '1 hour'")


async def test_what_a_killed_worker_left_behind_another_finds_out(world: World) -> None:
    ids = await prepared(world, 24)
    world.faults(HANGS)
    async with worker(world.env) as victim:
        await world.until(lambda: world.confirms() >= 8)
        victim.signal(signal.SIGKILL)
        await victim.ended()
    sent = len(world.paid())
    assert sent >= 8
    assert count(world, "status = 'paid'") == 0
    world.faults()
    end_holds(world)
    async with worker(world.env):
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)
    ((found,),) = world.sql("SELECT count(*) FROM anchorhold.payment WHERE source = 'sweep'")
    assert found == sent


async def test_asked_to_stop_a_worker_finishes_what_it_sent_and_claims_nothing_new(
    world: World,
) -> None:
    await prepared(world, 80)
    world.faults(SLOW)
    async with worker(world.env) as leaving:
        await world.until(lambda: world.confirms() >= 1)
        leaving.signal(signal.SIGTERM)
        assert await leaving.ended() == 0
        assert leaving.events[-1] == "worker.stopped"
    assert count(world, "hold_until IS NOT NULL") == 0
    paid = count(world, "status = 'paid'")
    assert 1 <= paid == world.confirms() == len(world.paid()) < 80
    assert count(world, "payment_status = 'pending'") == 80 - paid


async def test_asked_twice_a_worker_stops_at_once_and_says_what_is_left_to_the_sweep(
    world: World,
) -> None:
    ids = await prepared(world, 4)
    world.faults(HANGS)
    async with worker({**world.env, **PATIENT}) as leaving:
        await world.until(lambda: world.confirms() == 4)
        leaving.signal(signal.SIGTERM)
        leaving.signal(signal.SIGINT)
        assert await leaving.ended() == 130
        said = await leaving.says("worker.stopped_at_once")
        assert said["charges_left_to_the_sweep"] == 4
    assert count(world, "hold_until IS NOT NULL") == 4
    world.faults()
    end_holds(world)
    async with worker(world.env):
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)


PATIENT = {
    f"ANCHORHOLD_{name}_SECONDS": value
    for name, value in {
        "HOLD": "300",
        "MIN_LEFT": "120",
        "CALL_BOUND": "120",
        "DEADLINE_AUTO": "60",
    }.items()
}
"""Times so long that nothing ends by itself in a test."""


async def test_two_workers_share_the_invoices(world: World) -> None:
    world.faults(SLOW)
    async with worker(world.env) as first, worker(world.env) as second:
        await first.says("worker.started")
        await second.says("worker.started")
        await world.until(lambda: registered(world) == 2)
        ids = await prepared(world, 60)
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)
    actors = world.sql("SELECT DISTINCT actor FROM anchorhold.attempt")
    assert len(actors) == 2


def registered(world: World) -> int:
    """How many workers Procrastinate knows."""
    ((number,),) = world.sql("SELECT count(*) FROM anchorhold.procrastinate_workers")
    return int(number)


@pytest_asyncio.fixture
async def embedded(twin_server: TwinServer) -> AsyncGenerator[World]:
    """A world on an embedded server of its own."""
    with own_folder() as folder:
        conninfo = postgres.start(folder / "postgres").conninfo
        upgrade(conninfo)
        env = without_url(environment(conninfo, twin_server.url, folder))
        async with made_world(env, twin_server) as made:
            yield made
        postgres.stop(folder / "postgres")


def without_url(env: Mapping[str, str]) -> dict[str, str]:
    """The same with the embedded database."""
    return {name: value for name, value in env.items() if name != "ANCHORHOLD_DATABASE_URL"}


async def test_a_worker_outlives_its_database_and_starts_the_embedded_one_again(
    embedded: World,
) -> None:
    ids = await prepared(embedded, 60)
    folder = Path(embedded.env["ANCHORHOLD_DATA_DIR"]) / "postgres"
    embedded.faults(SLOW)
    async with worker(embedded.env) as survivor:
        await embedded.until(lambda: embedded.confirms() >= 8)
        postmaster = postgres.status(folder).pid
        assert postmaster
        os.kill(postmaster, signal.SIGKILL)
        await survivor.says("database.gone")
        await embedded.until(embedded.settled)
        assert survivor.alive
        survivor.signal(signal.SIGTERM)
        assert await survivor.ended() == 0
    assert embedded.paid() == dict.fromkeys(ids, 1)


@contextmanager
def read_only(world: World) -> Generator[None]:
    """Sessions that begin inside the block can only read, and do so until they end."""
    alter(world, "ALTER DATABASE {} SET default_transaction_read_only = on")
    try:
        yield
    finally:
        alter(world, "ALTER DATABASE {} RESET default_transaction_read_only")


def alter(world: World, statement: LiteralString) -> None:
    """The statement about the database itself has run, also in one that only reads."""
    writes = "-c default_transaction_read_only=off"
    with psycopg.connect(world.app.conninfo, autocommit=True, options=writes) as conn:
        conn.execute(sql.SQL(statement).format(sql.Identifier(conn.info.dbname)))


async def test_case_p1_a_worker_that_starts_on_a_standby_charges_when_it_is_promoted(
    world: World,
) -> None:
    ids = await prepared(world, 4)
    async with AsyncExitStack() as until_the_end:
        with read_only(world):
            survivor = await until_the_end.enter_async_context(worker(world.env))
            await survivor.says("worker.database_lost")
        await world.until(world.settled)
        assert survivor.alive
    assert world.paid() == dict.fromkeys(ids, 1)


async def test_where_the_data_folder_was_taken_away_a_worker_makes_no_empty_database(
    embedded: World,
) -> None:
    folder = Path(embedded.env["ANCHORHOLD_DATA_DIR"]) / "postgres"
    elsewhere = folder.with_name("elsewhere")
    async with worker(embedded.env) as survivor:
        await survivor.says("worker.started")
        folder.rename(elsewhere)
        try:
            gone = await survivor.says("database.gone")
            assert gone["refused"] == f"No database is in {folder} any more."
            assert not folder.exists()
        finally:
            elsewhere.rename(folder)
        survivor.signal(signal.SIGTERM)
        assert await survivor.ended() == 0
