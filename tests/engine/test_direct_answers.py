"""Each answer to a direct charge: what is on the rows (protocol section 4, direct)."""

import sys

import pytest

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.outcome import DIRECT
from anchorhold.twin.faults import FaultKind, Rule
from tests.domain.tables import rows_without_a_test
from tests.engine.left import Left, left, notices
from tests.engine.lost_direct import answered, comes_to_rest, creates, unclear
from tests.engine.rig import Rig
from tests.engine.stripe_side import (
    CANCEL,
    CREATE,
    AtStripe,
    allow_mandates,
    between,
    end_debits,
    refusal,
    sent_by,
    shows,
    unreadable,
)


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in DIRECT))


async def test_a_direct_charge_is_one_call_and_leaves_no_intent_row(direct: Rig) -> None:
    sent = sent_by(direct, CREATE)
    invoice = await direct.invoice()
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("A1", "paid")
    assert left(direct, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "A1"), None
    )
    assert len(sent) == 1
    named = AtStripe(direct).intent(invoice)["metadata"]
    assert set(named) == {
        "anchorhold_account_id",
        "anchorhold_invoice_id",
        "anchorhold_attempt_id",
    }
    assert direct.sql("SELECT charge_mode, intent_id IS NOT NULL FROM anchorhold.attempt") == [
        ("direct", True)
    ]


async def test_an_invoice_with_a_live_intent_is_confirmed_in_direct_mode_too(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await world.charges(ChargeMode.DIRECT)
    sent = creates(world)
    (charged,) = await world.charge_due()
    assert charged.saved == "paid"
    assert sent == []
    assert AtStripe(world).intents(invoice) == ["succeeded"]


async def test_a2_processing_is_followed_until_the_bank_has_decided(direct: Rig) -> None:
    direct.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await direct.invoice(method="pm_success_de")
    await direct.prepare()
    allow_mandates(direct)
    (charged,) = await direct.charge_due()
    assert charged.saved == "processing"
    assert left(direct, invoice) == Left(
        "open", "processing", True, 1, ("processing", "answered", "A2"), None
    )
    end_debits(direct)
    await comes_to_rest(direct, invoice, "paid")
    assert direct.attempts(invoice) == [("succeeded", "answered")]


async def test_a6_a_wish_for_the_customer_is_a_decline_and_its_intent_is_cancelled(
    direct: Rig,
) -> None:
    invoice = await direct.invoice(method="pm_card_authenticationRequired")
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("A6", "failed")
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "A6"), None, "customer_action"
    )
    assert AtStripe(direct).intents(invoice) == ["canceled"]


async def test_a7_a_decline_cancels_its_intent_with_the_save(direct: Rig) -> None:
    invoice = await direct.invoice(method="pm_card_chargeCustomerFail")
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("A7", "failed")
    assert AtStripe(direct).intents(invoice) == ["canceled"]
    assert direct.row(invoice)["last_error"]["decline_code"] == "generic_decline"


async def test_a7_a_cancel_that_fails_keeps_the_hold_and_the_sweep_saves(direct: Rig) -> None:
    invoice = await direct.invoice(method="pm_card_chargeCustomerFail")
    await direct.prepare()
    between(direct, (CANCEL, refusal(500, type="api_error")))
    (charged,) = await direct.charge_due()
    assert charged.saved == "sending"
    assert not left(direct, invoice).free
    direct.later(minutes=16)
    assert (await direct.tick()).swept.rows == {"S7": 1}
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "S7"), None
    )
    assert AtStripe(direct).intents(invoice) == ["canceled"]


async def test_a12_a_refused_request_is_definite(direct: Rig) -> None:
    invoice = await answered(direct, refusal(400, type="invalid_request_error", param="amount"))
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "A12"), None, "setup"
    )
    assert notices(direct) == ["collection.blocked"]


async def test_a13_a_lock_timeout_is_a_lost_result(direct: Rig) -> None:
    invoice = await answered(
        direct, refusal(429, type="invalid_request_error", code="lock_timeout")
    )
    assert left(direct, invoice).attempt == ("sending", "another_request", "A13")
    assert not left(direct, invoice).free
    await comes_to_rest(direct, invoice, "paid")


async def test_a14_a_rate_limit_releases_where_the_sweep_fences(direct: Rig) -> None:
    invoice = await answered(direct, refusal(429, type="invalid_request_error", code="rate_limit"))
    assert left(direct, invoice).attempt == ("not_sent", "rate_limited", "A14")
    assert left(direct, invoice).free


@pytest.mark.parametrize(
    "turn", [refusal(500, type="api_error"), refusal(424, type="api_error"), unreadable()]
)
async def test_a16_without_an_intent_in_the_body_it_is_parked(direct: Rig, turn: object) -> None:
    invoice = await answered(direct, turn)  # pyrefly: ignore[bad-argument-type] - a Turn
    seen = left(direct, invoice)
    assert (seen.payment_status, seen.free, seen.seq) == ("unknown", False, 0)
    assert seen.attempt[0] == "unknown"
    row = direct.row(invoice)
    assert (row["intent_id"], row["followed_intent_id"]) == (None, None)
    await comes_to_rest(direct, invoice, "paid")


async def test_a16_an_intent_in_the_body_is_followed(direct: Rig) -> None:
    invoice = await direct.invoice()
    await direct.prepare()
    made = AtStripe(direct).client().done("/v1/payment_intents", amount=14900, currency="eur")
    between(direct, (CREATE, refusal(500, type="api_error", payment_intent=made)))
    await direct.charge_due()
    row = direct.row(invoice)
    assert (row["payment_status"], row["followed_intent_id"]) == ("unknown", made["id"])
    assert row["hold_until"] is not None
    assert left(direct, invoice).attempt == ("unknown", "server_error", "A16")


async def test_a17_a_request_that_never_left_is_released(direct: Rig) -> None:
    direct.twin.faults.replace([Rule(FaultKind.REFUSED, CREATE, frozenset({1}))])
    invoice = await direct.invoice()
    await direct.charge_due()
    assert left(direct, invoice).attempt == ("not_sent", "connect_failed", "A17")
    assert left(direct, invoice).free


async def test_a18_a_lost_answer_is_parked_with_its_cause(direct: Rig) -> None:
    invoice = await unclear(direct, FaultKind.DROPPED_AFTER)
    assert left(direct, invoice).attempt == ("unknown", "connection_lost", "A18")
    await comes_to_rest(direct, invoice, "paid")


async def test_d1_a_customer_who_would_have_to_act_is_a_decline_at_once(direct: Rig) -> None:
    invoice = await direct.invoice()
    await direct.prepare()
    waiting = (
        AtStripe(direct)
        .client()
        .done(
            "/v1/payment_intents",
            amount=14900,
            currency="eur",
            payment_method="pm_card_threeDSecure2Required",
            confirm=True,
            return_url="https://example.com/back",
        )
    )
    assert waiting["status"] == "requires_action"
    between(direct, (CREATE, shows(waiting)))
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("D1", "failed")
    assert left(direct, invoice).blocked == "customer_action"
    kept = AtStripe(direct).client().get(f"/v1/payment_intents/{waiting['id']}")
    assert kept.body["status"] == "canceled"


async def test_d2_a_key_that_was_used_is_unclear(direct: Rig) -> None:
    invoice = await answered(direct, refusal(400, type="idempotency_error"))
    assert left(direct, invoice).attempt == ("unknown", "key_reused", "D2")
    assert not left(direct, invoice).free
    await comes_to_rest(direct, invoice, "paid")


async def test_d3_without_a_fence_a_rate_limit_keeps_the_hold(adr: Rig) -> None:
    invoice = await answered(adr, refusal(429, type="invalid_request_error", code="rate_limit"))
    assert left(adr, invoice).attempt == ("sending", "rate_limited", "D3")
    assert not left(adr, invoice).free
    await comes_to_rest(adr, invoice, "paid")
