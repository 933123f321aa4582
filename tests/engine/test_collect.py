"""An operator's Collect: one charge now, or a refusal that says why and what to do."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.dunning import TRIES_MAX
from anchorhold.domain.ids import INVOICE, InvoiceId
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.abandon import abandon_intent
from anchorhold.entropy import new_id
from anchorhold.store import payments
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import journal, left
from tests.engine.lost import crashed, unknown
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    ATTACH,
    CONFIRM,
    CREATE,
    CUSTOMERS,
    RETRIEVE,
    AtStripe,
    between,
    refusal,
    shows,
)

T = TypeVar("T")


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


async def refunded(world: Rig) -> InvoiceId:
    """Paid by a charge that was lost, and given back before anybody heard of it."""
    invoice = await unknown(world)
    AtStripe(world).refund(invoice)
    await world.tick()
    assert (world.row(invoice)["collection"], left(world, invoice).free) == ("manual", True)
    return invoice


async def test_a_refunded_invoice_is_collected_again_only_by_a_person(world: Rig) -> None:
    invoice = await refunded(world)
    assert await world.charge_due() == []
    assert (await world.collect(invoice)).saved == "paid"
    assert AtStripe(world).intents(invoice) == ["succeeded", "succeeded"]
    assert world.paid_at_stripe()[invoice] == 1
    await standing_checks(world)


async def test_a_refund_that_failed_since_is_not_paid_a_second_time(world: Rig) -> None:
    invoice = await refunded(world)
    shown = {**AtStripe(world).intent(invoice)}
    shown["latest_charge"] = {
        **next(c for c in AtStripe(world).account.charges if c["id"] == shown["latest_charge"]),
        "amount_refunded": 0,
    }
    between(world, (RETRIEVE, shows(shown)))
    assert (await refused(world, invoice)).code is Code.COLLECTION_BLOCKED


async def test_a_refund_that_cannot_be_looked_up_refuses_it(world: Rig) -> None:
    invoice = await refunded(world)
    between(world, (RETRIEVE, refusal(500)))
    assert (await refused(world, invoice)).code is Code.PROVIDER_UNAVAILABLE


async def test_the_rest_of_a_short_payment_is_collected_by_a_person(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    intent = AtStripe(world).intent(invoice)
    less = Success(intent["id"], 4900, 0, "eur", "ch_1", None)
    await payments.settle(world.pool, world.scope, invoice, less, Source.FOLLOWER, actor="test")
    world.later(minutes=2)
    assert await world.charge_due() == []
    assert (await world.collect(invoice)).saved == "paid"
    assert AtStripe(world).intent(invoice)["amount"] == 10000
    row = world.row(invoice)
    assert (row["status"], row["amount_paid"]) == ("paid", 14900)


async def test_j2_a_bank_is_asked_eight_times_at_most(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.charge_due()
    for _ in range(TRIES_MAX - 1):
        assert (await world.collect(invoice)).saved == "failed"
    assert (await refused(world, invoice)).code is Code.TOO_MANY_TRIES
    assert len(AtStripe(world).charges(invoice)) == TRIES_MAX


async def test_j2_the_count_is_made_again_under_the_hold(world: Rig) -> None:
    """Two operators at once: the second has read the count before the first made the last try."""
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.charge_due()
    world.sql(
        "INSERT INTO anchorhold.attempt SELECT (jsonb_populate_record(a, jsonb_build_object("
        " 'id', 'att_' || n, 'seq', 100 + n))).* FROM anchorhold.attempt a,"
        " generate_series(1, 6) n"
    )
    gate = LastTry(world)
    with pytest.raises(Refusal) as caught:
        await world.collect(invoice, world.deps(gate))
    assert caught.value.code is Code.TOO_MANY_TRIES
    assert left(world, invoice).free
    assert len(AtStripe(world).charges(invoice)) == 1


class LastTry(Gate):
    """Somebody else makes the last try just before the claim."""

    def __init__(self, world: Rig) -> None:
        super().__init__()
        self.world = world

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        if name == "db holds.claim":
            self.world.sql(
                "INSERT INTO anchorhold.attempt SELECT (jsonb_populate_record(a,"
                " jsonb_build_object('id', 'att_last', 'seq', 200))).*"
                " FROM anchorhold.attempt a WHERE id = 'att_1'"
            )
        return await super().through(name, act)


async def test_a_later_ordinary_decline_lifts_the_need_for_the_customer(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_authenticationRequired")
    await world.charge_due()
    assert world.row(invoice)["blocked_reason"] == "customer_action"
    between(world, (CONFIRM, refusal(402, type="card_error", code="card_declined")))
    assert (await world.collect(invoice)).saved == "failed"
    assert world.row(invoice)["blocked_reason"] is None


async def test_an_intent_of_another_stripe_account_can_be_abandoned(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.sql("UPDATE anchorhold.connection SET stripe_account = 'acct_other'")
    intent = await abandon_intent(world.deps(), world.scope, invoice, reason="account closed")
    assert intent == AtStripe(world).intent(invoice)["id"]
    assert world.row(invoice)["intent_id"] is None
    assert world.sql("SELECT state FROM anchorhold.intent") == [("abandoned",)]
    assert journal(world, invoice)[-1] == ("intent.abandoned", None)


async def test_an_intent_of_the_connected_account_cannot_be_abandoned(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    with pytest.raises(Refusal) as caught:
        await abandon_intent(world.deps(), world.scope, invoice, reason="why not")
    assert caught.value.code is Code.NOTHING_TO_ABANDON
    assert world.row(invoice)["intent_id"]


def left_alone(world: Rig) -> bool:
    """No attempt was made."""
    return world.sql("SELECT 1 FROM anchorhold.attempt") == []
