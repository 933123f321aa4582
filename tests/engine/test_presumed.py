"""After a charge was presumed not to exist: look once more before acting (A1, H8)."""

import pytest

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.relist import relist
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import left, notices
from tests.engine.lost import swept
from tests.engine.lost_direct import a_day_later, comes_to_rest, crashed, creates, unclear
from tests.engine.rig import Rig, When
from tests.engine.stripe_side import (
    CREATE,
    CUSTOMER,
    LIST,
    AtStripe,
    between,
    refusal,
    shows,
)

DAY_S = 90_000


async def presumed(world: Rig, *, appears_s: float = DAY_S) -> InvoiceId:
    """Stripe answered 500, showed nothing for a day, and carries it out so much later."""
    invoice = await unclear(world, FaultKind.ERROR_500_LATE_EFFECT, seconds=appears_s)
    a_day_later(world)
    assert await swept(world) == {"S12": 1}
    return invoice


async def asked(world: Rig, invoice: InvoiceId) -> object:
    """What an act on the invoice is refused with; None: it may go on."""
    connected = await world.deps().providers.of(world.scope)
    try:
        await relist(world.deps(), connected, world.scope, invoice)
    except Refusal as refusal_:
        return refusal_.code
    return None


async def test_an_invoice_without_such_an_attempt_is_not_asked_about(direct: Rig) -> None:
    invoice = await direct.invoice()
    between(direct, (LIST, refusal(500, type="api_error")))
    assert await asked(direct, invoice) is None


async def test_nothing_new_lets_the_act_go_on(direct: Rig) -> None:
    invoice = await presumed(direct)
    assert await asked(direct, invoice) is None


async def test_a_success_that_turned_up_is_settled_and_refuses_the_act(direct: Rig) -> None:
    invoice = await presumed(direct)
    direct.later(hours=2)
    assert await asked(direct, invoice) is Code.PAID_MEANWHILE
    assert left(direct, invoice).status == "paid"
    assert direct.attempts(invoice) == [("succeeded", "answered")]
    assert "payment.duplicate_charge" not in notices(direct)


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_an_answer_that_shows_nothing_refuses_the_act(direct: Rig, status: int) -> None:
    invoice = await presumed(direct)
    between(direct, (LIST, refusal(status, type="invalid_request_error")))
    assert await asked(direct, invoice) is Code.PROVIDER_UNAVAILABLE


async def test_so_does_an_empty_list_of_a_deleted_customer(direct: Rig) -> None:
    invoice = await presumed(direct)
    between(direct, (CUSTOMER, shows({"object": "customer", "id": "cus_1", "deleted": True})))
    assert await asked(direct, invoice) is Code.PROVIDER_UNAVAILABLE


async def test_a_deleted_customer_ends_collecting_with_a_notice(direct: Rig) -> None:
    """Looking again would never tell more: without an end it would be asked for ever."""
    invoice = await presumed(direct)
    between(direct, (CUSTOMER, shows({"object": "customer", "id": "cus_1", "deleted": True})))
    sent = creates(direct)
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("R2", "not_sent")
    assert creates(direct) == sent
    assert left(direct, invoice).blocked == "setup"
    assert "collection.blocked" in notices(direct)
    direct.later(hours=2)
    assert await direct.charge_due() == []


async def test_and_another_stripe_account(direct: Rig) -> None:
    invoice = await presumed(direct)
    direct.stripe_account = "acct_another"
    assert await asked(direct, invoice) is Code.PROVIDER_UNAVAILABLE


async def test_a1_the_next_charge_looks_before_it_sends(direct: Rig) -> None:
    invoice = await presumed(direct)
    direct.later(hours=2)
    sent = creates(direct)
    (charged,) = await direct.charge_due()
    assert (charged.rule, sent) == ("R2", [])
    assert left(direct, invoice).status == "paid"
    assert left(direct, invoice).free
    assert left(direct, invoice).attempt[:2] == ("not_sent", "recheck_refused")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_a1_without_an_answer_it_sends_nothing(direct: Rig) -> None:
    invoice = await presumed(direct)
    between(direct, (LIST, refusal(500, type="api_error")))
    sent = creates(direct)
    (charged,) = await direct.charge_due()
    assert (charged.rule, sent) == ("R2", [])
    assert left(direct, invoice).free
    await comes_to_rest(direct, invoice, "paid")


async def test_a1_an_operators_collect_hears_the_news(direct: Rig) -> None:
    invoice = await presumed(direct)
    direct.later(hours=2)
    with pytest.raises(Refusal) as refused:
        await direct.collect(invoice)
    assert refused.value.code is Code.PAID_MEANWHILE
    assert left(direct, invoice).status == "paid"


async def test_a1_a_prepared_charge_looks_as_well(direct: Rig) -> None:
    """The account went back to prepared meanwhile: the attempt says what it is."""
    invoice = await presumed(direct)
    await direct.charges(ChargeMode.PREPARED)
    await direct.prepare()
    direct.later(hours=2)
    (charged,) = await direct.charge_due()
    assert charged.rule == "R2"
    assert left(direct, invoice).status == "paid"
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_r10_what_turns_up_after_the_next_payment_is_a_flagged_second_one(
    direct: Rig,
) -> None:
    """What no rule can avoid in this mode: recorded, and a person is told to give it back."""
    invoice = await presumed(direct, appears_s=3 * DAY_S)
    (charged,) = await direct.charge_due()
    assert charged.saved == "paid"
    direct.later(days=3)
    assert direct.paid_at_stripe() == {invoice: 2}
    await direct.tick()
    assert "payment.duplicate_charge" in notices(direct)
    assert len(direct.sql("SELECT 1 FROM anchorhold.payment")) == 2


async def test_r18_adr_clears_a_slow_charge_after_ten_minutes_and_pays_twice(adr: Rig) -> None:
    """What the mode states (R15, R18): a request that Stripe carries out after the clear.

    It is recorded and flagged. With the fence the same story ends with one payment.
    """
    invoice = await slow(adr)
    assert await swept(adr) == {"S8": 1}
    await adr.charge_due()
    adr.later(hours=2)
    await adr.tick()
    assert adr.paid_at_stripe() == {invoice: 2}
    assert "payment.duplicate_charge" in notices(adr)


async def test_r18_with_the_fence_the_same_story_has_one_payment(direct: Rig) -> None:
    invoice = await slow(direct)
    assert await swept(direct) == {"S10": 1}
    assert await direct.charge_due() == []
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def slow(world: Rig) -> InvoiceId:
    """A lock's 429 keeps the hold as a lost result; Stripe carries the charge out later."""
    invoice = await world.invoice()
    await world.prepare()
    world.twin.faults.replace([Rule(FaultKind.LATE, CREATE, frozenset({1}), seconds=3600)])
    await world.charge_due()
    world.sql("UPDATE anchorhold.attempt SET state = 'sending', cause = 'another_request'")
    world.sql("UPDATE anchorhold.invoice SET payment_status = 'pending'")
    world.twin.faults.replace([])
    world.later(minutes=16)
    return invoice


async def test_adr_a_park_waits_its_day(adr: Rig) -> None:
    invoice = await unclear(adr, FaultKind.ERROR_500_WITHOUT_EFFECT)
    assert await swept(adr) == {"S11": 1}
    a_day_later(adr)
    assert await swept(adr) == {"S12": 1}
    await comes_to_rest(adr, invoice, "paid")
    assert adr.paid_at_stripe() == {invoice: 1}


async def test_adr_another_intent_that_was_cancelled_tells_nothing_about_a_lost_charge(
    adr: Rig,
) -> None:
    """It is presumed, and so looked for before the next charge; not proven by a page's intent."""
    invoice = await slow(adr)
    customer = next(iter(adr.twin.accounts[-1].customers))["id"]
    asked = AtStripe(adr).client()
    made = asked.done(
        "/v1/payment_intents",
        amount=1000,
        currency="eur",
        customer=customer,
        metadata={"anchorhold_invoice_id": invoice},
    )
    asked.done(f"/v1/payment_intents/{made['id']}/cancel")
    assert await swept(adr) == {"S8": 1}
    assert left(adr, invoice).attempt[0] == "presumed_none"


async def test_adr_never_sends_a_probe(adr: Rig) -> None:
    await crashed(adr, When.BEFORE)
    sent = creates(adr)
    assert await swept(adr) == {"S8": 1}
    assert sent == []


async def test_adr_a_success_that_came_before_the_next_charge_is_seen(adr: Rig) -> None:
    """Cleared as nothing, then carried out: the next charge looks once more and sends nothing."""
    invoice = await slow(adr)
    assert await swept(adr) == {"S8": 1}
    adr.later(hours=2)
    (charged,) = await adr.charge_due()
    assert charged.rule == "R2"
    assert adr.paid_at_stripe() == {invoice: 1}
