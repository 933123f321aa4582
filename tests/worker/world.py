"""One connected account on a real database, and its Stripe: the twin over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from anchorhold.app import App, open_app
from anchorhold.domain.ids import ACCOUNT as ACCOUNT_ID
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.entropy import new_id
from anchorhold.providers import new_connection
from anchorhold.settings import load
from anchorhold.store import accounts, customers, invoices
from anchorhold.store.db import Db
from anchorhold.store.invoices import NewInvoice
from anchorhold.twin import ACCOUNT, SECRET_KEY, Rule, Twin
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.server import TwinServer

SECRET = "YW5jaG9yaG9sZCB0ZXN0cyBvbmx5LCAzMiBieXRlcyE="
SHORT = {
    "ANCHORHOLD_HOLD_SECONDS": "6",
    "ANCHORHOLD_MIN_LEFT_SECONDS": "3",
    "ANCHORHOLD_CALL_BOUND_SECONDS": "3",
    "ANCHORHOLD_DEADLINE_AUTO_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_COLLECT_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_DUNNING_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_MARGIN_SECONDS": "0.5",
    "ANCHORHOLD_CHECK_CUT_SECONDS": "2",
    "ANCHORHOLD_RECHECK_SECONDS": "2",
    "ANCHORHOLD_TICK_SECONDS": "1",
    "ANCHORHOLD_STRIPE_RATE": "10000",
    "ANCHORHOLD_STRIPE_RATE_PER_ENDPOINT": "10000",
}
"""Times so short that a test sees holds end, and no rate limit."""


def environment(database: str, twin_url: str, folder: Path) -> dict[str, str]:
    """The variables of a process that uses the database and the twin."""
    return {
        **SHORT,
        "ANCHORHOLD_DATABASE_URL": url_of(database),
        "ANCHORHOLD_STRIPE_API_BASE": twin_url,
        "ANCHORHOLD_DATA_DIR": str(folder),
        "ANCHORHOLD_SECRET_KEY": SECRET,
        "ANCHORHOLD_WEBHOOK_PRIVATE_NETWORKS": "127.0.0.0/8",
    }


def url_of(conninfo: str) -> str:
    """The same address as a URL, as the setting wants it."""
    parts = conninfo_to_dict(conninfo)
    query = urlencode({name: parts[name] for name in ("host", "port") if parts.get(name)})
    return f"postgresql://{parts.get('user', '')}@/{parts.get('dbname', '')}?{query}"


@dataclass(frozen=True, slots=True)
class World:
    """An account in test mode, its process-wide things, and Stripe's side of it."""

    app: App
    scope: Scope
    server: TwinServer
    env: Mapping[str, str]

    @property
    def twin(self) -> Twin:
        """Stripe."""
        return self.server.twin

    def faults(self, *rules: Rule) -> None:
        """From now on Stripe has these faults and no others."""
        self.twin.faults.replace(rules)

    async def invoices(self, count: int, *, prefix: str = "R") -> list[InvoiceId]:
        """So many due invoices, each of a customer of its own with a good card."""
        return await due_invoices(self.app.deps.db, self.scope, count, prefix)

    def paid(self) -> dict[str, int]:
        """How many successes stand at Stripe, by invoice."""
        return Ledger(self.twin).paid()

    def confirms(self) -> int:
        """How many confirms reached Stripe."""
        return sum(entry.path.endswith("/confirm") for entry in self.twin.requests)

    def sql(self, statement: LiteralString, *values: object) -> list[Any]:
        """The rows of any statement, outside of the program."""
        with psycopg.connect(self.app.conninfo, autocommit=True) as conn:
            cursor = conn.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def state(self) -> object:
        """Everything that the product knows about invoices, attempts, intents and payments."""
        return self.sql(
            """
            SELECT (SELECT jsonb_agg(to_jsonb(i) - 'checked_at' - 'check_until'
                                     ORDER BY i.id) FROM anchorhold.invoice i),
                   (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.id) FROM anchorhold.attempt a),
                   (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.invoice_id) FROM anchorhold.intent t),
                   (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.id) FROM anchorhold.payment p),
                   (SELECT count(*) FROM anchorhold.journal)
            """
        )

    def settled(self) -> bool:
        """Every invoice is paid and none is held."""
        try:
            ((open_,),) = self.sql(
                "SELECT count(*) FROM anchorhold.invoice "
                "WHERE status <> 'paid' OR hold_until IS NOT NULL"
            )
        except psycopg.OperationalError:  # a test killed the server
            return False
        return open_ == 0

    async def until(self, holds: Callable[[], bool], patience_s: float = 40) -> None:
        """`holds` is true; looked at a few times a second."""
        async with asyncio.timeout(patience_s):
            while not holds():  # noqa: ASYNC110 - other processes change what is looked at
                await asyncio.sleep(0.1)


async def due_invoices(db: Db, scope: Scope, count: int, prefix: str = "R") -> list[InvoiceId]:
    """So many due invoices, each of a customer of its own with a good card."""
    due = datetime.now(UTC) - timedelta(days=1)
    rows = [
        NewInvoice(f"{prefix}{n}", f"{prefix}{n}", "c@example.com", "pm_card_visa", 990, "eur", due)
        for n in range(count)
    ]
    taken = await invoices.take_in(db, scope, rows, actor="test")
    for row in taken:
        await customers.begin(
            db,
            scope,
            row.customer_id,
            params={"email": "c@example.com"},
            stripe_customer_id=None,
            payment_method="pm_card_visa",
        )
    return [row.id for row in taken]


async def connect_account(app: App, name: str = "default") -> Scope:
    """A new account in test mode, connected to the twin's first Stripe account."""
    scope = Scope(new_id(ACCOUNT_ID), livemode=False)
    await accounts.create(app.deps.db, scope.account_id, name)
    connection = new_connection(app.secret_key, scope, SECRET_KEY, ACCOUNT)
    await accounts.connect(app.deps.db, scope, connection)
    return scope


@asynccontextmanager
async def world(env: Mapping[str, str], server: TwinServer, **more: str) -> AsyncGenerator[World]:
    """A world of these variables; `more` are variables without their beginning."""
    env = {**env, **{f"ANCHORHOLD_{name}": value for name, value in more.items()}}
    async with open_app(load(env), actor="worker:test") as app:
        yield World(app, await connect_account(app), server, env)
