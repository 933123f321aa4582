"""Jobs are only wake-ups: lost, doubled, late or from the dead, the rows come out the same."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import LiteralString

import procrastinate
import pytest
import pytest_asyncio
from typing_extensions import override

from anchorhold.domain.hold import Claim
from anchorhold.domain.scope import Scope
from anchorhold.engine.charge import Charged, charge
from anchorhold.engine.deps import Deps
from anchorhold.engine.tick import Ticked
from anchorhold.engine.tick import tick as real_tick
from anchorhold.postman import SigningPostman
from anchorhold.twin import FaultKind, Rule
from anchorhold.twin.server import TwinServer
from anchorhold.webhooks.sender import Sender
from anchorhold.worker import charges as charging
from anchorhold.worker import jobs as jobbing
from anchorhold.worker import run as running
from anchorhold.worker.charges import Charges
from anchorhold.worker.jobs import JobWake, Shift, Tasks, connect_jobs
from anchorhold.worker.run import work
from anchorhold.worker.stop import Stop
from tests.worker.world import World, connect_account, due_invoices
from tests.worker.world import world as made_world

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
RETRIEVE = "GET /v1/payment_intents/{id}"
SLOWLY = Rule(FaultKind.SLOW, CONFIRM, probability=1, seconds=0.2)


@asynccontextmanager
async def working(world: World) -> AsyncGenerator[None]:
    """A worker works in this process; it has stopped gracefully at the end."""
    stop = Stop()
    at_work = asyncio.create_task(work(world.app, stop))
    try:
        yield
    finally:
        stop.request()
        await at_work


@pytest_asyncio.fixture
async def jobs(world: World) -> AsyncGenerator[procrastinate.App]:
    """Procrastinate's tables, with nobody at work."""
    async with connect_jobs(world.app.conninfo).open_async() as app:
        yield app


def tasks_of(world: World, jobs: procrastinate.App) -> Tasks:
    """The tasks as a worker has them."""
    postman = SigningPostman(world.app.secret_key, Sender())
    shift = Shift(world.app.deps, Charges(), world.app.wires.breaker, Stop(), 8, postman)
    tasks = Tasks(jobs, shift)
    tasks.register("0 0 1 1 *")
    return tasks


async def test_a_worker_collects_what_is_due_and_stops_when_asked(world: World) -> None:
    ids = await world.invoices(20)
    async with working(world):
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)


async def test_all_jobs_thrown_away_in_the_middle_lose_nothing(world: World) -> None:
    ids = await world.invoices(60)
    world.faults(SLOWLY)
    async with working(world):
        await world.until(lambda: 0 < len(world.paid()) < len(ids))
        for _ in range(10):
            await deleted(world, "DELETE FROM anchorhold.procrastinate_jobs")
            await asyncio.sleep(SLOWLY.seconds / 5)
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)


class Twice(Tasks):
    """Every job is run three times: twice at once, and once more."""

    @override
    async def collect(self, *, account_id: str, livemode: bool) -> None:
        once = super().collect
        await asyncio.gather(*(once(account_id=account_id, livemode=livemode) for _ in range(2)))
        await once(account_id=account_id, livemode=livemode)

    @override
    async def check(self, *, account_id: str, livemode: bool) -> None:
        once = super().check
        await asyncio.gather(*(once(account_id=account_id, livemode=livemode) for _ in range(2)))
        await once(account_id=account_id, livemode=livemode)

    @override
    async def tick(self, timestamp: int) -> None:
        await asyncio.gather(super().tick(timestamp), super().tick(timestamp))
        await super().tick(timestamp)


async def test_every_job_run_twice_and_twice_at_once_charges_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "Tasks", Twice)
    ids = await world.invoices(30)
    async with working(world):
        await world.until(world.settled)
        before = world.state()
        ticks = ticks_of(world)
        await world.until(lambda: ticks_of(world) > ticks + 1)
        assert world.state() == before
    assert world.paid() == dict.fromkeys(ids, 1)
    assert world.confirms() == 30


def ticks_of(world: World) -> int:
    """The second for which the newest tick was deferred."""
    ((newest,),) = world.sql(
        "SELECT max(defer_timestamp) FROM anchorhold.procrastinate_periodic_defers "
        "WHERE task_name = 'tick'"
    )
    return int(newest or 0)


async def test_jobs_that_ended_are_gone(world: World, jobs: procrastinate.App) -> None:
    await world.invoices(10)
    async with working(world):
        await world.until(world.settled)
    left = world.sql(
        "SELECT task_name FROM anchorhold.procrastinate_jobs "
        "WHERE status <> 'todo' OR (scheduled_at IS NULL AND task_name = 'check')"
    )
    assert left == []


async def test_an_account_that_fails_does_not_stop_another(
    world: World, jobs: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await connect_account(world.app, "other")
    ticked: list[Scope] = []

    async def fails_for_one(deps: Deps, scope: Scope) -> Ticked:
        if scope == world.scope:
            raise RuntimeError("a bug")
        ticked.append(scope)
        return await real_tick(deps, scope)

    monkeypatch.setattr(jobbing, "tick", fails_for_one)
    await tasks_of(world, jobs).tick(0)
    assert ticked == [other]


async def test_a_tick_asks_for_a_batch_of_every_account_and_mode(
    world: World, jobs: procrastinate.App
) -> None:
    other = await connect_account(world.app, "other")
    tasks = tasks_of(world, jobs)
    await tasks.tick(0)
    await tasks.tick(0)
    rows = world.sql("SELECT args->>'account_id', task_name FROM anchorhold.procrastinate_jobs")
    assert sorted(rows) == sorted((scope.account_id, "collect") for scope in (world.scope, other))


async def test_however_many_ask_one_batch_waits_and_one_check_per_moment(
    world: World, jobs: procrastinate.App
) -> None:
    tasks_of(world, jobs)
    at = datetime(2100, 1, 1, tzinfo=UTC)
    for _ in range(3):
        wake = JobWake(jobs, world.app.deps)
        for _ in range(3):
            await wake.collect(world.scope)
            await wake.check(world.scope, at=at)
    rows = world.sql("SELECT task_name, scheduled_at FROM anchorhold.procrastinate_jobs")
    assert sorted(rows, key=str) == [("check", at), ("collect", None)]


async def test_a_later_wake_up_comes_after_the_last_who_asked_for_it(
    world: World, jobs: procrastinate.App
) -> None:
    tasks_of(world, jobs)
    wake = JobWake(jobs, world.app.deps)
    for seconds in (31, 61, 61, 31):
        await wake.collect(world.scope, in_s=seconds)
    rows = world.sql(
        "SELECT scheduled_at > now() + interval '61 seconds',"
        "       scheduled_at > now() + interval '31 seconds' FROM anchorhold.procrastinate_jobs"
    )
    assert sorted(rows) == [(False, True), (True, True)]


async def test_the_job_of_a_dead_worker_is_run_again(world: World, jobs: procrastinate.App) -> None:
    tasks = tasks_of(world, jobs)
    await tasks.wake.collect(world.scope)
    manager = jobs.job_manager
    worker_id = await manager.register_worker()
    job = await manager.fetch_job(queues=None, worker_id=worker_id)
    assert job
    await tasks.take_over(0)
    assert statuses(world) == ["doing"]
    silent(world)
    await tasks.take_over(0)
    assert statuses(world) == ["todo"]


async def test_the_job_of_a_dead_worker_is_dropped_when_another_waits_for_the_same(
    world: World, jobs: procrastinate.App
) -> None:
    tasks = tasks_of(world, jobs)
    await tasks.wake.collect(world.scope)
    manager = jobs.job_manager
    await manager.fetch_job(queues=None, worker_id=await manager.register_worker())
    await tasks.wake.collect(world.scope)
    silent(world)
    await tasks.take_over(0)
    assert statuses(world) == ["todo"]


def silent(world: World) -> None:
    """No worker has been heard of for a minute."""
    world.sql(
        "UPDATE anchorhold.procrastinate_workers "
        "SET last_heartbeat = last_heartbeat - interval '1 minute'"
    )


def statuses(world: World) -> list[str]:
    """The status of each job."""
    rows = world.sql("SELECT status::text FROM anchorhold.procrastinate_jobs ORDER BY id")
    return [status for (status,) in rows]


async def test_several_accounts_are_collected_side_by_side(world: World) -> None:
    other = await connect_account(world.app, "other")
    first = await world.invoices(10)
    second = await due_invoices(world.app.deps.db, other, 10, "O")
    async with working(world):
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys([*first, *second], 1)


async def test_a_worker_that_its_peers_took_for_dead_registers_again(world: World) -> None:
    async with working(world):
        await world.until(lambda: registered(world) == 1)
        ids = await world.invoices(5)
        await deleted(world, "DELETE FROM anchorhold.procrastinate_workers")
        await world.until(world.settled)
    assert world.paid() == dict.fromkeys(ids, 1)


async def deleted(world: World, statement: LiteralString) -> None:
    """Rows are gone that a worker in this very loop may hold locked until the loop goes on."""
    await asyncio.to_thread(world.sql, statement)


def registered(world: World) -> int:
    """How many workers Procrastinate knows."""
    ((number,),) = world.sql("SELECT count(*) FROM anchorhold.procrastinate_workers")
    return int(number)


async def test_a_job_that_is_aborted_does_not_take_its_charges_with_it(
    world: World, jobs: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(deps: Deps, claim: Claim) -> Charged:
        begun.set()
        await goes_on.wait()
        return await charge(deps, claim)

    monkeypatch.setattr(charging, "charge", slow)
    (invoice,) = await world.invoices(1)
    stop = Stop()
    at_work = asyncio.create_task(work(world.app, stop))
    await begun.wait()
    ((job_id,),) = world.sql(
        "SELECT id FROM anchorhold.procrastinate_jobs "
        "WHERE task_name = 'collect' AND status = 'doing'"
    )
    await jobs.job_manager.cancel_job_by_id_async(job_id, abort=True)
    await world.until(lambda: "doing" not in statuses(world))
    stop.request()
    _, pending = await asyncio.wait({at_work}, timeout=0.5)
    assert pending
    goes_on.set()
    await at_work
    assert world.paid() == {invoice: 1}
    assert world.settled()


async def test_a_lost_answer_does_not_wait_for_the_tick(
    env: dict[str, str], twin_server: TwinServer
) -> None:
    async with made_world(env, twin_server, TICK_SECONDS="3600") as world:
        (invoice,) = await world.invoices(1)
        world.faults(
            Rule(FaultKind.DROPPED_AFTER, CONFIRM, frozenset({1})),
            Rule(FaultKind.ERROR_500_WITHOUT_EFFECT, RETRIEVE, frozenset({1})),
        )
        async with working(world):
            await world.until(world.settled)
        assert world.paid() == {invoice: 1}
        assert world.sql("SELECT source FROM anchorhold.payment") == [("sweep",)]
