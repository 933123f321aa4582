"""`anchorhold up`: everything in one process, until Ctrl-C."""

import asyncio
import errno
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Final

import typer
from psycopg.conninfo import conninfo_to_dict

from anchorhold import logs
from anchorhold import settings as all_settings
from anchorhold.app import App, open_app, worker_actor
from anchorhold.cli.account import DEFAULT
from anchorhold.cli.call import Call, lone, verb
from anchorhold.cli.connecting import connect
from anchorhold.cli.db import bring_up, reach
from anchorhold.cli.objects import Object
from anchorhold.cli.output import line, show_one
from anchorhold.cli.session import load_settings
from anchorhold.cli.twin import new_seed
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.metrics import Meters
from anchorhold.settings import STRIPE_API_BASE, Settings
from anchorhold.store import accounts
from anchorhold.twin import ACCOUNT, SECRET_KEY, Twin, account_of
from anchorhold.twin.server import TwinServer
from anchorhold.twin.server import serve as serve_twin
from anchorhold.web import metrics, serving
from anchorhold.web.beside import beside
from anchorhold.web.site import site
from anchorhold.worker.bell import bell
from anchorhold.worker.run import work
from anchorhold.worker.schedule import cron_of
from anchorhold.worker.stop import Stop

app = lone()

TWIN_PORT: Final = 8430
TWIN_NOTE: Final = " (a twin: it forgets all at the end)"


@verb(
    app,
    "up",
    "anchorhold up",
    "ANCHORHOLD_STRIPE_KEY=sk_test_… anchorhold up",
    scoped=False,
)
async def up(
    call: Call,
    *,
    twin_port: Annotated[
        int,
        typer.Option("--twin-port", min=0, max=65_535, help="Where the twin listens; 0: anywhere."),
    ] = TWIN_PORT,
) -> None:
    """Start everything in this process, until Ctrl-C: database, schema, account, worker, health.

    Without ANCHORHOLD_DATABASE_URL the database is a PostgreSQL in ANCHORHOLD_DATA_DIR. Without a
    Stripe key, and unless ANCHORHOLD_STRIPE_API_BASE points somewhere, requests go to a Stripe
    twin in this process, which forgets everything when it stops.
    """
    settings = load_settings()
    cron_of(settings.timing.tick_seconds)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(serving.bind(settings.listen))
        apart = metrics.bind(settings)
        twin = None
        if await _needs_twin(settings):
            twin = await stack.enter_async_context(_twin(twin_port))
            settings = _with_twin(twin)
        meters = Meters()
        process = await stack.enter_async_context(
            open_app(settings, actor=worker_actor(), meter=meters)
        )
        text = metrics.exposition(process, meters).text
        logs.adopt_libraries(process.deps.log)
        account = await _first_account(process)
        host, port = listener.getsockname()[:2]
        _show(call, process, account, f"http://{host}:{port}", twin)
        stop = Stop()
        with stop.on_signals():
            workers = await stack.enter_async_context(bell(process))
            web = site(process, workers.ring, None if apart else text, workers.due)
            async with (
                beside(serving.serve(web, listener), ended=stop.request),
                metrics.served(process, text, apart),
            ):
                await work(process, stop)


async def _needs_twin(settings: Settings) -> bool:
    """The schema is this version's now, and nothing says which Stripe is meant."""
    all_settings.secret_key(settings)
    await asyncio.to_thread(lambda: bring_up(reach(settings)))
    async with open_app(settings, actor=worker_actor()) as process:
        rows = await accounts.all_accounts(process.deps.db)
    elsewhere = settings.stripe_api_base != STRIPE_API_BASE or settings.stripe_key is not None
    owners = [row.stripe_account for row in rows if row.stripe_account]
    connected = any(not owner.startswith(ACCOUNT) for owner in owners)
    return not elsewhere and not connected


@asynccontextmanager
async def _twin(port: int) -> AsyncGenerator[TwinServer]:
    try:
        seed = new_seed()
        server = await serve_twin(Twin(seed=seed, account=account_of(seed)), port=port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise Refusal(Code.TWIN_PORT_TAKEN, listen=f"127.0.0.1:{port}") from error
    try:
        yield server
    finally:
        await server.stop()


def _with_twin(twin: TwinServer) -> Settings:
    """The settings of the environment, with the twin as Stripe."""
    base = {"ANCHORHOLD_STRIPE_API_BASE": twin.url, "ANCHORHOLD_STRIPE_KEY": SECRET_KEY}
    return all_settings.load({**os.environ, **base})


async def _first_account(process: App) -> str:
    """The name of an account that is connected; made and connected now if there was none.

    Refuses when there is none and no key either (STRIPE_KEY_MISSING).
    """
    rows = await accounts.all_accounts(process.deps.db)
    names = sorted({row.name for row in rows})
    if process.settings.stripe_key is not None and len(names) <= 1:
        name = names[0] if names else DEFAULT
        await connect(process, name, process.settings.stripe_key.get_secret_value())
        return name
    connected = [row.name for row in rows if row.stripe_account]
    if not connected:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    return connected[0]


def _show(call: Call, process: App, account: str, url: str, twin: TwinServer | None) -> None:
    data: Object = {
        "object": "process",
        "id": process.deps.actor,
        "url": url,
        "database": _database(process),
        "stripe_api_base": process.wires.base,
        "account": account,
        "twin": twin.url if twin else None,
    }

    def screen() -> None:
        print("Anchorhold is up; Ctrl-C stops it.")
        line("Health", f"{url}/healthz  {url}/readyz")
        line("Database", _database(process))
        line("Stripe", process.wires.base + (TWIN_NOTE if twin else ""))
        line("Account", account)
        line("Worker", process.deps.actor)
        if twin:
            line("Elsewhere", f"export ANCHORHOLD_STRIPE_API_BASE={twin.url}")
        line("Pages", f"{url}/pay/…; `anchorhold invoice link INVOICE` makes one")
        line("Next", "anchorhold invoice import FILE.csv, in another terminal")

    show_one(call, process.deps.actor, data, screen)
    sys.stdout.flush()


def _database(process: App) -> str:
    """Where the database is, without its password."""
    if process.settings.embedded:
        return f"PostgreSQL in {process.settings.postgres_dir}"
    parts = conninfo_to_dict(process.conninfo)
    host, port = parts.get("host") or "localhost", parts.get("port") or 5432
    return f"PostgreSQL at {host}:{port}, database {parts.get('dbname')}"
