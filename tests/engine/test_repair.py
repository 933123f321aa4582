"""Repair on read: whoever opens an invoice with something under way has Stripe asked once."""

import asyncio

from anchorhold.engine.repair import look_once
from anchorhold.twin.faults import FaultKind
from tests.engine.left import left
from tests.engine.lost import unknown
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import RETRIEVE, end_debits, sent_by
from tests.engine.test_follow import debited


async def test_a_stale_hold_is_checked_when_somebody_looks(world: Rig) -> None:
    invoice = await unknown(world)
    assert await look_once(world.deps(), world.scope, invoice) == "S1"
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_a_followed_intent_is_looked_at_when_somebody_looks(world: Rig) -> None:
    invoice = await debited(world)
    end_debits(world)
    assert await look_once(world.deps(), world.scope, invoice) == "F1"
    assert world.row(invoice)["status"] == "paid"


async def test_many_who_look_ask_stripe_once_a_minute(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    world.sql("UPDATE anchorhold.attempt SET stripe_account = 'acct_2'")
    asked = sent_by(world, RETRIEVE)
    rows = await asyncio.gather(*(look_once(world.deps(), world.scope, invoice) for _ in range(5)))
    assert sorted(filter(None, rows)) == ["S15"]
    world.later(seconds=30)
    assert await look_once(world.deps(), world.scope, invoice) is None
    world.later(seconds=90)
    assert await look_once(world.deps(), world.scope, invoice) == "S15"
    assert asked == []


async def test_followed_once_a_minute_too(world: Rig) -> None:
    invoice = await debited(world)
    asked = sent_by(world, RETRIEVE)
    rows = await asyncio.gather(*(look_once(world.deps(), world.scope, invoice) for _ in range(5)))
    assert sorted(filter(None, rows)) == ["F2"]
    assert len(asked) == 1


async def test_a_live_hold_is_its_owners(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await world.claim_due()
    before = left(world, invoice)
    assert await look_once(world.deps(), world.scope, invoice) is None
    assert left(world, invoice) == before


async def test_where_nothing_is_under_way_nobody_is_asked(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    sent = len(world.twin.requests)
    assert await look_once(world.deps(), world.scope, invoice) is None
    assert len(world.twin.requests) == sent


async def test_a_mode_that_is_not_connected_asks_nobody(world: Rig) -> None:
    invoice = await unknown(world)
    world.connected = False
    assert await look_once(world.deps(), world.scope, invoice) is None
