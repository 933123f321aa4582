"""An operator's Collect: one charge now, or a refusal that says why and what to do."""

import pytest

from anchorhold.domain.ids import INVOICE, InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.entropy import new_id
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import left
from tests.engine.lost import crashed, unknown
from tests.engine.rig import Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import ATTACH, CREATE, CUSTOMERS, AtStripe


async def refused(world: Rig, invoice: InvoiceId) -> Refusal:
    """The refusal, after which nothing was sent that could move money."""
    confirms = [e for e in world.twin.requests if e.path.endswith("/confirm")]
    with pytest.raises(Refusal) as caught:
        await world.collect(invoice)
    assert [e for e in world.twin.requests if e.path.endswith("/confirm")] == confirms
    return caught.value


async def test_it_prepares_and_charges_in_one_go(world: Rig) -> None:
    invoice = await world.invoice()
    charged = await world.collect(invoice)
    assert (charged.rule, charged.saved) == ("A1", "paid")
    assert world.sql("SELECT kind FROM anchorhold.attempt") == [("collect",)]
    await standing_checks(world)


async def test_a_declined_invoice_can_be_collected_again_on_the_same_intent(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.charge_due()
    assert (await world.collect(invoice)).saved == "failed"
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]
    assert [state for state, _ in world.attempts(invoice)] == ["failed", "failed"]
    await standing_checks(world)


async def test_one_that_needs_the_customer_can_be_tried_all_the_same(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_authenticationRequired")
    await world.charge_due()
    assert (await world.collect(invoice)).rule == "A6"


async def test_an_invoice_that_is_not_there(world: Rig) -> None:
    assert (await refused(world, new_id(INVOICE))).code is Code.INVOICE_NOT_FOUND


async def test_a_paid_invoice(world: Rig) -> None:
    invoice = await world.invoice()
    await world.charge_due()
    assert (await refused(world, invoice)).code is Code.INVOICE_NOT_OPEN


async def test_nothing_due(world: Rig) -> None:
    invoice = await world.invoice()
    world.sql("UPDATE anchorhold.invoice SET amount_paid = amount_due")
    assert (await refused(world, invoice)).code is Code.NOTHING_DUE


async def test_a_live_hold(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await world.claim_due()
    refusal = await refused(world, invoice)
    assert refusal.code is Code.PAYMENT_IN_FLIGHT
    hold = world.sql("SELECT hold_until FROM anchorhold.invoice")[0][0]
    assert refusal.facts["next_check_at"] == hold


async def test_a_stale_hold_is_not_free(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    assert (await refused(world, invoice)).code is Code.PAYMENT_IN_FLIGHT


async def test_an_unknown_result(world: Rig) -> None:
    invoice = await unknown(world)
    assert (await refused(world, invoice)).code is Code.PAYMENT_IN_FLIGHT
    await world.recover()
    await standing_checks(world)


async def test_a_debit_under_way(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    AtStripe(world).page_debits(invoice, "pm_success_de")
    await world.charge_due()
    assert (await refused(world, invoice)).code is Code.PAYMENT_IN_FLIGHT


async def test_a_set_up_that_stripe_refused(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_chargeDeclined")
    await world.prepare()
    assert (await refused(world, invoice)).code is Code.COLLECTION_BLOCKED


async def test_a_flagged_account(world: Rig) -> None:
    invoice = await world.invoice()
    world.sql(
        "UPDATE anchorhold.connection SET refused_at = anchorhold.now(), refused_reason = 'no'"
    )
    assert (await refused(world, invoice)).code is Code.ACCOUNT_FLAGGED


async def test_an_account_that_is_not_connected(world: Rig) -> None:
    invoice = await world.invoice()
    world.connected = False
    assert (await refused(world, invoice)).code is Code.ACCOUNT_FLAGGED


async def test_an_intent_in_another_stripe_account(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.sql("UPDATE anchorhold.connection SET stripe_account = 'acct_other'")
    assert (await refused(world, invoice)).code is Code.STRIPE_ACCOUNT_CHANGED


async def test_no_payment_method(world: Rig) -> None:
    invoice = await world.invoice(method=None)
    refusal = await refused(world, invoice)
    assert refusal.code is Code.PAYMENT_METHOD_MISSING
    assert str(refusal.facts["customer"]).startswith("cus_")


@pytest.mark.parametrize("endpoint", [CUSTOMERS, ATTACH])
async def test_a_customer_that_could_not_be_set_up_yet(world: Rig, endpoint: str) -> None:
    invoice = await world.invoice()
    world.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, endpoint, calls=frozenset({1}))])
    refusal = await refused(world, invoice)
    assert refusal.code is Code.PROVIDER_UNAVAILABLE
    assert "customer" in refusal.sentence
    assert left_alone(world)


async def test_an_intent_that_could_not_be_prepared(world: Rig) -> None:
    invoice = await world.invoice()
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, CREATE, calls=frozenset({1}))])
    assert (await refused(world, invoice)).code is Code.PROVIDER_UNAVAILABLE
    assert left_alone(world)


async def test_a_refunded_invoice_waits_for_a_person(world: Rig) -> None:
    invoice = await unknown(world)
    AtStripe(world).refund(invoice)
    await world.tick()
    assert (await refused(world, invoice)).code is Code.COLLECTION_BLOCKED
    assert left(world, invoice).free


def left_alone(world: Rig) -> bool:
    """No attempt was made."""
    return world.sql("SELECT 1 FROM anchorhold.attempt") == []
