"""Refunds that a person asks for: each answer, each death, never too much, never twice."""

import asyncio
import contextlib
import sys

import psycopg
import pytest

from anchorhold.domain.ids import InvoiceId, PaymentId
from anchorhold.domain.refund import REFUND, RefundState
from anchorhold.domain.refusal_kinds import Coded
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.refunds import Refunded, refund
from anchorhold.twin import acts
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import SECRET_KEY
from tests.domain.tables import rows_without_a_test
from tests.engine.left import notices
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import PATHS, AtStripe, Turn, between, refusal, unreadable
from tests.engine.test_news import hears, told

REFUNDS = "POST /v1/refunds"
PATHS[REFUNDS] = REFUNDS


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in REFUND))


async def paid(world: Rig, method: str = "pm_card_visa") -> tuple[InvoiceId, PaymentId]:
    """A paid invoice and its payment."""
    invoice = await world.invoice(method=method)
    await world.charge_due()
    ((payment,),) = world.sql("SELECT id FROM anchorhold.payment WHERE invoice_id = %s", invoice)
    return invoice, PaymentId(payment)


async def gives_back(
    world: Rig, payment: PaymentId, amount: int | None = None, gate: Gate | None = None
) -> Refunded:
    return await refund(world.deps(gate), world.scope, payment, amount, "late delivery")


def at_stripe(world: Rig) -> list[tuple[int, str]]:
    """Amount and status of every refund at Stripe."""
    return [(r["amount"], r["status"]) for r in AtStripe(world).account.refunds]


def here(world: Rig) -> list[tuple[int, str]]:
    return world.sql("SELECT amount, state FROM anchorhold.refund ORDER BY id")


def refunded(world: Rig) -> int:
    ((amount,),) = world.sql("SELECT amount_refunded FROM anchorhold.payment")
    return int(amount)


async def refuses(world: Rig, payment: PaymentId, amount: int | None = None) -> Coded:
    with pytest.raises(Refusal) as refused:
        await gives_back(world, payment, amount)
    return refused.value.code


async def test_m1_a_refund_is_made_and_recorded(world: Rig) -> None:
    invoice, payment = await paid(world)
    done = await gives_back(world, payment, 5000)
    assert (done.rule, done.state, done.amount_refunded) == ("M1", RefundState.SUCCEEDED, 5000)
    assert (at_stripe(world), here(world)) == ([(5000, "succeeded")],) * 2
    assert world.row(invoice)["status"] == "paid"
    rest = await gives_back(world, payment)
    assert (rest.amount, rest.amount_refunded) == (9900, 14900)
    await standing_checks(world)


async def test_m2_case_h3_what_was_given_back_already_is_done_and_never_sent_again(
    world: Rig,
) -> None:
    invoice, payment = await paid(world)
    AtStripe(world).refund(invoice)
    done = await gives_back(world, payment)
    assert (done.rule, done.state, done.amount_refunded) == ("M2", RefundState.SUCCEEDED, 14900)
    sent = len(world.twin.requests)
    assert (await gives_back(world, payment)).rule == "M2"
    assert len(world.twin.requests) == sent
    await world.tick()
    assert at_stripe(world) == [(14900, "succeeded")]


async def test_m3_case_h5_a_disputed_payment_is_not_refunded(world: Rig) -> None:
    invoice, payment = await paid(world)
    acts.open_dispute(world.twin, AtStripe(world).intent(invoice)["latest_charge"])
    assert await refuses(world, payment) is Code.PAYMENT_DISPUTED
    await hears(world, *told(world, "charge.dispute.created"))
    sent = len(world.twin.requests)
    assert await refuses(world, payment) is Code.PAYMENT_DISPUTED
    assert len(world.twin.requests) == sent, "known by now: nothing is sent"
    assert here(world) == [(14900, "refused")]


async def test_m4_with_a_refused_key_nothing_was_given_back(world: Rig) -> None:
    _, payment = await paid(world)
    world.twin.add_key(SECRET_KEY, state=KeyState.EXPIRED)
    assert await refuses(world, payment) is Code.PROVIDER_UNAVAILABLE
    world.twin.add_key(SECRET_KEY)
    assert (await gives_back(world, payment)).state == "succeeded"


async def test_m5_at_the_rate_limit_nothing_was_given_back(world: Rig) -> None:
    _, payment = await paid(world)
    limited = refusal(429, type="invalid_request_error", code="rate_limit")
    between(world, (REFUNDS, limited))
    assert await refuses(world, payment) is Code.PROVIDER_UNAVAILABLE
    assert (await gives_back(world, payment)).state == "succeeded"


UNCLEAR = {
    "M6": refusal(400, type="idempotency_error"),
    "M7": refusal(500, type="api_error"),
    "M10": unreadable(),
}


async def asks_later(world: Rig, rule: str, answer: Turn) -> None:
    """Nobody can tell; nothing else is sent for the payment; the tick sends the same again."""
    _, payment = await paid(world)
    between(world, (REFUNDS, answer))
    done = await gives_back(world, payment, 5000)
    assert (done.rule, done.state, done.amount_refunded) == (rule, RefundState.REQUESTED, 0)
    assert await refuses(world, payment, 100) is Code.REFUND_IN_FLIGHT
    world.later(minutes=5)
    assert (await world.tick()).audited.refunds == {"succeeded": 1}
    assert (at_stripe(world), here(world)) == ([(5000, "succeeded")],) * 2


async def test_m6_a_key_that_reached_stripe_before_is_asked_about(world: Rig) -> None:
    await asks_later(world, "M6", UNCLEAR["M6"])


async def test_m7_a_server_error_is_asked_about(world: Rig) -> None:
    await asks_later(world, "M7", UNCLEAR["M7"])


async def test_m8_a_definite_refusal_is_told(world: Rig) -> None:
    _, payment = await paid(world)
    between(world, (REFUNDS, refusal(400, type="invalid_request_error", param="amount")))
    assert await refuses(world, payment) is Code.PROVIDER_REFUSED
    assert here(world) == [(14900, "refused")]


async def test_m9_where_no_byte_left_nothing_was_given_back(world: Rig) -> None:
    _, payment = await paid(world)
    good, world.secret_key = world.secret_key, "not a key\n"
    assert await refuses(world, payment) is Code.PROVIDER_UNAVAILABLE
    world.secret_key = good
    assert (await gives_back(world, payment)).state == "succeeded"


async def test_m10_an_unreadable_answer_is_asked_about(world: Rig) -> None:
    await asks_later(world, "M10", UNCLEAR["M10"])


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize(
    "at", ["db refunds.facts", "db refunds.begin", "stripe create_refund", "stripe list_refunds",
           "db refunds.by_intent", "db refunds.record", "db refunds.state"],
)  # fmt: skip
async def test_case_h2_whoever_dies_there_leaves_one_refund(
    world: Rig, at: str, when: When
) -> None:
    _, payment = await paid(world)
    with contextlib.suppress(CrashError, psycopg.OperationalError):
        await gives_back(world, payment, 5000, Gate(dies_at=(at, 1, when)))
    world.later(minutes=5)
    await world.tick()
    with contextlib.suppress(Refusal):
        if refunded(world) == 0:
            await gives_back(world, payment, 5000)
    assert at_stripe(world) == [(5000, "succeeded")]
    assert refunded(world) == 5000
    await standing_checks(world)


async def test_two_operators_at_once_have_one_winner(world: Rig) -> None:
    _, payment = await paid(world)
    came = await asyncio.gather(
        *(gives_back(world, payment, 5000) for _ in range(4)), return_exceptions=True
    )
    won = [one for one in came if isinstance(one, Refunded)]
    lost = [one.code for one in came if isinstance(one, Refusal)]
    assert len(won) == 1
    assert set(lost) == {Code.REFUND_IN_FLIGHT}
    assert at_stripe(world) == [(5000, "succeeded")]


@pytest.mark.parametrize("amount", [0, -1, 14901])
async def test_no_more_than_was_paid(world: Rig, amount: int) -> None:
    _, payment = await paid(world)
    assert await refuses(world, payment, amount) is Code.REFUND_TOO_LARGE
    await gives_back(world, payment, 10000)
    assert await refuses(world, payment, 4901) is Code.REFUND_TOO_LARGE
    assert at_stripe(world) == [(10000, "succeeded")]


async def test_a_payment_that_stripe_did_not_take_cannot_be_refunded(world: Rig) -> None:
    _, payment = await paid(world)
    world.sql(
        "UPDATE anchorhold.payment SET stripe_intent_id = NULL, stripe_account = NULL, "
        "source = 'elsewhere'"
    )
    assert await refuses(world, payment) is Code.PAYMENT_NOT_REFUNDABLE
    assert await refuses(world, PaymentId("pay_none")) is Code.PAYMENT_NOT_FOUND


async def test_a_payment_of_another_stripe_account_cannot_be_refunded(world: Rig) -> None:
    _, payment = await paid(world)
    world.stripe_account = "acct_2"
    assert await refuses(world, payment) is Code.PAYMENT_NOT_REFUNDABLE


async def test_a_refund_that_fails_later_is_undone_and_told(world: Rig) -> None:
    invoice, payment = await paid(world, "pm_card_refundFail")
    await gives_back(world, payment)
    assert refunded(world) == 14900
    world.later(days=10)
    await world.tick()
    assert (at_stripe(world), here(world)) == ([(14900, "failed")],) * 2
    assert refunded(world) == 0
    assert notices(world) == ["refund.failed"]
    assert world.row(invoice)["status"] == "paid"


async def test_a_refund_that_is_pending_counts_and_then_succeeds(world: Rig) -> None:
    _, payment = await paid(world, "pm_card_pendingRefund")
    assert (await gives_back(world, payment)).state == "pending"
    assert refunded(world) == 14900
    world.later(days=10)
    await world.tick()
    assert here(world) == [(14900, "succeeded")]


async def test_a_request_that_never_showed_is_given_up_when_its_key_is_spent(world: Rig) -> None:
    _, payment = await paid(world)
    between(world, (REFUNDS, refusal(500, type="api_error")))
    await gives_back(world, payment, 5000)
    world.later(hours=24)
    assert (await world.tick()).audited.refunds == {"not_made": 1}
    assert at_stripe(world) == []
    assert (await gives_back(world, payment, 5000)).state == "succeeded"


async def test_an_older_list_does_not_overwrite_a_newer(world: Rig) -> None:
    """Two read at once; whoever writes second has to read again."""
    invoice, payment = await paid(world)
    AtStripe(world).refund(invoice, 1000)
    await asyncio.gather(
        hears(world, *told(world, "refund.created")),
        gives_back(world, payment, 2000),
    )
    assert refunded(world) == 3000
