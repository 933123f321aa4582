"""What the page about restores says of each invoice is what happens, the bad end included."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.prepare import set_up_customer
from anchorhold.store import customers
from anchorhold.twin.clock import WallClock
from tests.engine.rig import Rig, rig

LOST = ("payment", "journal", "attempt", "intent", "notice", "invoice")
"""What is younger than the backup, in an order that foreign keys allow."""
KEPT = ("invoice", "intent", "attempt")

HOUR_S = 3600


@pytest_asyncio.fixture
async def world(database: str) -> AsyncGenerator[Rig]:
    """One account on a twin of its own."""
    async with rig(database) as world:
        yield world


def backup(world: Rig) -> dict[str, list[str]]:
    """The rows of the tables that a restore brings back."""
    return {
        name: [row for (row,) in world.sql(f"SELECT to_jsonb(x)::text FROM anchorhold.{name} x")]
        for name in KEPT
    }


def restore(world: Rig, saved: dict[str, list[str]]) -> None:
    """The database is what it was at the backup; Stripe is not."""
    for name in LOST:
        world.sql(f"DELETE FROM anchorhold.{name}")
    for name, rows in saved.items():
        shape = f"anchorhold.{name}"
        for row in rows:
            world.sql(
                f"INSERT INTO {shape} SELECT * FROM jsonb_populate_record(NULL::{shape}, %s)", row
            )


async def set_up(world: Rig) -> None:
    """The customers are known at Stripe; no intent is begun."""
    deps = world.deps()
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    for customer in await customers.take_unready(deps.db, world.scope, limit=10):
        await set_up_customer(deps, connected, world.scope, customer)


async def paid_in_the_gap(world: Rig, invoice: InvoiceId, hours: int) -> int:
    """How often the invoice is paid at Stripe, when the database forgot the first time."""
    saved = backup(world)
    await world.charge_due()
    assert world.paid_at_stripe() == {invoice: 1}
    restore(world, saved)
    assert isinstance(world.twin.clock, WallClock)
    world.twin.clock.advance(hours * HOUR_S)
    world.later(minutes=5)
    await world.charge_due()
    assert world.row(invoice)["status"] == "paid"
    return world.paid_at_stripe()[invoice]


@pytest.mark.parametrize("hours", [1, 48])
async def test_an_invoice_whose_intent_is_in_the_backup_is_paid_once(
    world: Rig, hours: int
) -> None:
    invoice = await world.invoice()
    await world.prepare()
    assert await paid_in_the_gap(world, invoice, hours) == 1


async def test_an_intent_begun_in_the_gap_is_found_by_its_key_within_a_day(world: Rig) -> None:
    invoice = await world.invoice()
    await set_up(world)
    assert await paid_in_the_gap(world, invoice, hours=23) == 1


async def test_after_a_day_the_key_is_forgotten_and_the_page_warns_of_a_second_payment(
    world: Rig,
) -> None:
    invoice = await world.invoice()
    await set_up(world)
    assert await paid_in_the_gap(world, invoice, hours=25) == 2
