"""Closing an invoice: every answer to the cancel, and what it leaves here and at Stripe."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.amend import amend
from anchorhold.engine.close import Closed, paid_elsewhere, void, write_off
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import journal, left, notices
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    CANCEL,
    RETRIEVE,
    AtStripe,
    Turn,
    between,
    end_debits,
    meanwhile,
    refusal,
    sent_by,
    unreadable,
)

Closing = Callable[[Rig, InvoiceId], Awaitable[Closed]]


async def voids(world: Rig, invoice: InvoiceId) -> Closed:
    return await void(world.deps(), world.scope, invoice, reason="made twice")


async def writes_off(world: Rig, invoice: InvoiceId) -> Closed:
    return await write_off(world.deps(), world.scope, invoice, reason="bankrupt")


async def takes_cash(world: Rig, invoice: InvoiceId) -> Closed:
    return await paid_elsewhere(world.deps(), world.scope, invoice, reference="bank transfer 7")


async def credits_half(world: Rig, invoice: InvoiceId) -> Closed:
    return await amend(world.deps(), world.scope, invoice, amount_due=7450, reason="late delivery")


@dataclass(frozen=True)
class Way:
    """One way to close, and how the invoice is when it worked: status, paid of due."""

    run: Closing
    status: str
    paid: int
    due: int = 14900


WAYS = {
    "void": Way(voids, "void", 0),
    "write-off": Way(writes_off, "uncollectible", 0),
    "paid elsewhere": Way(takes_cash, "paid", 14900),
    "amend": Way(credits_half, "open", 0, 7450),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


async def prepared(world: Rig, *turns: tuple[str, Turn], method: str = "pm_card_visa") -> InvoiceId:
    invoice = await world.invoice(method=method)
    await world.prepare()
    between(world, *turns)
    return invoice


async def refused(world: Rig, way: Way, invoice: InvoiceId) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await way.run(world, invoice)
    return caught.value


@ways
async def test_c4_the_intent_is_cancelled_and_the_invoice_ends(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    assert (await way.run(world, invoice)).rule == "C4"
    assert AtStripe(world).intents(invoice) == ["canceled"]
    row = world.row(invoice)
    assert (row["status"], row["amount_paid"], row["amount_due"]) == (way.status, way.paid, way.due)
    assert (row["hold_until"], row["intent_id"]) == (None, None)
    assert left(world, invoice).attempt == ("not_sent", "done", "C4")
    assert left(world, invoice).intent == "canceled"


@ways
async def test_c1_without_an_intent_stripe_is_not_asked(world: Rig, way: Way) -> None:
    invoice = await world.invoice(method=None)
    world.connected = False
    assert (await way.run(world, invoice)).rule == "C1"
    assert world.row(invoice)["status"] == way.status
    assert world.twin.requests == []


@ways
async def test_c2_an_intent_in_another_stripe_account_refuses_it(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    world.stripe_account = "acct_other"
    assert (await refused(world, way, invoice)).code is Code.STRIPE_ACCOUNT_CHANGED
    assert left(world, invoice).attempt == ("not_sent", "refused", "C2")
    assert left(world, invoice).free
    assert notices(world) == ["close.refused"]


@ways
async def test_c3_a_customer_who_paid_first_is_settled(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    AtStripe(world).page_confirms(invoice)
    assert (await refused(world, way, invoice)).code is Code.PAID_MEANWHILE
    found = left(world, invoice)
    assert (found.status, found.free) == ("paid", True)
    assert found.attempt == ("not_sent", "intent_succeeded", "C3")
    assert world.sql("SELECT source FROM anchorhold.payment") == [("close",)]
    await standing_checks(world)


@ways
async def test_c3_a_payment_that_was_given_back_is_told_and_closes_nothing(
    world: Rig, way: Way
) -> None:
    invoice = await prepared(world)
    AtStripe(world).page_confirms(invoice)
    AtStripe(world).refund(invoice)
    assert (await refused(world, way, invoice)).code is Code.PAID_MEANWHILE
    assert notices(world) == ["payment.found_refunded"]
    assert (await way.run(world, invoice)).rule == "C1"


@ways
async def test_c5_a_debit_under_way_is_followed(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    refusal = await refused(world, way, invoice)
    assert refusal.code is Code.PAYMENT_IN_FLIGHT
    row = world.row(invoice)
    assert (row["payment_status"], row["hold_until"]) == ("processing", None)
    assert row["followed_intent_id"] == row["intent_id"]
    assert refusal.facts["hold"] == "following"
    end_debits(world)
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


UNCLEAR = {
    "C7": refusal(400, code="payment_intent_unexpected_state"),
    "C11 lock_timeout": refusal(429, code="lock_timeout"),
    "C11 conflict": refusal(409, type="idempotency_error"),
    "C14 500": refusal(500),
    "C14 unreadable": unreadable(),
}


@ways
@pytest.mark.parametrize("name", UNCLEAR)
async def test_what_nobody_can_tell_keeps_the_hold(world: Rig, way: Way, name: str) -> None:
    invoice = await prepared(world, (CANCEL, UNCLEAR[name]))
    refusal = await refused(world, way, invoice)
    assert refusal.code is Code.PROVIDER_UNAVAILABLE
    held = world.sql("SELECT hold_until FROM anchorhold.invoice")[0][0]
    assert refusal.facts["next_check_at"] == held
    assert "the hold is kept" in refusal.sentence
    assert world.row(invoice)["status"] == "open"
    assert world.attempts(invoice) == [("claimed", None)]
    assert journal(world, invoice)[-1] == ("hold.kept", name[:3].strip())


@ways
@pytest.mark.parametrize("kind", [FaultKind.DROPPED_AFTER, FaultKind.DROPPED_BEFORE])
async def test_c14_an_answer_that_is_lost_closes_nothing(
    world: Rig, way: Way, kind: FaultKind
) -> None:
    invoice = await prepared(world)
    world.twin.faults.replace([Rule(kind, CANCEL, calls=frozenset({1}))])
    assert (await refused(world, way, invoice)).code is Code.PROVIDER_UNAVAILABLE
    assert not left(world, invoice).free
    assert (await refused(world, way, invoice)).code is Code.PAYMENT_IN_FLIGHT


@ways
@pytest.mark.parametrize("status", [401, 403])
async def test_c8_a_refused_key_flags_the_account(world: Rig, way: Way, status: int) -> None:
    invoice = await prepared(world, (CANCEL, refusal(status, message="Expired key.")))
    assert (await refused(world, way, invoice)).code is Code.ACCOUNT_FLAGGED
    assert left(world, invoice).attempt == ("not_sent", "account_refused", "C8")
    assert left(world, invoice).free
    assert notices(world) == ["close.refused"]
    assert world.sql("SELECT refused_reason FROM anchorhold.connection") == [
        (f"{status} Expired key.",)
    ]


@ways
async def test_c9_an_intent_that_is_not_there_is_told_to_a_person(world: Rig, way: Way) -> None:
    invoice = await prepared(world, (CANCEL, refusal(404, code="resource_missing")))
    assert (await refused(world, way, invoice)).code is Code.PROVIDER_REFUSED
    assert left(world, invoice).attempt == ("not_sent", "refused", "C9")
    assert left(world, invoice).free
    assert notices(world) == ["close.refused"]


@ways
async def test_c10_a_rate_limit_releases_the_hold(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    world.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, CANCEL, calls=frozenset({1}))])
    refusal = await refused(world, way, invoice)
    assert refusal.code is Code.PROVIDER_UNAVAILABLE
    assert "the hold is released" in refusal.sentence
    assert left(world, invoice).attempt == ("not_sent", "rate_limited", "C10")
    assert (await way.run(world, invoice)).rule == "C4"


@ways
async def test_c12_a_mode_that_is_not_connected_refuses_what_has_an_intent(
    world: Rig, way: Way
) -> None:
    invoice = await prepared(world)
    world.connected = False
    assert (await refused(world, way, invoice)).code is Code.ACCOUNT_FLAGGED
    assert left(world, invoice).attempt == ("not_sent", "account_refused", "C12")
    assert left(world, invoice).free


@ways
async def test_c13_a_cancel_that_was_not_sent_releases_the_hold(world: Rig, way: Way) -> None:
    invoice = await prepared(world)
    sent = sent_by(world, CANCEL)
    world.timing = replace(world.timing, deadline_auto_seconds=-1)
    assert (await refused(world, way, invoice)).code is Code.PROVIDER_UNAVAILABLE
    assert left(world, invoice).attempt == ("not_sent", "deadline_passed", "C13")
    assert left(world, invoice).free
    assert sent == []


async def test_c6_a_cancel_that_did_not_take_keeps_the_hold(world: Rig) -> None:
    invoice = await prepared(world)
    shown = AtStripe(world).intent(invoice)
    answer = refusal(400, code="payment_intent_unexpected_state", payment_intent=shown)
    between(world, (CANCEL, answer))
    assert (await refused(world, WAYS["void"], invoice)).code is Code.PROVIDER_UNAVAILABLE
    assert journal(world, invoice)[-1] == ("hold.kept", "C6")


async def test_a_success_that_was_only_named_is_looked_up(world: Rig) -> None:
    invoice = await prepared(world)
    AtStripe(world).page_confirms(invoice)
    between(world, (RETRIEVE, refusal(500)))
    assert (await refused(world, WAYS["void"], invoice)).code is Code.PROVIDER_UNAVAILABLE
    assert not left(world, invoice).free
    assert world.sql("SELECT FROM anchorhold.payment") == []


async def test_a_customer_who_pays_while_the_cancel_is_under_way_wins(world: Rig) -> None:
    invoice = await prepared(world)
    between(world, (CANCEL, meanwhile(lambda: AtStripe(world).page_confirms(invoice))))
    assert (await refused(world, WAYS["void"], invoice)).code is Code.PAID_MEANWHILE
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_an_amended_invoice_is_charged_the_new_amount(world: Rig) -> None:
    invoice = await prepared(world)
    await credits_half(world, invoice)
    await world.charge_due()
    assert AtStripe(world).intents(invoice) == ["canceled", "succeeded"]
    assert world.sql("SELECT amount FROM anchorhold.payment") == [(7450,)]
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_an_amount_of_nothing_settles(world: Rig) -> None:
    invoice = await prepared(world)
    closed = await amend(world.deps(), world.scope, invoice, amount_due=0, reason="all of it")
    assert closed.status == "paid"
    assert world.sql("SELECT FROM anchorhold.payment") == []
    await standing_checks(world)


async def test_an_amount_below_what_was_paid_is_refused(world: Rig) -> None:
    invoice = await prepared(world)
    world.sql("UPDATE anchorhold.invoice SET amount_paid = 100")
    with pytest.raises(Refusal) as caught:
        await amend(world.deps(), world.scope, invoice, amount_due=99, reason="less")
    assert caught.value.code is Code.AMOUNT_BELOW_PAID
    assert world.sql("SELECT FROM anchorhold.attempt") == []


async def test_a_changed_amount_lifts_a_set_up_fault(world: Rig) -> None:
    invoice = await world.invoice(amount=10)
    await world.prepare()
    assert world.row(invoice)["blocked_reason"] == "setup"
    await amend(world.deps(), world.scope, invoice, amount_due=500, reason="together")
    assert (await world.charge_due())[0].saved == "paid"


async def test_a_closed_invoice_is_not_closed_again(world: Rig) -> None:
    invoice = await prepared(world)
    await voids(world, invoice)
    assert (await refused(world, WAYS["write-off"], invoice)).code is Code.INVOICE_NOT_OPEN


async def test_a_payment_elsewhere_has_its_row_and_its_words(world: Rig) -> None:
    invoice = await prepared(world)
    await takes_cash(world, invoice)
    row = world.sql(
        "SELECT amount, currency, source, elsewhere, stripe_intent_id FROM anchorhold.payment"
    )
    assert row == [(14900, "eur", "elsewhere", "bank transfer 7", None)]
    assert ("invoice.paid_elsewhere", "C4") in journal(world, invoice)


async def test_an_end_keeps_its_reason_and_who_gave_it(world: Rig) -> None:
    invoice = await prepared(world)
    await voids(world, invoice)
    assert world.row(invoice)["close_reason"] == "made twice"
    told = world.sql("SELECT actor, detail FROM anchorhold.journal WHERE what = 'invoice.void'")
    assert told == [("worker:test", {"reason": "made twice", "amount": 14900, "currency": "eur"})]


async def test_money_that_comes_after_a_void_is_told(world: Rig) -> None:
    """C15: an intent that the database forgot is paid although its invoice was voided."""
    invoice = await prepared(world)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    await voids(world, invoice)
    AtStripe(world).page_confirms(invoice)
    world.sql("UPDATE anchorhold.intent SET watched_since = now(), watch_at = now()")
    await world.tick()
    assert notices(world) == ["payment.received_on_voided_invoice"]
    assert world.row(invoice)["status"] == "void"
