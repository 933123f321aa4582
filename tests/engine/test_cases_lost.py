"""Faults from the field, groups A, H and P: lost answers, second charges, refunds, lost tails."""

import asyncio
import contextlib

import pytest

from anchorhold.domain.payment import Source, Success
from anchorhold.store import payments
from anchorhold.twin import acts
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.charging import charge, fails
from tests.engine.left import left, notices
from tests.engine.lost import crashed, dies, swept, unknown
from tests.engine.rig import Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    CONFIRM,
    CREATE,
    RETRIEVE,
    AtStripe,
    Turn,
    between,
    meanwhile,
    refusal,
    sent_by,
    unreadable,
)
from tests.engine.test_late import freezes, thaws


async def test_case_a1_a_lost_answer_is_repeated_byte_by_byte(world: Rig) -> None:
    invoice = await world.invoice()
    world.twin.faults.replace([fails(FaultKind.DROPPED_AFTER, CREATE)])
    bodies = sent_by(world, CREATE)
    await world.prepare()
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    world.sql("UPDATE anchorhold.invoice SET reference = 'another reference'")
    world.later(minutes=2)
    await world.charge_due()
    first, second = bodies
    assert first.body == second.body
    assert first.header("idempotency-key") == second.header("idempotency-key")
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_a6_a_save_that_fails_after_the_charge_loses_nothing(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE, at="db payments.settle")
    assert world.attempts(invoice) == [("sending", None)]
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_case_a8_a_worker_that_finds_it_paid_leaves_the_others_row_alone(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    gate, owner = await freezes(world, "stripe confirm_intent")
    await world.tick()
    rows = world.sql("SELECT * FROM anchorhold.payment")
    assert (await thaws(gate, owner)).saved == "known"
    assert world.sql("SELECT * FROM anchorhold.payment") == rows
    assert world.attempts(invoice) == [("succeeded", "answered")]
    await standing_checks(world)


async def test_case_a9_the_same_news_twice_at_once_is_one_payment(world: Rig) -> None:
    invoice = await unknown(world)
    intent = AtStripe(world).intent(invoice)
    success = Success(intent["id"], 14900, 0, "eur", intent["latest_charge"], None)
    news = [
        payments.settle(world.pool, world.scope, invoice, success, Source.FOLLOWER, actor="test")
        for _ in range(8)
    ]
    settled = await asyncio.gather(*news)
    assert sorted(one.verdict for one in settled if one) == ["known"] * 7 + ["paid"]
    await world.tick()
    await standing_checks(world)


async def test_case_a11_the_end_of_an_older_intent_leaves_the_newer_attempts_hold(
    world: Rig,
) -> None:
    invoice = await world.invoice()
    await world.prepare()
    at = AtStripe(world)
    old = at.intent(invoice)
    at.cancel(invoice)
    await world.charge_due()
    world.later(minutes=2)
    await world.prepare()
    (claim,) = await world.claim_due()
    assert old["id"] != claim.intent_id
    await world.tick()
    assert world.row(invoice)["hold_attempt"] == claim.token.attempt_id
    await world.charge_all([claim])
    await standing_checks(world)


async def test_case_a11_news_of_the_held_intent_proves_the_attempt_and_leaves_the_hold(
    world: Rig,
) -> None:
    invoice = await unknown(world)
    intent = AtStripe(world).intent(invoice)
    success = Success(intent["id"], 14900, 0, "eur", intent["latest_charge"], None)
    await payments.settle(world.pool, world.scope, invoice, success, Source.FOLLOWER, actor="test")
    assert left(world, invoice).attempt[0] == "superseded"
    assert not left(world, invoice).free
    await world.tick()
    assert left(world, invoice).free
    await standing_checks(world)


@pytest.mark.parametrize("method", ["pm_card_visa", "pm_card_chargeCustomerFail"])
async def test_case_a12_twenty_triggers_make_one_charge(world: Rig, method: str) -> None:
    invoice = await world.invoice(method=method)
    await world.prepare()
    await asyncio.gather(*(world.charge_due(world.deps()) for _ in range(20)))
    assert len(world.attempts(invoice)) == 1
    assert len(AtStripe(world).charges(invoice)) == 1
    await standing_checks(world)


async def test_case_a14_a_second_payment_is_recorded_and_somebodys_task(world: Rig) -> None:
    invoice = await crashed(world, When.AFTER)
    at = AtStripe(world)
    again = at.client().intent(
        amount=14900, currency="eur", customer=at.intent(invoice)["customer"],
        metadata={"anchorhold_invoice_id": invoice}, payment_method="pm_card_visa",
        off_session=True, confirm=True,
    )  # fmt: skip
    world.sql("UPDATE anchorhold.attempt SET intent_id = NULL")
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
    await world.tick()
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 2
    assert notices(world) == ["payment.duplicate_charge"]
    (subject,) = world.sql("SELECT subject FROM anchorhold.notice")[0]
    assert subject == again["id"]
    assert left(world, invoice).free
    await standing_checks(world)


@pytest.mark.parametrize(
    "answer",
    [
        refusal(403, type="invalid_request_error"),
        refusal(404, type="invalid_request_error", param="intent"),
        refusal(500, type="api_error"),
        unreadable(),
    ],
)
async def test_case_a15_what_could_not_be_asked_is_not_failed(world: Rig, answer: Turn) -> None:
    invoice = await unknown(world)
    before = left(world, invoice)
    between(world, (RETRIEVE, answer))
    await swept(world)
    assert left(world, invoice) == before
    world.later(hours=3)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, probability=1)])
    await swept(world)
    assert left(world, invoice) == before
    world.twin.faults.replace([])
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


@pytest.mark.parametrize("at", ["db holds.recheck", "stripe confirm_intent"])
async def test_case_a18_a_cancelled_task_keeps_its_hold(world: Rig, at: str) -> None:
    invoice = await world.invoice()
    await world.prepare()
    _, owner = await freezes(world, at)
    owner.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await owner
    assert world.attempts(invoice) == [("sending", None)]
    assert not left(world, invoice).free
    await world.recover()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_a21_a_retry_confirms_the_same_intent_again(world: Rig) -> None:
    invoice, _ = await charge(world, method="pm_card_chargeCustomerFail")
    await world.collect(invoice)
    confirms = [e.path for e in world.twin.requests if e.path.endswith("/confirm")]
    assert len(confirms) == 2
    assert len(set(confirms)) == 1
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]
    await standing_checks(world)


async def test_case_a24_a_page_reloaded_in_the_middle_resumes_the_same_intent(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    at = AtStripe(world)
    for _ in range(2):
        shown = at.page_confirms(invoice, "pm_card_threeDSecure2Required")
        assert (shown.status, shown.body["status"]) == (200, "requires_action")
    acts.authenticate(world.twin, at.intent(invoice)["id"])
    (charged,) = await world.charge_due()
    assert charged.saved == "paid"
    assert at.intents(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_h_a_refund_made_at_stripe_before_we_heard_of_the_payment(world: Rig) -> None:
    """In full: counts as not paid, and nobody charges again by himself."""
    invoice = await unknown(world)
    at = AtStripe(world)
    at.refund(invoice)
    await world.recover()
    row = world.row(invoice)
    assert (row["status"], row["collection"], row["amount_paid"]) == ("open", "manual", 0)
    assert notices(world) == ["payment.found_refunded"]
    assert at.charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_h_a_debit_refunded_before_its_follower_came(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    at = AtStripe(world)
    at.page_debits(invoice, "pm_success_de")
    await world.charge_due()
    acts.end_debit(world.twin, at.intent(invoice)["id"])
    at.refund(invoice)
    await world.recover()
    row = world.row(invoice)
    assert (row["status"], row["payment_status"], row["collection"]) == ("open", "failed", "manual")
    assert notices(world) == ["payment.found_refunded"]
    await standing_checks(world)


async def test_case_p2_a_lost_tail_charges_nobody_twice(world: Rig) -> None:
    """The newest commits are gone: the attempt, the hold, the payment; the money is not."""
    invoice = await world.invoice()
    await world.prepare()
    before = world.sql("SELECT next_attempt_at, intent_id FROM anchorhold.invoice")[0]
    await world.charge_due()
    for table in ("payment", "attempt", "journal"):
        world.sql(f"DELETE FROM anchorhold.{table}")
    world.sql("UPDATE anchorhold.intent SET state = 'live', ended_at = NULL")
    world.sql(
        "UPDATE anchorhold.invoice SET status = 'open', payment_status = 'pending', "
        "paid_at = NULL, amount_paid = 0, charge_seq = 0, next_attempt_at = %s, intent_id = %s",
        *before,
    )
    (charged,) = await world.charge_due()
    assert charged.saved == "paid"
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_p2_even_when_the_intents_row_is_gone_too(world: Rig) -> None:
    invoice = await world.invoice()
    await dies(world, When.AFTER)
    for table in ("attempt", "journal", "intent"):
        world.sql(f"DELETE FROM anchorhold.{table}")
    world.sql(
        "UPDATE anchorhold.invoice SET hold_until = NULL, hold_attempt = NULL, intent_id = NULL"
    )
    await world.charge_due()
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_p2_and_another_card_meets_the_key_of_the_lost_attempt(world: Rig) -> None:
    """400 idempotency_error: an earlier request with this key did reach Stripe."""
    invoice = await world.invoice()
    await dies(world, When.AFTER)
    world.sql("DELETE FROM anchorhold.attempt")
    world.sql("UPDATE anchorhold.invoice SET hold_until = NULL, hold_attempt = NULL")
    other = (
        AtStripe(world)
        .client()
        .done(
            "/v1/payment_methods/pm_card_mastercard/attach",
            customer=AtStripe(world).intent(invoice)["customer"],
        )["id"]
    )
    world.sql("UPDATE anchorhold.stripe_customer SET payment_method = %s", other)
    (charged,) = await world.charge_due()
    assert charged.rule == "A9"
    await world.recover()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_a_page_payment_in_the_middle_of_our_confirm_is_the_only_one(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    at = AtStripe(world)
    between(world, (CONFIRM, meanwhile(lambda: at.page_confirms(invoice, "pm_card_mastercard"))))
    (charged,) = await world.charge_due()
    assert charged.saved == "paid"
    assert at.page_confirms(invoice).status == 400
    assert at.charges(invoice) == ["succeeded"]
    await standing_checks(world)
