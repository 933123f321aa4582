"""A worker process, from its start to its end."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final

import procrastinate
import psycopg
import uvloop
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker
from psycopg_pool import PoolTimeout

from anchorhold import logs, postgres
from anchorhold.app import App, database, open_app, worker_actor
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.meter import UNMETERED, Meter
from anchorhold.postman import SigningPostman
from anchorhold.settings import Settings
from anchorhold.threads import in_daemon
from anchorhold.webhooks.sender import Sender
from anchorhold.worker.charges import Charges
from anchorhold.worker.jobs import HEARTBEAT_S, STALLED_S, Shift, Tasks, connect_jobs
from anchorhold.worker.schedule import cron_of
from anchorhold.worker.stop import Stop, first_of

JOBS: Final = 4
"""So many jobs run at once in one process."""
POLL_S: Final = 5
"""Scheduled jobs announce themselves to nobody: how often a worker looks for them at least."""
LOOK_AT_SERVER_S: Final = 1
AGAIN_S: Final = 1

DATABASE_LOST: Final = (
    ConnectorException,
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    PoolTimeout,
)
"""A server that is away, that cuts a session, or that only reads: a standby, until promoted."""


Beside = Callable[[App], AbstractAsyncContextManager[object]]
"""What is open while a worker works: a listener, say."""


def main(settings: Settings, *, meter: Meter = UNMETERED, beside: Beside = nullcontext) -> None:
    """`run` on uvloop."""
    uvloop.run(run(settings, meter=meter, beside=beside))


async def run(
    settings: Settings, *, meter: Meter = UNMETERED, beside: Beside = nullcontext
) -> None:
    """A worker until SIGTERM or SIGINT: running charges end, then this returns.

    A second signal raises KeyboardInterrupt at once; the sweep finds out about the charges that
    were cut. Raises Refusal: settings_invalid (a tick that has no cron line), all of `open_app`.
    """
    cron_of(settings.timing.tick_seconds)
    stop = Stop()
    async with open_app(settings, actor=worker_actor(), meter=meter) as app:
        logs.adopt_libraries(app.deps.log)
        with stop.on_signals():
            async with beside(app):
                await work(app, stop)


async def work(app: App, stop: Stop) -> None:
    """Jobs are done until `stop` asks; charges that run then have ended when this returns.

    Survives a database that goes away and comes back, and starts the embedded one again. Raises
    KeyboardInterrupt when `stop` asks twice.
    """
    charges = Charges(app.meter)
    log = app.deps.log
    log.info("worker.started", actor=app.deps.actor, batch=batch_of(app.settings))
    async with _server_kept(app):
        while not stop.asked:
            if lost := await _lost(_do_jobs(app, stop, charges)):
                log.error("worker.database_lost", reason=lost)
            if not stop.asked:
                await stop.pause(AGAIN_S)
        await _let_end(charges, stop)
    if stop.at_once:
        log.error("worker.stopped_at_once", charges_left_to_the_sweep=charges.running)
        raise KeyboardInterrupt
    log.info("worker.stopped")


def batch_of(settings: Settings) -> int:
    """How many charges one job starts.

    All jobs together no more than ANCHORHOLD_WORKER_CONCURRENCY, and no more than may be sent in
    the first fifth of a hold (a minute of five), or half of what the re-check leaves of it.
    """
    timing = settings.timing
    window_s = min(timing.hold_seconds / 5, (timing.hold_seconds - timing.min_left_seconds) / 2)
    sendable = settings.stripe_rate_per_endpoint * window_s
    return max(1, int(min(settings.worker_concurrency, sendable) / JOBS))


async def _lost(doing: Awaitable[None]) -> str | None:
    """Why the database was lost while jobs were done, or None if it was not."""
    try:
        await doing
    except DATABASE_LOST as error:
        return str(error.__cause__ or error)
    except Refusal as refusal:
        if refusal.code is not Code.DATABASE_UNREACHABLE:
            raise
        return refusal.sentence
    return None


async def _do_jobs(app: App, stop: Stop, charges: Charges) -> None:
    """Until `stop` asks and running jobs have ended, or it asks twice, or the database is lost."""
    jobs = connect_jobs(app.conninfo)
    sender = Sender(app.settings.webhook_private_networks)
    postman = SigningPostman(app.secret_key, sender)
    batch = batch_of(app.settings)
    kept_days = app.settings.event_deliveries_kept_days
    shift = Shift(app.deps, charges, app.wires.breaker, stop, batch, postman, app.meter, kept_days)
    tasks = Tasks(jobs, shift)
    tasks.register(cron_of(app.settings.timing.tick_seconds))
    try:
        if not await stop.unless(_begin(jobs, tasks)):
            return
        worker = Worker(
            jobs,
            concurrency=JOBS,
            fetch_job_polling_interval=min(POLL_S, app.settings.timing.hold_seconds / 10),
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=HEARTBEAT_S,
            stalled_worker_timeout=STALLED_S,
        )
        await _run_until(worker, stop)
    finally:
        await sender.close()
        await jobs.close_async()


async def _begin(jobs: procrastinate.App, tasks: Tasks) -> bool:
    """The jobs can be done; waits for a database that is away, so that it may be cut."""
    await jobs.open_async()
    await tasks.begin()
    return True


async def _run_until(worker: Worker, stop: Stop) -> None:
    running = asyncio.create_task(worker.run())
    ended = asyncio.create_task(asyncio.wait({running}))
    await first_of(asyncio.shield(ended), stop.wait())
    worker.stop()
    await first_of(asyncio.shield(ended), stop.wait_at_once())
    if running.done():
        running.result()
    else:
        running.cancel()


async def _let_end(charges: Charges, stop: Stop) -> None:
    await first_of(charges.finished(), stop.wait_at_once())


@asynccontextmanager
async def _server_kept(app: App) -> AsyncGenerator[None]:
    """Inside the block the embedded server is started again whenever it is gone."""
    if not app.settings.embedded:
        yield
        return
    keeping = asyncio.create_task(_keep_server(app))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _keep_server(app: App) -> None:
    folder = app.settings.postgres_dir
    while True:
        await asyncio.sleep(LOOK_AT_SERVER_S)
        if (await in_daemon(lambda: postgres.status(folder))).running:
            continue
        refused = await in_daemon(lambda: _start_again(app))
        app.deps.log.error("database.gone", folder=str(folder), refused=refused)


def _start_again(app: App) -> str | None:
    """Why the embedded server could not be started again, or None: it answers.

    A folder that was moved or unmounted gets no new and empty database.
    """
    folder = app.settings.postgres_dir
    if not postgres.holds_database(folder):
        return f"No database is in {folder} any more."
    try:
        database(app.settings)
    except Refusal as refusal:
        return refusal.sentence
    return None
