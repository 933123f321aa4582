"""The final writes of a close: what each leaves, and credit that is never spent twice."""

import asyncio

import pytest

from anchorhold.domain.attempt import Cause
from anchorhold.domain.closing import Act, Held, ending
from anchorhold.domain.invoice import OPEN, Collection, InvoiceStatus
from anchorhold.store import closes, final_writes
from anchorhold.store.closes import Release
from anchorhold.store.db import Db
from tests.store.closing import give
from tests.store.legal import broken
from tests.store.scene import ACTOR, Scene, close_one
from tests.store.two import two

SAME_CUSTOMER = """
    UPDATE anchorhold.invoice SET customer_id = (SELECT min(customer_id) FROM anchorhold.invoice)
"""
BALANCE = "SELECT balance FROM anchorhold.credit_balance"


async def spend(db: Db, held: Held) -> InvoiceStatus | None:
    how = ending(Act.CREDIT, "covered by credit")
    return await final_writes.finish(db, held, how, rule="C4", actor=ACTOR)


async def test_two_invoices_of_one_customer_spend_the_credit_once(scene: Scene) -> None:
    ids = await scene.due(2)
    scene.sql(SAME_CUSTOMER)
    await scene.give(ids[0])
    first, second = [await close_one(scene.db, scene, invoice_id) for invoice_id in ids]
    async with two(scene.conninfo) as pair:
        assert await spend(pair.first, first) is InvoiceStatus.PAID
        other = asyncio.create_task(spend(pair.second, second))
        assert await pair.waits(pair.second, other)
        await pair.first.conn.commit()
        assert await other is None
    assert scene.value(BALANCE) == 0
    assert scene.value("SELECT sum(amount) FROM anchorhold.credit_entry") == 0
    assert broken(scene) == []


async def test_the_second_spends_it_when_the_first_rolls_back(scene: Scene) -> None:
    ids = await scene.due(2)
    scene.sql(SAME_CUSTOMER)
    await scene.give(ids[0])
    first, second = [await close_one(scene.db, scene, invoice_id) for invoice_id in ids]
    async with two(scene.conninfo) as pair:
        await spend(pair.first, first)
        other = asyncio.create_task(spend(pair.second, second))
        assert await pair.waits(pair.second, other)
        await pair.first.conn.rollback()
        assert await other is InvoiceStatus.PAID
    assert scene.value(BALANCE) == 0


async def test_credit_given_meanwhile_is_not_lost(scene: Scene) -> None:
    (invoice_id,) = await scene.rich()
    held = await close_one(scene.db, scene, invoice_id)
    async with two(scene.conninfo) as pair:
        await spend(pair.first, held)
        giving = asyncio.create_task(give(pair.second, scene.scope, scene, [invoice_id]))
        assert await pair.waits(pair.second, giving)
        await pair.first.conn.commit()
        assert await giving == 500
    assert scene.value(BALANCE) == 500


async def test_credit_that_is_too_small_writes_nothing(scene: Scene) -> None:
    (invoice_id,) = await scene.rich()
    scene.sql("UPDATE anchorhold.credit_balance SET balance = balance - 1")
    held = await close_one(scene.db, scene, invoice_id)
    before = scene.rows(scene.scope)
    assert await spend(scene.db, held) is None
    assert scene.rows(scene.scope) == before


@pytest.mark.parametrize("act", Act)
async def test_each_ending_is_legal(act: Act, scene: Scene) -> None:
    (invoice_id,) = await scene.rich()
    if act is Act.NOTHING_DUE:
        scene.sql("UPDATE anchorhold.invoice SET amount_due = 0")
    held = await close_one(scene.db, scene, invoice_id)
    how = ending(act, "because", "cash" if act is Act.PAID_ELSEWHERE else None)
    status = await final_writes.finish(scene.db, held, how, rule="C4", actor=ACTOR)
    assert status is how.status
    assert scene.value("SELECT closed_at IS NOT NULL FROM anchorhold.invoice")
    assert scene.value("SELECT state FROM anchorhold.intent") == "canceled"
    assert broken(scene) == []


async def test_a_release_can_follow_the_intent_and_moves_the_counter(scene: Scene) -> None:
    (held,) = await scene.closing()
    followed = Release("C5", Cause.REFUSED, follows=held.intent_id)
    status = await closes.release(scene.db, held.token, followed, statuses=OPEN, actor=ACTOR)
    assert status is InvoiceStatus.OPEN
    row = scene.sql("SELECT payment_status, followed_intent_id, charge_seq FROM anchorhold.invoice")
    assert row == [("processing", held.intent_id, 1)]
    assert broken(scene) == []


async def test_a_release_leaves_the_hold_on_what_was_written_off_meanwhile(scene: Scene) -> None:
    """F7: its intent may still be payable, and the sweep has to cancel it."""
    (held,) = await scene.closing()
    scene.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")
    nothing = Release("C13", Cause.CONNECT_FAILED, collection=Collection.MANUAL)
    assert not await closes.release(scene.db, held.token, nothing, statuses=OPEN, actor=ACTOR)
    assert scene.value("SELECT hold_until IS NOT NULL FROM anchorhold.invoice")


async def test_a_park_that_is_not_over_yet_can_be_written_off(scene: Scene) -> None:
    (claim,) = await scene.sending()
    scene.sql("UPDATE anchorhold.intent SET state = 'used_up';")
    scene.sql("UPDATE anchorhold.attempt SET state = 'unknown'")
    scene.sql("UPDATE anchorhold.invoice SET payment_status = 'unknown', intent_id = NULL")
    status = await closes.write_off_under_way(
        scene.db, scene.scope, claim.token.invoice_id, reason="bankrupt", actor=ACTOR
    )
    assert status is InvoiceStatus.UNCOLLECTIBLE
    assert scene.value("SELECT hold_until IS NOT NULL FROM anchorhold.invoice")
