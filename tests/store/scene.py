"""Rows in the states that the store's writes meet, made in bulk, and what must always be so."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, LiteralString

import psycopg
from psycopg.rows import TupleRow

from anchorhold.domain.answer import Decline
from anchorhold.domain.attempt import RUNNING, AttemptKind, AttemptState, Cause
from anchorhold.domain.closing import Held
from anchorhold.domain.hold import Claim, Token
from anchorhold.domain.ids import AccountId, CustomerId, InvoiceId
from anchorhold.domain.intent import Unprepared
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import OPEN
from anchorhold.domain.timing import Timing
from anchorhold.store import closes, holds, intents, payments
from anchorhold.store import credits as credit
from anchorhold.store.customers import Unready
from anchorhold.store.db import PoolDb, connect
from anchorhold.store.follows import Followed
from anchorhold.store.watches import Watched

ACTOR = "test"
AMOUNT = 14900
PAST = timedelta(hours=1)
OURS = Scope(AccountId("acc_ours"), livemode=False)
STRANGERS = (
    Scope(AccountId("acc_ours"), livemode=True),
    Scope(AccountId("acc_other"), livemode=False),
)
"""The same account in the other mode, and another account in the same mode."""

CONNECT = """
    WITH account AS (
        INSERT INTO anchorhold.account (id, name) VALUES (%(account_id)s, %(account_id)s)
        ON CONFLICT DO NOTHING
    )
    INSERT INTO anchorhold.connection
           (account_id, livemode, stripe_account, secret_key, key_last4, key_fingerprint)
    VALUES (%(account_id)s, %(livemode)s, 'acct_1', 'sealed', '1234', 'fingerprint')
"""

INVOICES = """
    WITH n AS (
        SELECT lpad(n::text, 26, '0') AS n
          FROM generate_series(%(first)s::int, %(last)s::int) n
    ), customer AS (
        INSERT INTO anchorhold.customer (account_id, livemode, id, reference, payment_method)
        SELECT %(account_id)s, %(livemode)s, 'cus_' || n, 'C' || n, 'pm_card_visa' FROM n
    ), stripe AS (
        INSERT INTO anchorhold.stripe_customer
               (account_id, livemode, customer_id, stripe_account, params, stripe_customer_id,
                requested_method, payment_method)
        SELECT %(account_id)s, %(livemode)s, 'cus_' || n, 'acct_1', '{}',
               CASE WHEN %(named)s::boolean THEN 'cus_stripe' || n END, 'pm_card_visa',
               CASE WHEN %(ready)s::boolean THEN 'pm_' || n END
          FROM n
    ), invoice AS (
        INSERT INTO anchorhold.invoice
               (account_id, livemode, id, customer_id, reference, currency, amount_due, status,
                due_at, next_attempt_at, intent_id)
        SELECT %(account_id)s, %(livemode)s, 'inv_' || n, 'cus_' || n, 'R' || n, 'eur',
               %(amount)s, 'open', anchorhold.now() - interval '1 day',
               anchorhold.now() - interval '1 day',
               CASE WHEN %(intent)s::text = 'live' THEN 'pi_' || n END
          FROM n
    ), intent AS (
        INSERT INTO anchorhold.intent
               (account_id, livemode, invoice_id, number, stripe_intent_id, idempotency_key,
                params, amount, currency, stripe_account, state)
        SELECT %(account_id)s, %(livemode)s, 'inv_' || n, 1,
               CASE WHEN %(intent)s::text = 'live' THEN 'pi_' || n END, 'intent-' || n, '{}',
               %(amount)s, 'eur', 'acct_1', %(intent)s
          FROM n WHERE %(intent)s::text <> 'none'
    )
    SELECT 'inv_' || n FROM n ORDER BY 1
"""

STALE = """
    WITH invoice AS (
        UPDATE anchorhold.invoice SET hold_until = hold_until - %(past)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND hold_until IS NOT NULL
    )
    UPDATE anchorhold.attempt
       SET hold_until = hold_until - %(past)s, claimed_at = claimed_at - %(past)s,
           sent_at = sent_at - %(past)s
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""
WRITTEN_OFF = """
    UPDATE anchorhold.invoice SET status = 'uncollectible'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""
MOVED_AWAY = """
    UPDATE anchorhold.intent SET stripe_account = 'acct_before'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""
FOLLOWED = """
    UPDATE anchorhold.invoice SET followed_at = followed_at - interval '1 hour'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""

ROWS = """
    SELECT to_jsonb(t)::text FROM anchorhold.{table} t
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s ORDER BY 1
"""
TABLES = (
    "connection", "customer", "stripe_customer", "invoice", "intent", "attempt", "payment",
    "notice", "journal", "tick", "dunning_policy", "dunning_assignment", "dunning_run",
    "dunning_step", "event", "event_cursor", "refund", "recovery", "price",
    "subscription", "subscription_item", "subscription_entry", "invoice_number", "invoice_line",
    "page_link", "api_key", "idempotent_request",
)  # fmt: skip


@dataclass
class Scene:
    """A database with a connected mode, and invoices in the states that a test asks for."""

    conninfo: str
    db: PoolDb
    conn: psycopg.Connection[TupleRow]
    scope: Scope = OURS
    timing: Timing = field(default_factory=Timing)
    made: int = 0

    def apart(self) -> "Scene":
        """The same database with an account of its own, whose ids are the same again."""
        self.made += 1
        scope = Scope(AccountId(f"acc_{self.made}"), livemode=False)
        self.sql(CONNECT, **scope.params)
        return Scene(self.conninfo, self.db, self.conn, scope)

    def sql(self, statement: LiteralString, **values: object) -> list[TupleRow]:
        """Rows of any statement; a scene may look at and change everything."""
        return self.any_sql(statement, **values)

    def any_sql(self, statement: str, **values: object) -> list[TupleRow]:
        """Rows of a statement that was put together."""
        cursor = self.conn.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, statement: LiteralString, **values: object) -> Any:
        """The only value of any statement."""
        ((value,),) = self.sql(statement, **values)
        return value

    def rows(self, scope: Scope) -> dict[str, list[str]]:
        """Everything that belongs to an account and mode, table by table."""
        return {
            table: [row for (row,) in self.any_sql(ROWS.format(table=table), **scope.params)]
            for table in TABLES
        }

    async def customers(self, count: int = 1, *, named: bool = True) -> list[Unready]:
        """Customers whose payment method Stripe does not know yet, each with a prepared invoice."""
        ids = self._invoices(count, intent="live", ready=False, named=named)
        return [
            Unready(
                customer_id=_customer(invoice_id),
                stripe_account="acct_1",
                params={},
                stripe_customer_id=f"cus_stripe{invoice_id[4:]}" if named else None,
                requested_method="pm_card_visa",
                key_number=1,
            )
            for invoice_id in ids
        ]

    async def due(self, count: int = 1) -> list[InvoiceId]:
        """Open invoices that are due, each with its live intent."""
        return self._invoices(count, intent="live")

    async def unprepared(self, count: int = 1) -> list[Unprepared]:
        """Open invoices that are due and have no intent."""
        return [self._unprepared(row, 1) for row in self._invoices(count, intent="none")]

    async def preparing(self, count: int = 1) -> list[Unprepared]:
        """Open invoices whose intent row is committed and whose create was not answered yet."""
        return [self._unprepared(row, 2) for row in self._invoices(count, intent="preparing")]

    async def claimed(self, count: int = 1) -> list[Claim]:
        """Invoices held by somebody who has not sent yet."""
        await self.due(count)
        claims = await holds.claim_due(self.db, self.scope, self.timing, limit=count, actor=ACTOR)
        return sorted(claims, key=lambda claim: claim.token.invoice_id)

    async def sending(self, count: int = 1) -> list[Claim]:
        """Invoices whose confirm may be on its way."""
        claims = await self.claimed(count)
        for claim in claims:
            assert await recheck(self.db, self, claim)
        return claims

    async def stale(self, count: int = 1) -> list[Claim]:
        """Invoices whose owner sent and was not heard of again; their holds have ended."""
        claims = await self.sending(count)
        self.sql(STALE, past=PAST, **self.scope.params)
        return [replace(claim, token=_earlier(claim.token)) for claim in claims]

    async def written_off(self, count: int = 1) -> list[Claim]:
        """Stale ones that an operator gave up meanwhile, which leaves the hold (protocol 5)."""
        claims = await self.stale(count)
        self.sql(WRITTEN_OFF, **self.scope.params)
        return claims

    async def superseded(self, count: int = 1) -> list[Claim]:
        """Free invoices whose last attempt left no trace; its late charge may still come."""
        claims = await self.stale(count)
        for claim in claims:
            assert await sweep_ends(self.db, claim.token, NO_TRACE, AttemptState.SENDING)
        return claims

    async def followed(self, count: int = 1) -> list[Followed]:
        """Invoices that follow an intent which Stripe said is processing, not looked at since."""
        claims = await self.sending(count)
        for claim in claims:
            end = replace(ENDS[Meaning.FOLLOW], followed_intent=claim.intent_id)
            assert await owner_ends(self.db, claim.token, end)
        self.sql(FOLLOWED, **self.scope.params)
        return [
            Followed(
                claim.token.invoice_id,
                claim.intent_id or "",
                claim.token.seq + 1,
                InvoiceStatus.OPEN,
                PaymentStatus.PROCESSING,
            )
            for claim in claims
        ]

    async def closing(self, count: int = 1) -> list[Held]:
        """Invoices held by somebody who closes them and has not written yet."""
        return [await close_one(self.db, self, invoice_id) for invoice_id in await self.due(count)]

    async def rich(self, count: int = 1) -> list[InvoiceId]:
        """Open invoices that are due, whose customers have credit for each."""
        ids = await self.due(count)
        for invoice_id in ids:
            await self.give(invoice_id)
        return ids

    async def give(self, invoice_id: InvoiceId) -> int | None:
        """The customer of the invoice has more credit, by what is due on one."""
        return await credit.give(
            self.db,
            self.scope,
            _customer(invoice_id),
            amount=AMOUNT,
            currency="eur",
            reason="goodwill",
            actor=ACTOR,
        )

    async def given_back(self) -> InvoiceId:
        """An invoice whose only payment was given back in full before anybody heard of it."""
        (invoice_id,) = await self.due()
        news = replace(success(invoice_id), amount_refunded=AMOUNT)
        await payments.settle(self.db, self.scope, invoice_id, news, Source.FOLLOWER, actor=ACTOR)
        return invoice_id

    async def moved_away(self, count: int = 1) -> list[InvoiceId]:
        """Open invoices whose intents live in a Stripe account that is not connected any more."""
        ids = await self.due(count)
        self.sql(MOVED_AWAY, **self.scope.params)
        return ids

    def now(self) -> datetime:
        """The database's clock."""
        return self.value("SELECT anchorhold.now()")

    def _invoices(
        self, count: int, *, intent: str, ready: bool = True, named: bool = True
    ) -> list[InvoiceId]:
        first, self.made = self.made + 1, self.made + count
        rows = self.sql(
            INVOICES,
            **self.scope.params,
            first=first,
            last=self.made,
            amount=AMOUNT,
            intent=intent,
            ready=ready,
            named=named,
        )
        return [InvoiceId(row) for (row,) in rows]

    def _unprepared(self, invoice_id: InvoiceId, next_number: int) -> Unprepared:
        customer = f"cus_stripe{invoice_id[4:]}"
        return Unprepared(
            self.scope, invoice_id, AMOUNT, "eur", "acct_1", customer, ("card",), next_number
        )


@asynccontextmanager
async def scene(conninfo: str) -> AsyncGenerator[Scene]:
    """A scene on a cleared database, with two strangers' modes beside it."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        async with connect(conninfo, size=4) as db:
            made = Scene(conninfo, db, conn)
            for scope in (OURS, *STRANGERS):
                made.sql(CONNECT, **scope.params)
            yield made


def _customer(invoice_id: InvoiceId) -> CustomerId:
    return CustomerId(f"cus_{invoice_id[4:]}")


def _earlier(token: Token) -> Token:
    return replace(token, hold_until=token.hold_until - PAST)


async def recheck(db: Any, scene: Scene, claim: Claim) -> object:
    """The owner's re-check, with a request of the usual shape."""
    return await holds.recheck(
        db,
        claim,
        scene.timing,
        key=f"charge-{claim.token.invoice_id}-{claim.token.seq}",
        params={"payment_method": claim.payment_method, "off_session": True},
        deadline_s=30,
    )


async def owner_ends(db: Any, token: Token, end: End) -> holds.Ended | None:
    """The owner's save of anything but a success."""
    return await holds.end(
        db, token, replace(end, rule="A7"), states=RUNNING, statuses=OPEN, actor=ACTOR
    )


async def sweep_ends(db: Any, token: Token, end: End, state: AttemptState) -> holds.Ended | None:
    """The sweep's clear: compares the one state and status that it read."""
    return await holds.end(
        db, token, end, states=frozenset({state}), statuses=OPEN, actor=ACTOR, source="sweep"
    )


async def claim_one(db: Any, scene: Scene, invoice_id: InvoiceId) -> Claim | None:
    """An operator's claim of one invoice."""
    return await holds.claim(
        db, scene.scope, scene.timing, invoice_id, AttemptKind.COLLECT, actor=ACTOR
    )


async def name_it(db: Any, scope: Scope, invoice: Unprepared) -> str | None:
    """The create's answer arrived: its id is stored."""
    return await intents.name(
        db, scope, invoice.invoice_id, 1, f"pi_{invoice.invoice_id[4:]}", actor=ACTOR
    )


async def close_one(db: Any, scene: Scene, invoice_id: InvoiceId) -> Held:
    """Somebody's claim to close one invoice."""
    held = await closes.claim(
        db, scene.scope, scene.timing, invoice_id, AttemptKind.CLOSE, actor=ACTOR
    )
    assert held is not None
    return held


def watched_of(claim: Claim) -> Watched:
    """What the watcher read of the invoice after this attempt was superseded."""
    token = claim.token
    return Watched(token.invoice_id, claim.intent_id or "", token.seq + 1, InvoiceStatus.OPEN)


def success(invoice_id: InvoiceId, *, amount: int = AMOUNT, token: Token | None = None) -> Success:
    """The invoice's intent succeeded; with `token` that attempt is proven to have made it."""
    return Success(
        intent_id=f"pi_{invoice_id[4:]}",
        amount=amount,
        amount_refunded=0,
        currency="eur",
        charge_id=f"ch_{invoice_id[4:]}",
        attempt_id=token.attempt_id if token else None,
    )


DECLINE = replace(
    ENDS[Meaning.DECLINE],
    decline=Decline("card_declined", "insufficient_funds", None, "No."),
    charge_id="ch_declined",
)
UNCLEAR = replace(ENDS[Meaning.ASK], rule="A18", cause=Cause.CONNECTION_LOST)
NO_TRACE = End("S8", AttemptState.SUPERSEDED, Cause.NO_TRACE, fails_twice=True)
