"""A close, an amend or a final action whose owner died: its hold ends and nothing was changed."""

import pytest

from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.ids import InvoiceId
from anchorhold.store import closes
from tests.engine.left import Left, left
from tests.engine.lost import swept, written_off
from tests.engine.rig import Rig
from tests.engine.stripe_side import AtStripe, end_debits

GONE = ("not_sent", "owner_gone")
KINDS = (AttemptKind.CLOSE, AttemptKind.AMEND, AttemptKind.FINAL_ACTION)


async def gone(
    world: Rig, kind: AttemptKind = AttemptKind.CLOSE, *, prepared: bool = True
) -> InvoiceId:
    """Somebody held the invoice to end or change it, died, and the hold has ended since."""
    invoice = await world.invoice()
    if prepared:
        await world.prepare()
    held = await closes.claim(
        world.pool, world.scope, world.timing, invoice, kind, actor="operator:test"
    )
    assert held is not None
    world.later(minutes=6)
    return invoice


@pytest.mark.parametrize("kind", KINDS)
async def test_s8_the_invoice_is_as_it_was_and_is_charged_again(
    world: Rig, kind: AttemptKind
) -> None:
    invoice = await gone(world, kind)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice) == Left("open", "pending", True, 0, (*GONE, "S8"), "live")
    await world.recover()
    assert world.row(invoice)["status"] == "paid"


async def test_s8_an_intent_that_he_could_cancel_ends_with_it(world: Rig) -> None:
    invoice = await gone(world)
    AtStripe(world).cancel(invoice)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice) == Left("open", "pending", True, 0, (*GONE, "S8"), "canceled")


async def test_s1_money_that_came_meanwhile_is_settled(world: Rig) -> None:
    invoice = await gone(world)
    AtStripe(world).page_confirms(invoice)
    await swept(world)
    assert left(world, invoice).status == "paid"
    assert left(world, invoice).free
    assert left(world, invoice).attempt[:2] == GONE


async def test_s3_a_debit_that_the_customer_began_is_followed(world: Rig) -> None:
    invoice = await gone(world)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    assert await swept(world) == {"S3": 1}
    seen = left(world, invoice)
    assert (seen.payment_status, seen.free, seen.seq) == ("processing", True, 0)
    assert seen.attempt[:2] == GONE
    end_debits(world)
    await world.recover()
    assert world.row(invoice)["status"] == "paid"


async def test_s6b_what_is_closed_by_now_does_not_stay_payable(world: Rig) -> None:
    invoice = await gone(world)
    written_off(world)
    assert await swept(world) == {"S6b": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    world.later(minutes=31)
    assert await swept(world) == {"S9": 1}
    assert left(world, invoice).attempt == (*GONE, "S9")


@pytest.mark.parametrize("connected", [True, False])
async def test_without_any_intent_it_ends_at_once_and_nobody_is_asked(
    world: Rig, *, connected: bool
) -> None:
    invoice = await gone(world, prepared=False)
    world.connected = connected
    asked = len(world.twin.requests)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice) == Left("open", "pending", True, 0, (*GONE, "S8"), None)
    assert [r.path for r in world.twin.requests[asked:] if "payment_intents" in r.path] == []
