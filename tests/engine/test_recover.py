"""After the database lost its tail: each rule of the table, on rows that a restore brought back."""

import sys
from datetime import datetime, timedelta
from typing import Any

import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.recovering import RECOVER
from anchorhold.engine.recover import Recovered, ensure, recover
from anchorhold.store import recoveries
from tests.domain.tables import rows_without_a_test
from tests.engine.restores import backup, restore, set_up
from tests.engine.rig import Rig
from tests.engine.stripe_side import CANCEL, AtStripe, sent_by


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], [rule.id for rule in RECOVER])


async def recovered(world: Rig) -> Recovered:
    """What the recovery of a restored database did; it came to its end."""
    done = await ensure(world.deps(), world.scope)
    assert done is not None
    assert done.stopped is None
    assert await is_whole(world)
    return done


async def again(world: Rig) -> Recovered:
    """What a recovery from yesterday on does."""
    done = await recover(world.deps(), world.scope, since=yesterday(world))
    assert done is not None
    assert done.stopped is None
    return done


def yesterday(world: Rig) -> datetime:
    ((now,),) = world.sql("SELECT anchorhold.now()")
    return now - timedelta(days=1)


async def is_whole(world: Rig) -> bool:
    look = await recoveries.look(world.pool, world.scope)
    return look is not None and look.whole


def assert_paid_once(world: Rig, invoice: InvoiceId) -> None:
    assert world.row(invoice)["status"] == "paid"
    assert world.paid_at_stripe() == {invoice: 1}


async def with_intent(world: Rig) -> InvoiceId:
    """An open invoice with its intent."""
    invoice = await world.invoice()
    await world.prepare()
    return invoice


async def without_intent(world: Rig) -> InvoiceId:
    """An open invoice whose customer is known at Stripe."""
    invoice = await world.invoice()
    await set_up(world)
    return invoice


def intents(world: Rig) -> list[tuple[Any, ...]]:
    return world.sql("SELECT number, state FROM anchorhold.intent ORDER BY number")


async def test_v1_money_for_a_lost_invoice_is_reported_once(world: Rig) -> None:
    saved = backup(world)
    invoice = await world.invoice()
    await world.charge_due()
    restore(world, saved)
    assert (await recovered(world)).counts["V1"] >= 1
    await again(world)
    ((code, evidence),) = world.sql("SELECT code, evidence FROM anchorhold.notice")
    assert (code, evidence["lost_invoice_id"]) == ("payment.invoice_lost", invoice)
    assert (evidence["amount"], evidence["currency"]) == (14900, "eur")


async def test_v2_a_payment_that_is_recorded_changes_nothing(world: Rig) -> None:
    invoice = await with_intent(world)
    await world.charge_due()
    before = world.row(invoice)
    assert set((await again(world)).counts) == {"read", "ours", "V2"}
    assert world.row(invoice) == before


async def test_v3_a_success_whose_intent_is_known_is_settled(world: Rig) -> None:
    invoice = await with_intent(world)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    assert (await recovered(world)).counts["V3"] == 1
    assert_paid_once(world, invoice)


async def test_v3_a_success_whose_intent_row_is_lost_is_settled_and_its_number_is_kept(
    world: Rig,
) -> None:
    invoice = await without_intent(world)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    await recovered(world)
    assert_paid_once(world, invoice)
    assert intents(world) == [(1, "succeeded")]


async def test_v3_money_that_was_given_back_is_not_taken_for_a_payment(world: Rig) -> None:
    invoice = await with_intent(world)
    saved = backup(world)
    await world.charge_due()
    AtStripe(world).refund(invoice)
    restore(world, saved)
    await recovered(world)
    assert world.row(invoice)["status"] == "open"
    assert world.sql("SELECT code FROM anchorhold.notice") == [("payment.found_refunded",)]


async def test_v3_money_on_an_invoice_that_is_void_here_opens_a_notice(world: Rig) -> None:
    invoice = await with_intent(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'void'")
    saved = backup(world)
    AtStripe(world).page_confirms(invoice)
    restore(world, saved)
    await recovered(world)
    notices = world.sql("SELECT code FROM anchorhold.notice")
    assert notices == [("payment.received_on_voided_invoice",)]


async def debited(world: Rig, *, intent_known: bool = True, invoice_known: bool = True) -> Any:
    """A bank debit was begun in the gap; what the restored database knows of it differs."""
    saved = backup(world)
    invoice = await without_intent(world)
    saved = backup(world) if invoice_known else saved
    await world.prepare()
    saved = backup(world) if intent_known else saved
    AtStripe(world).page_debits(invoice, "pm_success_de")
    assert AtStripe(world).intents(invoice) == ["processing"]
    restore(world, saved)
    return invoice


async def test_v4_a_debit_for_a_lost_invoice_is_reported(world: Rig) -> None:
    await debited(world, intent_known=False, invoice_known=False)
    assert (await recovered(world)).counts["V4"] >= 1
    assert world.sql("SELECT code FROM anchorhold.notice") == [("payment.invoice_lost",)]


async def test_v5_a_debit_that_is_followed_already_is_left_to_its_follower(world: Rig) -> None:
    invoice = await debited(world)
    await recovered(world)
    before = world.row(invoice)
    assert (await again(world)).counts["V5"] >= 1
    assert world.row(invoice) == before


@pytest.mark.parametrize("intent_known", [True, False])
async def test_v6_a_debit_begun_in_the_gap_is_followed_and_not_charged_beside(
    world: Rig, intent_known: bool
) -> None:
    invoice = await debited(world, intent_known=intent_known)
    await recovered(world)
    row = world.row(invoice)
    assert (row["payment_status"], row["charge_seq"]) == ("processing", 1)
    assert row["followed_intent_id"] == row["intent_id"]
    assert not await world.charge_due()


async def test_v7_a_debit_of_a_closed_invoice_is_left_to_end(world: Rig) -> None:
    invoice = await debited(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")
    sent = sent_by(world, CANCEL)
    assert (await recovered(world)).counts["V7"] >= 1
    assert not sent
    assert world.row(invoice)["status"] == "uncollectible"


async def test_v8_an_intent_of_a_lost_invoice_can_be_paid_by_nobody(world: Rig) -> None:
    saved = backup(world)
    invoice = await with_intent(world)
    restore(world, saved)
    assert (await recovered(world)).counts["V8"] == 1
    assert AtStripe(world).intents(invoice) == ["canceled"]


async def test_v9_an_intent_whose_create_is_under_way_is_left_to_it(world: Rig) -> None:
    invoice = await with_intent(world)
    world.sql("UPDATE anchorhold.intent SET state = 'preparing', stripe_intent_id = NULL")
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    assert (await again(world)).counts["V9"] == 1
    await world.charge_due()
    world.later(minutes=2)
    await world.charge_due()
    assert_paid_once(world, invoice)


async def test_v10_the_own_intent_stays_as_it_is(world: Rig) -> None:
    invoice = await with_intent(world)
    before = world.row(invoice)
    assert (await again(world)).counts["V10"] == 1
    assert world.row(invoice) == before


@pytest.mark.parametrize("hours", [1, 48])
async def test_v11_a_lost_intent_is_the_invoices_own_again(world: Rig, hours: int) -> None:
    """Two days later its key is forgotten, and a second intent would stand beside it."""
    invoice = await without_intent(world)
    saved = backup(world)
    await world.prepare()
    restore(world, saved)
    world.later(hours=hours)
    assert (await recovered(world)).counts["V11"] == 1
    await world.charge_due()
    assert_paid_once(world, invoice)
    assert AtStripe(world).intents(invoice) == ["succeeded"]


async def test_v12_a_lost_intent_of_another_amount_is_cancelled_and_its_number_kept(
    world: Rig,
) -> None:
    invoice = await without_intent(world)
    saved = backup(world)
    await world.prepare()
    restore(world, saved)
    world.sql("UPDATE anchorhold.invoice SET amount_due = 100")
    assert (await recovered(world)).counts["V12"] == 1
    assert intents(world) == [(1, "canceled")]
    await world.charge_due()
    assert_paid_once(world, invoice)
    assert AtStripe(world).intents(invoice) == ["canceled", "succeeded"]


async def test_v12_an_intent_of_a_closed_invoice_is_cancelled(world: Rig) -> None:
    invoice = await with_intent(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'void'")
    await again(world)
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert intents(world) == [(1, "canceled")]


async def test_v13_an_intent_cancelled_in_the_gap_ends_and_the_next_is_made(world: Rig) -> None:
    invoice = await with_intent(world)
    saved = backup(world)
    AtStripe(world).cancel(invoice)
    restore(world, saved)
    await recovered(world)
    assert intents(world) == [(1, "canceled")]
    world.later(minutes=2)
    await world.charge_due()
    assert_paid_once(world, invoice)


async def test_v14_a_cancelled_intent_whose_row_is_lost_keeps_its_number(world: Rig) -> None:
    invoice = await without_intent(world)
    saved = backup(world)
    await world.prepare()
    AtStripe(world).cancel(invoice)
    restore(world, saved)
    assert (await recovered(world)).counts["V14"] >= 1
    assert intents(world) == [(1, "canceled")]


async def test_v15_a_cancelled_intent_of_a_lost_invoice_is_nothing(world: Rig) -> None:
    saved = backup(world)
    invoice = await with_intent(world)
    AtStripe(world).cancel(invoice)
    restore(world, saved)
    assert (await recovered(world)).counts["V15"] >= 1
    assert world.sql("SELECT code FROM anchorhold.notice") == []
