"""Each answer to a confirm, through the real provider: what is on the rows, and how it ends."""

from dataclasses import replace

import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.twin.faults import FaultKind
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import SECRET_KEY
from tests.engine.charging import charge, ends, fails
from tests.engine.left import Left, journal, left, notices
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    CONFIRM,
    RETRIEVE,
    AtStripe,
    Turn,
    allow_mandates,
    between,
    end_debits,
    refusal,
    shows,
)

REFUSED = {"type": "invalid_request_error"}


async def test_a1_succeeded_is_settled(world: Rig) -> None:
    invoice, charged = await charge(world)
    assert (charged.rule, charged.saved) == ("A1", "paid")
    assert left(world, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "A1"), "succeeded"
    )
    assert journal(world, invoice)[-1] == ("payment.paid", "A1")
    await ends(world, invoice, paid=True)


async def test_a1_less_than_what_is_due_waits_for_a_person(world: Rig) -> None:
    invoice = await over_another_amount(world, 100)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A1", "short")
    row = world.row(invoice)
    assert (row["status"], row["payment_status"], row["amount_paid"]) == ("open", "failed", 100)
    assert (row["collection"], row["hold_until"]) == ("manual", None)
    assert notices(world) == ["payment.amount_mismatch"]
    await standing_checks(world)


async def test_a1_more_than_what_is_due_pays_and_is_told(world: Rig) -> None:
    invoice = await over_another_amount(world, 20000)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A1", "overpaid")
    assert (world.row(invoice)["status"], world.row(invoice)["amount_paid"]) == ("paid", 14900)
    assert notices(world) == ["payment.amount_mismatch"]
    await standing_checks(world)


async def over_another_amount(world: Rig, amount: int) -> InvoiceId:
    """The merchant changed the intent behind our back."""
    invoice = await world.invoice()
    await world.prepare()
    at = AtStripe(world)
    at.client().done(f"/v1/payment_intents/{at.intent(invoice)['id']}", amount=amount)
    return invoice


async def test_a2_processing_is_followed_until_the_bank_has_decided(world: Rig) -> None:
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await world.invoice(method="pm_success_de")
    await world.prepare()
    allow_mandates(world)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A2", "processing")
    assert left(world, invoice) == Left(
        "open", "processing", True, 1, ("processing", "answered", "A2"), "live"
    )
    assert world.row(invoice)["followed_intent_id"] == world.row(invoice)["intent_id"]
    end_debits(world)
    await ends(world, invoice, paid=True)
    assert world.attempts(invoice) == [("succeeded", "answered")]


async def test_a2_a_debit_that_fails_is_the_decline_of_its_attempt(world: Rig) -> None:
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await world.invoice(method="pm_failed_de")
    await world.prepare()
    allow_mandates(world)
    await world.charge_due()
    end_debits(world)
    await ends(world, invoice, paid=False)
    assert left(world, invoice).attempt[0] == "failed"
    assert left(world, invoice).payment_status == "failed"


async def test_a3_a_customer_in_the_middle_of_paying_is_left_in_peace(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.page_confirms(invoice, "pm_card_threeDSecure2Required")
    between(world, (CONFIRM, shows(at.intent(invoice))))
    (charged,) = await world.charge_due()
    assert charged.rule == "A3"
    assert left(world, invoice) == Left(
        "open", "pending", True, 1, ("superseded", "customer_is_paying", "A3"), "live"
    )
    assert await world.charge_due() == [], "the customer has ten minutes"
    await ends(world, invoice, paid=True)


async def test_a4_a_cancelled_intent_makes_room_for_the_next(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.cancel(invoice)
    between(world, (CONFIRM, shows(at.intent(invoice))))
    (charged,) = await world.charge_due()
    assert charged.rule == "A4"
    assert left(world, invoice) == Left(
        "open", "pending", True, 1, ("superseded", "intent_canceled", "A4"), "canceled"
    )
    await ends(world, invoice, paid=True)


async def test_a5_a_confirm_that_ends_in_no_end_is_looked_up_and_kept(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    between(world, (CONFIRM, shows(at.intent(invoice))))
    (charged,) = await world.charge_due()
    assert charged.rule == "A5"
    assert left(world, invoice) == Left(
        "open", "unknown", False, 0, ("unknown", "answered", "A5"), "live"
    )
    await ends(world, invoice, paid=True)


async def test_a6_a_bank_that_wants_the_customer_stops_automatic_charges(world: Rig) -> None:
    invoice, charged = await charge(world, method="pm_card_authenticationRequired")
    assert (charged.rule, charged.saved) == ("A6", "failed")
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "A6"), "live", "customer_action"
    )
    await ends(world, invoice, paid=False)


async def test_a7_a_decline_keeps_its_words(world: Rig) -> None:
    invoice, charged = await charge(world, method="pm_card_chargeCustomerFail")
    assert (charged.rule, charged.saved) == ("A7", "failed")
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "A7"), "live"
    )
    assert world.row(invoice)["last_error"]["decline_code"] == "generic_decline"
    (charge_id,) = world.sql("SELECT charge_id FROM anchorhold.attempt")[0]
    assert charge_id.startswith("ch_")
    assert notices(world) == []
    await ends(world, invoice, paid=False)


async def test_a7_the_decline_after_which_stripe_cancels_ends_the_intent(world: Rig) -> None:
    world.twin.settings = replace(world.twin.settings, confirms_before_cancel=1)
    invoice, charged = await charge(world, method="pm_card_chargeCustomerFail")
    assert charged.saved == "failed"
    assert left(world, invoice).intent == "canceled"
    await ends(world, invoice, paid=False)


async def test_a8_a_payment_made_on_the_page_meanwhile_is_settled(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.page_confirms(invoice)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A8", "paid")
    assert left(world, invoice) == Left(
        "paid", "succeeded", True, 1, ("superseded", "intent_succeeded", "A8"), "succeeded"
    )
    await ends(world, invoice, paid=True)


async def test_a8_a_payment_that_was_given_back_in_full_counts_as_not_paid(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.page_confirms(invoice)
    at.refund(invoice)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A8", "refunded")
    assert left(world, invoice).status == "open"
    assert world.row(invoice)["collection"] == "manual"
    assert notices(world) == ["payment.found_refunded"]
    await ends(world, invoice, paid=False)


async def test_a8_a_success_that_cannot_be_looked_up_keeps_the_hold(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.page_confirms(invoice)
    world.twin.faults.replace([fails(FaultKind.DROPPED_BEFORE, RETRIEVE)])
    (charged,) = await world.charge_due()
    assert charged.saved == "unknown"
    assert not left(world, invoice).free
    await ends(world, invoice, paid=True)


async def test_a8_a_debit_that_the_customer_started_is_followed(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.page_debits(invoice, "pm_success_de")
    (charged,) = await world.charge_due()
    assert charged.rule == "A8"
    assert left(world, invoice) == Left(
        "open", "processing", True, 1, ("superseded", "answered", "A8"), "live"
    )
    end_debits(world)
    await ends(world, invoice, paid=True)


async def test_a8_an_intent_cancelled_in_the_dashboard_is_replaced(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    at.cancel(invoice)
    (charged,) = await world.charge_due()
    assert charged.rule == "A8"
    assert left(world, invoice) == Left(
        "open", "pending", True, 1, ("superseded", "intent_canceled", "A8"), "canceled"
    )
    await ends(world, invoice, paid=True)
    assert at.intents(invoice) == ["canceled", "succeeded"]


async def test_a8_an_unexpected_state_of_a_payable_intent_is_kept(world: Rig) -> None:
    at = AtStripe(world)
    invoice = await world.invoice()
    await world.prepare()
    told = refusal(
        400, **REFUSED, code="payment_intent_unexpected_state", payment_intent=at.intent(invoice)
    )
    between(world, (CONFIRM, told))
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A8", "unknown")
    await ends(world, invoice, paid=True)


async def test_a9_a_key_used_with_other_parameters_keeps_the_hold(world: Rig) -> None:
    invoice, charged = await charge(world, (CONFIRM, refusal(400, type="idempotency_error")))
    assert (charged.rule, charged.saved) == ("A9", "sending")
    assert left(world, invoice) == Left(
        "open", "pending", False, 0, ("sending", "key_reused", "A9"), "live"
    )
    await ends(world, invoice, paid=True)
    assert world.attempts(invoice) == [("superseded", "no_trace"), ("succeeded", "answered")]


@pytest.mark.parametrize("state", [KeyState.REVOKED, KeyState.EXPIRED])
async def test_a10_a_key_that_is_not_accepted_flags_the_account(
    world: Rig, state: KeyState
) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.twin.add_key(SECRET_KEY, state=state)
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A10", "not_sent")
    assert left(world, invoice) == Left(
        "open", "pending", True, 0, ("not_sent", "account_refused", "A10"), "live"
    )
    world.later(minutes=2)
    assert await world.charge_due() == [], "claims skip the flagged account"
    world.twin.add_key(SECRET_KEY)
    await ends(world, invoice, paid=True)


async def test_a10_a_permission_that_is_missing_is_the_same(world: Rig) -> None:
    invoice, charged = await charge(world, (CONFIRM, refusal(403, **REFUSED)))
    assert (charged.rule, charged.saved) == ("A10", "not_sent")
    await ends(world, invoice, paid=True)


async def test_a11_an_intent_that_is_not_shown_waits_for_a_person(world: Rig) -> None:
    gone = refusal(404, **REFUSED, code="resource_missing", param="intent")
    invoice, charged = await charge(world, (CONFIRM, gone))
    assert (charged.rule, charged.saved) == ("A11", "sending")
    assert left(world, invoice) == Left(
        "open", "pending", False, 0, ("sending", "intent_not_shown", "A11"), "live"
    )
    between(world, (RETRIEVE, gone))
    world.later(minutes=6)
    assert (await world.tick()).swept.rows == {"S15": 1}
    assert not left(world, invoice).free
    assert ("error", "sweep.refused") in {line[:2] for line in world.log.lines}
    await ends(world, invoice, paid=True)


@pytest.mark.parametrize(
    "answer",
    [
        refusal(400, **REFUSED, code="parameter_unknown", param="off_session"),
        refusal(404, **REFUSED, code="resource_missing", param="payment_method"),
        refusal(400, **REFUSED, code="amount_too_small", param="amount"),
    ],
)
async def test_a12_a_request_that_stripe_refuses_is_blocked_with_a_notice(
    world: Rig, answer: Turn
) -> None:
    invoice, charged = await charge(world, (CONFIRM, answer))
    assert (charged.rule, charged.saved) == ("A12", "failed")
    assert left(world, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "A12"), "live", "setup"
    )
    assert notices(world) == ["collection.blocked"]
    await ends(world, invoice, paid=False)
