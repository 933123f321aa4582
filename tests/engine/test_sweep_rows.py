"""Each row of the sweep through the engine, with real rows and what Stripe really shows."""

import sys

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.sweep import SWEEP
from anchorhold.twin.faults import FaultKind, Rule
from tests.domain.tables import rows_without_a_test
from tests.engine import test_direct_rows, test_sweep_reads
from tests.engine.left import Left, journal, left, notices
from tests.engine.lost import (
    comes_to_rest,
    crashed,
    dies,
    forget_intents,
    swept,
    unknown,
    written_off,
)
from tests.engine.rig import Rig, When
from tests.engine.stripe_side import (
    CONFIRM,
    EVENTS,
    RETRIEVE,
    AtStripe,
    allow_mandates,
    between,
    end_debits,
    refusal,
)


def test_every_row_has_a_test() -> None:
    untested = rows_without_a_test(sys.modules[__name__], (row.id for row in SWEEP))
    untested = rows_without_a_test(test_sweep_reads, untested)
    assert not rows_without_a_test(test_direct_rows, untested)


async def test_s1_a_lost_payment_is_settled_and_credited_to_its_attempt(world: Rig) -> None:
    invoice = await unknown(world)
    assert await swept(world) == {"S1": 1}
    assert left(world, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "S1"), "succeeded"
    )
    assert journal(world, invoice)[-1] == ("payment.paid", "S1")
    await comes_to_rest(world, invoice, "paid")


async def test_s1_a_success_of_somebody_else_ends_the_hold_of_a_dead_attempt(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    AtStripe(world).page_confirms(invoice)
    assert await swept(world) == {"S1": 1}
    assert left(world, invoice).attempt[0] in {"succeeded", "superseded"}
    assert left(world, invoice).free
    await comes_to_rest(world, invoice, "paid")


async def test_s1_a_success_on_a_written_off_invoice_pays_it(world: Rig) -> None:
    invoice = await unknown(world)
    written_off(world)
    assert await swept(world) == {"S1": 1}
    await comes_to_rest(world, invoice, "paid")


async def test_s1_a_success_on_a_void_invoice_is_somebodys_task(world: Rig) -> None:
    invoice = await unknown(world)
    world.sql("ALTER TABLE anchorhold.invoice DROP CONSTRAINT void_is_free")
    try:
        world.sql("UPDATE anchorhold.invoice SET status = 'void'")
        assert await swept(world) == {"S1": 1}
    finally:
        world.sql(
            "ALTER TABLE anchorhold.invoice ADD CONSTRAINT void_is_free "
            "CHECK (status <> 'void' OR hold_until IS NULL)"
        )
    assert notices(world) == ["payment.received_on_voided_invoice"]
    await comes_to_rest(world, invoice, "void")


async def test_s2_a_payment_given_back_in_full_is_recorded_and_loud(world: Rig) -> None:
    invoice = await unknown(world)
    AtStripe(world).refund(invoice)
    assert await swept(world) == {"S2": 1}
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("succeeded", "answered", "S2"), "succeeded"
    )
    assert world.row(invoice)["collection"] == "manual"
    assert notices(world) == ["payment.found_refunded"]
    assert ("error", "payment.found_refunded") in {line[:2] for line in world.log.lines}
    await comes_to_rest(world, invoice, "open")


async def test_s2_a_part_given_back_leaves_the_invoice_paid(world: Rig) -> None:
    invoice = await unknown(world)
    AtStripe(world).refund(invoice, 100)
    assert await swept(world) == {"S1": 1}
    assert world.sql("SELECT amount, amount_refunded FROM anchorhold.payment") == [(14900, 100)]
    await comes_to_rest(world, invoice, "paid")


async def test_s3_a_lost_debit_is_followed_as_the_attempts_own(world: Rig) -> None:
    invoice = await lost_debit(world, "pm_success_de")
    assert await swept(world) == {"S3": 1}
    assert left(world, invoice) == Left(
        "open", "processing", True, 1, ("processing", "answered", "S3"), "live"
    )
    end_debits(world)
    await comes_to_rest(world, invoice, "paid")
    assert world.attempts(invoice) == [("succeeded", "answered")]


async def test_s3_a_debit_that_the_customer_started_is_not_the_attempts(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    AtStripe(world).page_debits(invoice, "pm_failed_de")
    assert await swept(world) == {"S3": 1}
    assert left(world, invoice).attempt == ("superseded", "answered", "S3")
    end_debits(world)
    await comes_to_rest(world, invoice, "open")
    assert world.attempts(invoice) == [("superseded", "answered")], "no try of ours is counted"


async def test_s4_what_is_followed_already_is_left_to_its_follower(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    world.sql(
        "UPDATE anchorhold.invoice SET payment_status = 'processing', "
        "followed_intent_id = intent_id, followed_at = anchorhold.now()"
    )
    assert await swept(world) == {"S4": 1}
    row = world.row(invoice)
    assert (row["payment_status"], row["hold_until"]) == ("processing", None)
    assert row["followed_intent_id"] == row["intent_id"]
    end_debits(world)
    await comes_to_rest(world, invoice, "paid")


async def test_s5_a_debit_on_a_written_off_invoice_is_kept_until_it_pays(world: Rig) -> None:
    invoice = await lost_debit(world, "pm_success_de")
    written_off(world)
    assert await swept(world) == {"S5": 1}
    assert not left(world, invoice).free
    assert await swept(world) == {}, "it is looked at again after half an hour"
    end_debits(world)
    await comes_to_rest(world, invoice, "paid")


async def test_s5_and_when_it_fails_the_intent_is_cancelled(world: Rig) -> None:
    invoice = await lost_debit(world, "pm_failed_de")
    written_off(world)
    assert await swept(world) == {"S5": 1}
    end_debits(world)
    world.later(minutes=31)
    assert await swept(world) == {"S6b": 1}
    await comes_to_rest(world, invoice, "uncollectible")
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert left(world, invoice).attempt[0] == "failed", "the try counts all the same"


async def test_s6_an_intent_that_no_row_knows_is_cancelled(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    forget_intents(world)
    assert await swept(world) == {"S6": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert not left(world, invoice).free
    await comes_to_rest(world, invoice, "paid")
    assert AtStripe(world).intents(invoice) == ["canceled", "succeeded"]


async def test_s6b_a_written_off_invoice_does_not_stay_payable(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    written_off(world)
    assert await swept(world) == {"S6b": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    world.later(minutes=31)
    assert await swept(world) == {"S9": 1}
    assert left(world, invoice) == Left(
        "uncollectible", "pending", True, 1, ("superseded", "intent_canceled", "S9"), "canceled"
    )
    await comes_to_rest(world, invoice, "uncollectible")


async def test_s7_a_lost_decline_is_saved_from_its_charge(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_chargeCustomerFail")
    assert await swept(world) == {"S7": 1}
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "S7"), "live"
    )
    (row,) = world.sql("SELECT decline ->> 'decline_code', charge_id FROM anchorhold.attempt")
    assert row == ("generic_decline", AtStripe(world).intent(invoice)["latest_charge"])
    await comes_to_rest(world, invoice, "open")


async def test_s7_a_lost_wish_for_the_customer_is_told_by_its_event(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_authenticationRequired")
    assert await swept(world) == {"S7": 1}
    (row,) = world.sql("SELECT decline ->> 'code', charge_id FROM anchorhold.attempt")
    assert row == ("authentication_required", None)
    assert world.row(invoice)["blocked_reason"] == "customer_action"
    await comes_to_rest(world, invoice, "open")


async def test_s7_the_words_are_those_of_the_event_and_not_of_a_later_try(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_authenticationRequired")
    AtStripe(world).page_confirms(invoice, "pm_card_chargeCustomerFail")
    assert await swept(world) == {"S7": 1}
    (row,) = world.sql("SELECT decline ->> 'code', charge_id FROM anchorhold.attempt")
    assert row == ("authentication_required", None)


async def test_s7_the_customers_own_decline_is_not_the_attempts(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    AtStripe(world).page_confirms(invoice, "pm_card_chargeCustomerFail")
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice).attempt == ("superseded", "no_trace", "S8")


async def test_s7_a_decline_after_which_stripe_cancelled_is_saved_and_ends_the_intent(
    world: Rig,
) -> None:
    invoice = await unknown(world, method="pm_card_chargeCustomerFail")
    AtStripe(world).cancel(invoice)
    assert await swept(world) == {"S7": 1}
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "S7"), "canceled"
    )


async def test_s7_without_events_a_decline_that_only_they_tell_is_not_claimed(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_authenticationRequired")
    between(world, (EVENTS, refusal(403, type="invalid_request_error")))
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice).attempt == ("superseded", "no_trace", "S8")


async def test_s8_a_charge_that_never_arrived_is_superseded_and_made_again(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice) == Left(
        "open", "pending", True, 1, ("superseded", "no_trace", "S8"), "live"
    )
    await comes_to_rest(world, invoice, "paid")
    assert AtStripe(world).intents(invoice) == ["succeeded"]


async def test_s8_twice_in_a_row_leaves_it_to_a_person(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    await swept(world)
    await dies(world, When.BEFORE)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice).payment_status == "failed"
    assert await world.charge_due() == []
    assert (await world.collect(invoice)).saved == "paid"
    await comes_to_rest(world, invoice, "paid")


async def test_s8_an_unknown_retry_goes_back_to_failed_where_it_came_from(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.charge_due()
    world.twin.faults.replace(
        [
            Rule(FaultKind.DROPPED_BEFORE, CONFIRM, frozenset({1})),
            Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, frozenset({1})),
        ]
    )
    await world.collect(invoice)
    world.later(minutes=6)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice).payment_status == "failed"


async def test_s8_a_cancelled_intent_ends_and_the_next_is_prepared(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    AtStripe(world).cancel(invoice)
    assert await swept(world) == {"S8": 1}
    assert left(world, invoice).attempt == ("superseded", "intent_canceled", "S8")
    assert left(world, invoice).intent == "canceled"
    await comes_to_rest(world, invoice, "paid")


async def test_s9_a_written_off_invoice_with_a_cancelled_intent_is_free(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    AtStripe(world).cancel(invoice)
    written_off(world)
    assert await swept(world) == {"S9": 1}
    await comes_to_rest(world, invoice, "uncollectible")


async def test_s9_a_hold_left_behind_by_a_payment_is_cleared(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await world.claim_due()
    AtStripe(world).page_confirms(invoice)
    world.sql("UPDATE anchorhold.attempt SET state = 'superseded'")
    world.later(minutes=6)
    assert await swept(world) == {"S1": 1}
    await comes_to_rest(world, invoice, "paid")


async def lost_debit(world: Rig, method: str) -> InvoiceId:
    """A debit was started and its owner died before it heard so."""
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await world.invoice(method=method)
    await world.prepare()
    allow_mandates(world)
    await dies(world, When.AFTER)
    return invoice
