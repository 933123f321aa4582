"""Dunning's final action: the invoice's part of it, under the hold."""

import pytest

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.close import Closed
from anchorhold.engine.final_action import final_action
from tests.engine.left import journal, left
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CANCEL, AtStripe, between, refusal


async def finally_(world: Rig, invoice: InvoiceId, action: FinalAction) -> Closed | None:
    return await final_action(world.deps(), world.scope, invoice, action, reason="dunned out")


async def declined(world: Rig) -> InvoiceId:
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.charge_due()
    return invoice


@pytest.mark.parametrize(
    ("action", "rule"), [(FinalAction.CANCEL, "Z1"), (FinalAction.MARK_UNCOLLECTIBLE, "Z2")]
)
async def test_what_ends_it_cancels_the_intent_first(
    world: Rig, action: FinalAction, rule: str
) -> None:
    invoice = await declined(world)
    closed = await finally_(world, invoice, action)
    assert closed is not None
    assert closed.rule == rule
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert world.row(invoice)["status"] == "uncollectible"
    assert left(world, invoice).attempt == ("not_sent", "done", rule)
    await standing_checks(world)


async def test_a_pause_leaves_it_open_for_a_person_and_the_customer(world: Rig) -> None:
    invoice = await declined(world)
    assert await finally_(world, invoice, FinalAction.PAUSE)
    row = world.row(invoice)
    assert (row["status"], row["collection"], row["hold_until"]) == ("open", "manual", None)
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]
    assert journal(world, invoice)[-1] == ("attempt.not_sent", "Z3")


async def test_leaving_it_changes_nothing_but_its_story(world: Rig) -> None:
    invoice = await declined(world)
    before = world.row(invoice)
    assert await finally_(world, invoice, FinalAction.LEAVE)
    assert world.row(invoice) == before
    assert journal(world, invoice)[-1] == ("attempt.not_sent", "Z4")


async def test_it_never_gives_up_on_a_customer_who_paid(world: Rig) -> None:
    invoice = await declined(world)
    AtStripe(world).page_confirms(invoice)
    with pytest.raises(Refusal) as caught:
        await finally_(world, invoice, FinalAction.CANCEL)
    assert caught.value.code is Code.PAID_MEANWHILE
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_one_that_failed_can_be_tried_again_later(world: Rig) -> None:
    invoice = await declined(world)
    between(world, (CANCEL, refusal(500)))
    with pytest.raises(Refusal) as caught:
        await finally_(world, invoice, FinalAction.CANCEL)
    assert caught.value.code is Code.PROVIDER_UNAVAILABLE
    assert await finally_(world, invoice, FinalAction.CANCEL) is None
    world.later(minutes=6)
    await world.tick()
    assert await finally_(world, invoice, FinalAction.CANCEL)
    await standing_checks(world)


async def test_a_paid_invoice_is_skipped(world: Rig) -> None:
    invoice = await world.invoice()
    await world.charge_due()
    assert await finally_(world, invoice, FinalAction.CANCEL) is None
