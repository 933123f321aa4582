"""What people and programs read: paged, counted, and of one account and mode only."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import ACCOUNT, AccountId, InvoiceId
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.entropy import new_id
from anchorhold.store import (
    accounts,
    checks,
    customers,
    follows,
    invoices,
    views_attempts,
    views_customers,
    views_invoices,
    views_journal,
    views_notices,
    views_payments,
)
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import PoolDb, connect
from anchorhold.store.invoices import NewInvoice
from anchorhold.store.views_invoices import InvoiceFilter, Lanes

EVERY = InvoiceFilter()


class Shop:
    """Two accounts, one of them in both modes, each with invoices of the same names."""

    def __init__(self, conninfo: str, db: PoolDb) -> None:
        self.conninfo = conninfo
        self.db = db
        first, second = AccountId(new_id(ACCOUNT)), AccountId(new_id(ACCOUNT))
        self.ours = Scope(first, livemode=False)
        self.others = (Scope(first, livemode=True), Scope(second, livemode=False))

    async def open(self) -> "Shop":
        for name, scope in (("ours", self.ours), ("theirs", self.others[1])):
            await accounts.create(self.db, scope.account_id, name)
        for scope in (self.ours, *self.others):
            await accounts.connect(self.db, scope, NewConnection("acct_1", b"sealed", "1234", "f"))
        return self

    async def sell(self, count: int, scope: Scope | None = None, customer: str = "acme") -> None:
        rows = [
            NewInvoice(
                f"{customer}-{n}",
                customer,
                f"{customer}@example.com",
                "pm_card_visa",
                14900 + n,
                "eur",
                datetime(2026, 11, 1, tzinfo=UTC),
            )
            for n in range(count)
        ]
        await invoices.take_in(self.db, scope or self.ours, rows, actor="test")

    def sql(self, statement: str, *values: object) -> list[Any]:
        with psycopg.connect(self.conninfo, autocommit=True) as conn:
            cursor = conn.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    async def one(self, reference: str) -> views_invoices.InvoiceView:
        found = await views_invoices.one(self.db, self.ours, reference)
        assert found is not None
        return found


@pytest_asyncio.fixture
async def shop(database: str) -> AsyncGenerator[Shop]:
    async with connect(database, size=2) as db:
        yield await Shop(database, db).open()


async def test_pages_go_on_where_the_last_one_ended_newest_first(shop: Shop) -> None:
    await shop.sell(5)
    seen: list[str] = []
    after = None
    while page := await views_invoices.page(shop.db, shop.ours, EVERY, after=after, limit=2):
        seen += [row.id for row in page]
        after = page[-1].id
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)
    assert await views_invoices.count(shop.db, shop.ours, EVERY) == 5


async def test_a_filter_fits_status_payment_status_and_customer(shop: Shop) -> None:
    await shop.sell(2)
    await shop.sell(1, customer="emca")
    acme = await views_customers.one(shop.db, shop.ours, "acme")
    assert acme is not None
    which = InvoiceFilter(InvoiceStatus.OPEN, PaymentStatus.PENDING, acme.id)
    assert await views_invoices.count(shop.db, shop.ours, which) == 2
    rows = await views_invoices.page(shop.db, shop.ours, which, after=None, limit=10)
    assert {row.customer_reference for row in rows} == {"acme"}
    none = InvoiceFilter(InvoiceStatus.PAID)
    assert await views_invoices.page(shop.db, shop.ours, none, after=None, limit=10) == []


async def test_an_invoice_is_found_by_its_id_and_by_its_reference(shop: Shop) -> None:
    await shop.sell(2)
    found = await shop.one("acme-1")
    assert (found.amount_due, found.hold) == (14901, HoldState.NONE)
    assert (await shop.one(found.id)).reference == "acme-1"
    assert await views_invoices.one(shop.db, shop.ours, "no such") is None


async def test_nobody_sees_rows_of_another_account_or_mode(shop: Shop) -> None:
    await shop.sell(1)
    ours = await shop.one("acme-0")
    hold(shop, ours.id, "now() + interval '1 hour'")
    shop.sql(
        "INSERT INTO anchorhold.notice (account_id, livemode, id, code, invoice_id, subject,"
        " evidence) VALUES (%s, %s, 'ntc_1', 'x', %s, 's', '{}')",
        *(shop.ours.account_id, False, ours.id),
    )
    db = shop.db
    for scope in shop.others:
        assert await views_invoices.page(db, scope, EVERY, after=None, limit=10) == []
        assert await views_invoices.one(db, scope, ours.id) is None
        assert await views_invoices.under_way(db, scope, after=None, limit=10) == []
        assert await views_invoices.lanes(db, scope) == Lanes(0, 0, 0)
        assert await views_invoices.known(db, scope, ["acme-0"]) == []
        assert await views_customers.page(db, scope, after=None, limit=10) == []
        assert await views_customers.one(db, scope, "acme") is None
        assert await views_journal.of_invoice(db, scope, ours.id) == []
        assert await views_notices.page(db, scope, resolved=False, after=None, limit=9) == []
        assert (
            await views_attempts.page(db, scope, state=None, invoice_id=None, after=None, limit=10)
            == []
        )
    assert await views_notices.count(db, shop.ours, resolved=False) == 1
    assert await views_attempts.count(db, shop.ours, state=None, invoice_id=ours.id) == 1


async def test_each_hold_is_in_its_lane(shop: Shop) -> None:
    await shop.sell(4)
    for n, until in enumerate(["now() + interval '1 hour'", "now() - interval '1 hour'"]):
        hold(shop, (await shop.one(f"acme-{n}")).id, until)
    followed(shop, (await shop.one("acme-2")).id)
    assert await views_invoices.lanes(shop.db, shop.ours) == Lanes(1, 1, 1)
    rows = await views_invoices.under_way(shop.db, shop.ours, after=None, limit=10)
    states = {row.reference: row.hold for row in rows}
    assert states == {
        "acme-0": HoldState.LIVE,
        "acme-1": HoldState.STALE,
        "acme-2": HoldState.FOLLOWING,
    }


@pytest.mark.parametrize(
    ("ended", "asked", "due"),
    [
        ("1 minute", None, True),
        ("1 minute", "2 minutes", True),
        ("1 hour", "29 minutes", False),
        ("1 hour", "31 minutes", True),
        ("-1 minute", None, False),
    ],
)
async def test_the_sweep_takes_a_hold_when_the_computed_check_is_due(
    shop: Shop, ended: str, asked: str | None, due: bool
) -> None:
    await shop.sell(1)
    hold(shop, (await shop.one("acme-0")).id, f"now() - interval '{ended}'")
    if asked:
        shop.sql("UPDATE anchorhold.invoice SET provider_synced_at = now() - %s::interval", asked)
    row, timing = await shop.one("acme-0"), Timing()
    at = next_check_at(
        timing, now=row.now, hold_until=row.hold_until, asked_at=row.provider_synced_at
    )
    assert (at == row.now) is due
    taken = await checks.take(
        shop.db, shop.ours, timing, run_started=await checks.now(shop.db), limit=1
    )
    assert bool(taken) is due


@pytest.mark.parametrize(
    ("followed_for", "asked", "due"),
    [
        ("30 seconds", None, False),
        ("70 seconds", None, True),
        ("3 hours", "20 minutes", False),
        ("3 hours", "2 hours", True),
        ("9 days", "23 hours", False),
        ("9 days", "25 hours", True),
    ],
)
async def test_the_follower_looks_when_the_computed_check_is_due(
    shop: Shop, followed_for: str, asked: str | None, due: bool
) -> None:
    await shop.sell(1)
    followed(shop, (await shop.one("acme-0")).id)
    shop.sql(
        "UPDATE anchorhold.invoice SET followed_at = now() - %s::interval,"
        " provider_synced_at = now() - %s::interval",
        *(followed_for, asked),
    )
    row = await shop.one("acme-0")
    at = next_check_at(
        Timing(),
        now=row.now,
        hold_until=None,
        asked_at=row.provider_synced_at,
        followed_at=row.followed_at,
    )
    assert (at == row.now) is due
    assert bool(await follows.take(shop.db, shop.ours, limit=1)) is due


async def test_a_customer_is_on_its_way_to_stripe_once_it_was_begun(shop: Shop) -> None:
    await shop.sell(1)
    await shop.sell(1, customer="cus_9s6XKzkNRiz8i3")
    assert await customers.begin_all(shop.db, shop.ours) == 2
    assert await customers.begin_all(shop.db, shop.ours) == 0
    mine = await views_customers.one(shop.db, shop.ours, "acme")
    theirs = await views_customers.one(shop.db, shop.ours, "cus_9s6XKzkNRiz8i3")
    assert mine is not None
    assert theirs is not None
    assert (mine.stripe_customer_id, mine.requested_method) == (None, "pm_card_visa")
    assert theirs.stripe_customer_id == "cus_9s6XKzkNRiz8i3"
    assert (mine.open_invoices, mine.email) == (1, "acme@example.com")
    (params,) = shop.sql(
        "SELECT params FROM anchorhold.stripe_customer WHERE customer_id = %s", mine.id
    )
    metadata = {
        "anchorhold_account_id": shop.ours.account_id,
        "anchorhold_customer_id": mine.id,
    }
    assert params[0] == {"email": "acme@example.com", "metadata": metadata}


async def test_only_the_named_customers_are_begun(shop: Shop) -> None:
    await shop.sell(1)
    await shop.sell(1, customer="emca")
    mine = await views_customers.one(shop.db, shop.ours, "emca")
    assert mine is not None
    assert await customers.begin_all(shop.db, shop.ours, [mine.id]) == 1
    assert await customers.begin_all(shop.db, shop.ours) == 1


async def test_the_journal_and_payments_are_read_in_order(shop: Shop) -> None:
    await shop.sell(1)
    invoice = await shop.one("acme-0")
    for n in (1, 2):
        shop.sql(
            "INSERT INTO anchorhold.payment (account_id, livemode, id, invoice_id,"
            " stripe_intent_id, stripe_account, amount, currency, source)"
            " VALUES (%s, false, %s, %s, %s, 'acct_1', 500, 'eur', 'sweep')",
            *(shop.ours.account_id, f"pay_{n}", invoice.id, f"pi_{n}"),
        )
    (opened,) = await views_journal.of_invoice(shop.db, shop.ours, invoice.id)
    assert (opened.what, opened.actor) == ("invoice.opened", "test")
    rows = await views_payments.page(
        shop.db, shop.ours, invoice_id=invoice.id, after=None, limit=10
    )
    assert [row.id for row in rows] == ["pay_2", "pay_1"]
    assert await views_payments.count(shop.db, shop.ours, invoice_id=None) == 2


def hold(shop: Shop, invoice: InvoiceId, until: str) -> None:
    """The invoice is held until then by an attempt of its own."""
    shop.sql(
        "WITH a AS (INSERT INTO anchorhold.attempt (account_id, livemode, id, invoice_id, seq,"
        " kind, actor, found_status, amount, currency, stripe_account, stripe_customer_id,"
        f" hold_until) SELECT account_id, livemode, 'att_' || id, id, 0, 'auto', 'worker:1',"
        f" 'pending', 1, 'eur', 'acct_1', 'cus_1', {until} FROM anchorhold.invoice WHERE id = %s)"
        f" UPDATE anchorhold.invoice SET hold_until = {until}, hold_attempt = 'att_' || id"
        " WHERE id = %s",
        *(invoice, invoice),
    )


def followed(shop: Shop, invoice: InvoiceId) -> None:
    """The invoice follows a PaymentIntent that is processing."""
    shop.sql(
        "UPDATE anchorhold.invoice SET payment_status = 'processing',"
        " followed_intent_id = 'pi_1', intent_id = 'pi_1', followed_at = %s WHERE id = %s",
        *(datetime.now(UTC) - timedelta(hours=1), invoice),
    )
