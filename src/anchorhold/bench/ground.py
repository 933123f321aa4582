"""The database that a measurement runs on: durable, embedded, full of prepared invoices."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, LiteralString

import psycopg

from anchorhold import postgres
from anchorhold.domain.ids import AccountId
from anchorhold.domain.scope import Scope
from anchorhold.store import accounts
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import PoolDb, connect
from anchorhold.store.migrate import upgrade
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT

SCOPE = Scope(AccountId("acc_bench"), livemode=False)

CARDS: Final = tuple(f"pm_{n}" for n in range(100))

EMPTY: LiteralString = """
    TRUNCATE anchorhold.journal, anchorhold.notice, anchorhold.payment, anchorhold.attempt,
             anchorhold.intent, anchorhold.invoice, anchorhold.stripe_customer,
             anchorhold.customer CASCADE
"""
CUSTOMERS: LiteralString = """
    INSERT INTO anchorhold.customer (account_id, livemode, id, reference, payment_method)
    SELECT 'acc_bench', false, 'cus_' || n, 'customer ' || n, 'pm_card_visa'
      FROM generate_series(1, 1000) n
"""
STRIPE_CUSTOMERS: LiteralString = """
    INSERT INTO anchorhold.stripe_customer
           (account_id, livemode, customer_id, stripe_account, params, stripe_customer_id,
            requested_method, payment_method)
    SELECT 'acc_bench', false, 'cus_' || n, %(stripe_account)s, '{}', 'cus_s' || n,
           'pm_card_visa', (%(cards)s::text[])[1 + mod(n, cardinality(%(cards)s::text[]))]
      FROM generate_series(1, 1000) n
"""
INVOICES: LiteralString = """
    INSERT INTO anchorhold.invoice
           (account_id, livemode, id, customer_id, reference, currency, amount_due, status,
            intent_id, due_at, next_attempt_at)
    SELECT 'acc_bench', false, 'inv_' || lpad(n::text, 26, '0'), 'cus_' || 1 + mod(n, 1000),
           'R' || n, 'eur', 1000, 'open', 'pi_' || n, d.at, d.at
      FROM generate_series(1, %(count)s) n,
           LATERAL (SELECT now() - make_interval(secs => n) AS at) d
"""
INTENTS: LiteralString = """
    INSERT INTO anchorhold.intent
           (account_id, livemode, invoice_id, number, stripe_intent_id, idempotency_key, params,
            amount, currency, stripe_account, state)
    SELECT account_id, livemode, id, 1, intent_id, 'key of ' || id, '{}', amount_due, currency,
           %(stripe_account)s, 'live'
      FROM anchorhold.invoice
"""


@dataclass(frozen=True, slots=True)
class Ground:
    """A running server with the schema, and the account that is measured."""

    conninfo: str
    folder: Path

    def fill(
        self, count: int, intents: list[str] | None = None, cards: Sequence[str] = CARDS
    ) -> None:
        """There are so many due, prepared invoices and nothing else; statistics are fresh.

        With `intents` the first of them carry these ids of real PaymentIntents. The customers share
        the `cards` out: a card with many charges under way at once would have to wait.
        """
        values = {"count": count, "stripe_account": STRIPE_ACCOUNT, "cards": list(cards)}
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            for statement in (EMPTY, CUSTOMERS, STRIPE_CUSTOMERS, INVOICES):
                conn.execute(statement, values)
            for number, intent in enumerate(intents or (), 1):
                conn.execute(
                    "UPDATE anchorhold.invoice SET intent_id = %s WHERE reference = %s",
                    [intent, f"R{number}"],
                )
            conn.execute(INTENTS, values)
            conn.execute("VACUUM ANALYZE")
            conn.execute("CHECKPOINT")


@asynccontextmanager
async def ground(folder: Path, pool: int = 8) -> AsyncGenerator[tuple[Ground, PoolDb]]:
    """A server of its own for this measurement; it is gone afterwards."""
    started = await asyncio.to_thread(postgres.start, folder)
    try:
        await asyncio.to_thread(upgrade, started.conninfo)
        async with connect(started.conninfo, size=pool) as db:
            await accounts.create(db, SCOPE.account_id, "bench")
            await accounts.connect(
                db, SCOPE, NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint")
            )
            yield Ground(started.conninfo, folder), db
    finally:
        await asyncio.to_thread(postgres.stop, folder)
