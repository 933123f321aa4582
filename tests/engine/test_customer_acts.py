"""An intent that waits for its customer is left in peace for an hour, then given up on."""

import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.twin.faults import FaultKind
from tests.engine.charging import ends, fails
from tests.engine.left import left
from tests.engine.rig import Rig
from tests.engine.stripe_side import (
    CANCEL,
    CONFIRM,
    AtStripe,
    between,
    meanwhile,
    refusal,
    shows,
)


async def test_a_customer_who_waits_for_an_hour_is_given_up_on(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await waits_for_customer(world, at)
    world.later(minutes=61)
    (charged,) = await world.charge_due()
    assert charged.rule == "A4"
    assert left(world, invoice).intent == "canceled"
    await ends(world, invoice, paid=True)
    assert at.intents(invoice) == ["canceled", "succeeded"]


async def test_a_customer_who_paid_in_the_last_minute_is_not_charged_again(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await waits_for_customer(world, at)
    world.later(minutes=61)
    between(world, (CANCEL, meanwhile(lambda: at.page_confirms(invoice))))
    (charged,) = await world.charge_due()
    assert charged.saved == "paid"
    await ends(world, invoice, paid=True)


@pytest.mark.parametrize(
    ("kind", "free"),
    [
        (FaultKind.REFUSED, True),
        (FaultKind.RATE_LIMIT, True),
        (FaultKind.LOCK_TIMEOUT, False),
        (FaultKind.DROPPED_AFTER, False),
        (FaultKind.ERROR_500_WITHOUT_EFFECT, False),
    ],
)
async def test_an_unclear_cancel_keeps_the_hold_and_one_never_sent_frees_it(
    world: Rig, kind: FaultKind, free: bool
) -> None:
    at = AtStripe(world)
    invoice = await waits_for_customer(world, at)
    world.later(minutes=61)
    world.twin.faults.replace([fails(kind, CANCEL)])
    await world.charge_due()
    assert left(world, invoice).free == free
    await ends(world, invoice, paid=True)


async def test_a_decline_ends_the_wait_for_the_customer(world: Rig) -> None:
    """Or an hour later the next claim would cancel an intent that nobody is paying."""
    at = AtStripe(world)
    invoice = await waits_for_customer(world, at)
    world.later(minutes=11)
    between(world, (CONFIRM, refusal(402, type="card_error", code="card_declined")))
    await world.charge_due()
    world.later(minutes=61)
    assert (await world.collect(invoice)).rule == "A1"
    assert at.intents(invoice) == ["succeeded"]


async def waits_for_customer(world: Rig, at: AtStripe) -> InvoiceId:
    """An attempt met a customer in the middle of paying."""
    invoice = await world.invoice()
    await world.prepare()
    at.page_confirms(invoice, "pm_card_threeDSecure2Required")
    between(world, (CONFIRM, shows(at.intent(invoice))))
    await world.charge_due()
    return invoice
