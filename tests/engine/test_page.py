"""The hosted page: when its secret may leave, and what it shows otherwise."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.ids import INVOICE, InvoiceId
from anchorhold.domain.refusal_kinds import Coded
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.close import void
from anchorhold.engine.page import Page, PageState, open_page
from anchorhold.entropy import new_id
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.lost import crashed
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CREATE, RETRIEVE, AtStripe, between, meanwhile, refusal

T = TypeVar("T")


async def opened(world: Rig, invoice: InvoiceId) -> Page:
    return await open_page(world.deps(), world.scope, invoice)


async def refused(world: Rig, invoice: InvoiceId) -> Coded:
    with pytest.raises(Refusal) as caught:
        await opened(world, invoice)
    return caught.value.code


async def test_the_page_gets_the_secret_of_the_one_intent(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    page = await opened(world, invoice)
    intent = AtStripe(world).intent(invoice)
    assert page == Page(PageState.PAY, 14900, "eur", intent["id"], intent["client_secret"])
    assert intent["client_secret"] not in repr(page)


async def test_an_intent_that_is_missing_is_prepared(world: Rig) -> None:
    invoice = await world.invoice(method=None)
    assert (await opened(world, invoice)).state is PageState.PAY
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]


async def test_in_direct_mode_the_page_opens_the_only_live_intent(world: Rig) -> None:
    world.sql("UPDATE anchorhold.account SET charge_mode = 'direct'")
    invoice = await world.invoice()
    page = await opened(world, invoice)
    assert page.intent_id == AtStripe(world).intent(invoice)["id"]
    assert page.intent_id == (await opened(world, invoice)).intent_id


async def test_a13_two_tabs_pay_one_intent_once(world: Rig) -> None:
    invoice = await world.invoice()
    first, second = await opened(world, invoice), await opened(world, invoice)
    assert first == second
    assert AtStripe(world).page_confirms(invoice).status == 200
    assert AtStripe(world).page_confirms(invoice).status == 400
    await world.tick()
    assert (await opened(world, invoice)).state is PageState.PAID
    await standing_checks(world)


async def test_a7_a_page_that_is_open_and_an_automatic_charge_make_one_payment(
    world: Rig,
) -> None:
    invoice = await world.invoice()
    await opened(world, invoice)
    AtStripe(world).page_confirms(invoice)
    await world.charge_due()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_a24_a_page_in_the_middle_of_authentication_resumes_the_same_intent(
    world: Rig,
) -> None:
    invoice = await world.invoice()
    before = await opened(world, invoice)
    AtStripe(world).page_confirms(invoice, "pm_card_threeDSecure2Required")
    assert AtStripe(world).intent(invoice)["status"] == "requires_action"
    assert await opened(world, invoice) == before


async def test_what_the_customer_paid_is_found_although_nobody_tells_us(world: Rig) -> None:
    invoice = await world.invoice(method=None)
    await opened(world, invoice)
    AtStripe(world).page_confirms(invoice)
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    assert world.sql("SELECT source FROM anchorhold.payment") in ([("watch",)], [("audit",)])


async def test_h5_a_charge_that_claims_first_keeps_the_secret_in(world: Rig) -> None:
    """The page has read a free invoice; the claim comes before its own second look."""
    invoice = await world.invoice()
    await world.prepare()
    await world.claim_due()
    page = await opened(world, invoice)
    assert (page.state, page.client_secret) == (PageState.CONFIRMING, None)
    held = world.sql("SELECT hold_until FROM anchorhold.invoice")[0][0]
    assert page.next_check_at == held


async def test_h5_a_claim_between_look_and_write_keeps_the_secret_in(world: Rig) -> None:
    invoice = await world.invoice()

    def claims() -> None:
        world.sql(
            "UPDATE anchorhold.invoice SET hold_attempt = 'att_other',"
            " hold_until = anchorhold.now() + interval '5 minutes'"
        )

    between(world, (CREATE, meanwhile(claims)))
    assert (await opened(world, invoice)).state is PageState.CONFIRMING


class Claimed(Gate):
    """A worker claims the invoice just before one step."""

    def __init__(self, world: Rig, step: str) -> None:
        super().__init__()
        self.world, self.step = world, step

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        if name == self.step:
            assert await self.world.claim_due()
        return await super().through(name, act)


async def test_h5_a_claim_after_the_last_look_keeps_the_secret_in(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    gate = Claimed(world, "db pages.open_page")
    page = await open_page(world.deps(gate), world.scope, invoice)
    assert (page.state, page.client_secret) == (PageState.CONFIRMING, None)
    assert "stripe retrieve_secret" not in gate.passed


async def test_a_charge_that_claims_first_is_not_voided_beside(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    gate = Claimed(world, "db closes.claim")
    with pytest.raises(Refusal) as caught:
        await void(world.deps(gate), world.scope, invoice, reason="made twice")
    assert caught.value.code is Code.PAYMENT_IN_FLIGHT
    assert "stripe cancel_intent" not in gate.passed


async def test_a_lost_charge_is_being_confirmed(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    assert (await opened(world, invoice)).state is PageState.CONFIRMING


async def test_a_void_invoice_asks_for_nothing(world: Rig) -> None:
    invoice = await world.invoice()
    await void(world.deps(), world.scope, invoice, reason="made twice")
    assert (await opened(world, invoice)).state is PageState.VOID


async def test_an_invoice_that_is_not_there(world: Rig) -> None:
    assert await refused(world, new_id(INVOICE)) is Code.INVOICE_NOT_FOUND


async def test_an_intent_in_another_stripe_account(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.sql("UPDATE anchorhold.connection SET stripe_account = 'acct_other'")
    assert await refused(world, invoice) is Code.STRIPE_ACCOUNT_CHANGED


async def test_a_mode_that_is_not_connected(world: Rig) -> None:
    invoice = await world.invoice()
    world.connected = False
    assert await refused(world, invoice) is Code.ACCOUNT_FLAGGED


async def test_an_intent_that_could_not_be_prepared(world: Rig) -> None:
    invoice = await world.invoice()
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, CREATE, calls=frozenset({1}))])
    assert await refused(world, invoice) is Code.PROVIDER_UNAVAILABLE


async def test_a_secret_that_stripe_does_not_tell(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    between(world, (RETRIEVE, refusal(500)))
    assert await refused(world, invoice) is Code.PROVIDER_UNAVAILABLE


async def test_the_secret_is_nowhere_in_the_database(world: Rig) -> None:
    invoice = await world.invoice()
    page = await opened(world, invoice)
    for table in ("invoice", "intent", "attempt", "journal"):
        rows = world.sql(f"SELECT to_jsonb(t)::text FROM anchorhold.{table} t")
        assert not any(str(page.client_secret) in text for (text,) in rows)
