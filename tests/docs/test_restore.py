"""What the page about restores says of each invoice is what happens, however old the backup is."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.recover import ensure
from anchorhold.twin.clock import WallClock
from tests.engine.restores import backup, restore, set_up
from tests.engine.rig import Rig, rig

HOUR_S = 3600


@pytest_asyncio.fixture
async def world(database: str) -> AsyncGenerator[Rig]:
    """One account on a twin of its own."""
    async with rig(database) as world:
        yield world


async def paid_in_the_gap(world: Rig, invoice: InvoiceId, hours: int, *, reads: bool) -> int:
    """How often the invoice is paid at Stripe, when the database forgot the first time."""
    saved = backup(world)
    await world.charge_due()
    assert world.paid_at_stripe() == {invoice: 1}
    restore(world, saved)
    assert isinstance(world.twin.clock, WallClock)
    world.twin.clock.advance(hours * HOUR_S)
    world.later(minutes=5)
    if reads:
        assert await ensure(world.deps(), world.scope)
    else:
        world.sql("UPDATE anchorhold.connection SET lineage = anchorhold.lineage()")
    await world.charge_due()
    assert world.row(invoice)["status"] == "paid"
    return world.paid_at_stripe()[invoice]


@pytest.mark.parametrize("hours", [1, 48])
async def test_an_invoice_whose_intent_is_in_the_backup_is_paid_once(
    world: Rig, hours: int
) -> None:
    invoice = await world.invoice()
    await world.prepare()
    assert await paid_in_the_gap(world, invoice, hours, reads=True) == 1


@pytest.mark.parametrize("hours", [1, 23, 25, 48])
async def test_an_invoice_whose_intent_was_begun_in_the_gap_is_paid_once(
    world: Rig, hours: int
) -> None:
    invoice = await world.invoice()
    await set_up(world)
    assert await paid_in_the_gap(world, invoice, hours, reads=True) == 1


async def test_without_reading_stripe_it_would_be_paid_twice_after_a_day(world: Rig) -> None:
    """What recovering is there for: Stripe has forgotten the key."""
    invoice = await world.invoice()
    await set_up(world)
    assert await paid_in_the_gap(world, invoice, hours=25, reads=False) == 2
