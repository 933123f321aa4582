"""The composition root: from the settings, everything that a process needs.

The only place where rooms are put together; every start refuses here what cannot work.
"""

import asyncio
import getpass
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from anchorhold import logs, postgres
from anchorhold import settings as all_settings
from anchorhold.apart import OwnTasks
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.deps import Deps, Log
from anchorhold.lanes import Lanes, checks_at_once
from anchorhold.meter import UNMETERED, Meter
from anchorhold.providers import StripeProviders, Wires
from anchorhold.settings import Settings
from anchorhold.store import db as databases
from anchorhold.store import schema
from anchorhold.stripe.breaker import Breaker, BreakerState, BreakerView
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport


@dataclass(frozen=True, slots=True)
class App:
    """A process's own things, open until `open_app` ends. `secret_key` opens stored secrets."""

    settings: Settings
    conninfo: str = field(repr=False)
    secret_key: bytes = field(repr=False)
    providers: StripeProviders
    wires: Wires
    deps: Deps
    meter: Meter


def worker_actor() -> str:
    """How a worker process signs what it does."""
    return f"worker:{socket.gethostname()}:{os.getpid()}"


def operator_actor() -> str:
    """How a person at a terminal signs what they do."""
    try:
        return f"operator:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"operator:{os.getuid()}"


@asynccontextmanager
async def open_app(
    settings: Settings, *, actor: str, migrate: bool = False, meter: Meter | None = None
) -> AsyncGenerator[App]:
    """The process's `App`; with `migrate` the schema is brought to this version first.

    `meter` is told what this process does.
    Raises Refusal: embedded_database_failed, database_unreachable, database_password_wrong,
    schema_outdated, schema_newer, secret_key_missing, secret_key_unreadable, data_dir_unwritable.
    """
    secret_key = all_settings.secret_key(settings)
    conninfo = await asyncio.to_thread(database, settings)
    await asyncio.to_thread(_ready, conninfo, migrate=migrate)
    log = logs.logger()
    meter = meter or UNMETERED
    wires = _wires(settings, log, meter)
    try:
        async with databases.connect(conninfo, size=settings.database_pool) as db:
            await schema.require_current(db)
            providers = StripeProviders(db, secret_key, wires, log)
            lanes = Lanes(checks_at_once(settings))
            deps = Deps(db, providers, settings.timing, log, actor, lanes, OwnTasks())
            yield App(settings, conninfo, secret_key, providers, wires, deps, meter)
    finally:
        await wires.transport.close_async()


def database(settings: Settings) -> str:
    """How libpq reaches the database; the embedded one runs now, also if it was killed before.

    This process stays one of its users until it ends. Blocks. Raises Refusal
    (embedded_database_failed).
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    try:
        return postgres.start(settings.postgres_dir).conninfo
    except postgres.PostgresError as error:
        raise Refusal(
            Code.EMBEDDED_DATABASE_FAILED, reason=error.sentence, advice=error.next_step
        ) from error


def _ready(conninfo: str, *, migrate: bool) -> None:
    databases.probe(conninfo)
    if migrate:
        from anchorhold.store.migrate import upgrade  # noqa: PLC0415 - Alembic costs 0.2 s

        upgrade(conninfo)


def _wires(settings: Settings, log: Log, meter: Meter) -> Wires:
    return Wires(
        transport=Transport(connections=max(64, 2 * settings.worker_concurrency)),
        breaker=Breaker(on_turn=lambda view: _told(log, view)),
        limiter=Limiter(
            per_endpoint=settings.stripe_rate_per_endpoint, per_account=settings.stripe_rate
        ),
        base=settings.stripe_api_base,
        observe=meter.called,
    )


def _told(log: Log, view: BreakerView) -> None:
    """The log knows when this process stopped sending charges, and when it began again."""
    if view.state is BreakerState.CLOSED:
        log.info("breaker.closed", next_step="charges are sent again")
    else:
        log.error("breaker.opened", unreached_in_a_row=view.failures, probe_in_s=view.opens_in_s)
