"""Refunds and disputes: what goes back, and what is left."""

from typing import Any

import pytest

from anchorhold.twin import Clock, acts
from anchorhold.twin.errors import StripeError
from anchorhold.twin.ledger import Ledger
from tests.twin.client import Client

REFUNDS = "/v1/refunds"


def paid(stripe: Client, card: str = "pm_card_visa", **params: Any) -> dict[str, Any]:
    return stripe.intent(confirm=True, off_session=True, payment_method=card, **params)


def charge(stripe: Client, intent: dict[str, Any]) -> dict[str, Any]:
    return stripe.get(f"/v1/charges/{intent['latest_charge']}").body


def test_two_parts_make_a_whole_refund(stripe: Client) -> None:
    intent = paid(stripe)
    first = stripe.done(REFUNDS, payment_intent=intent["id"], amount=300, metadata={"a": "b"})
    assert (first["status"], first["amount"], first["metadata"]) == ("succeeded", 300, {"a": "b"})
    assert (charge(stripe, intent)["amount_refunded"], charge(stripe, intent)["refunded"]) == (
        300,
        False,
    )
    rest = stripe.done(REFUNDS, charge=intent["latest_charge"], reason="requested_by_customer")
    assert rest["amount"] == 700
    assert charge(stripe, intent)["refunded"]
    assert stripe.get(f"/v1/payment_intents/{intent['id']}").body["status"] == "succeeded"


def test_a_refund_says_whose_it_is_and_opens_both_on_demand(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    intent = paid(stripe, customer["method"], customer=customer["id"])
    refund = stripe.done(
        REFUNDS, payment_intent=intent["id"], amount=1, expand=["customer", "payment_method"]
    )
    assert (refund["customer"]["id"], refund["payment_method"]["id"]) == (
        customer["id"],
        customer["method"],
    )
    plain = stripe.get(f"{REFUNDS}/{refund['id']}").body
    assert (plain["customer"], plain["payment_method"]) == (customer["id"], customer["method"])


def test_no_more_than_was_taken_can_be_refunded(stripe: Client) -> None:
    intent = paid(stripe)
    refused = stripe.post(REFUNDS, payment_intent=intent["id"], amount=1001)
    assert (refused.status, refused.error.get("code"), refused.error["param"]) == (
        400,
        None,
        "amount",
    )
    stripe.done(REFUNDS, payment_intent=intent["id"])
    again = stripe.post(REFUNDS, payment_intent=intent["id"])
    assert (again.status, again.error["code"]) == (400, "charge_already_refunded")
    assert charge(stripe, intent)["amount_refunded"] == 1000


def test_only_money_that_was_taken_can_be_refunded(stripe: Client) -> None:
    unpaid = stripe.intent()
    declined = stripe.intent()
    stripe.confirm(declined["id"], payment_method="pm_card_chargeDeclined")
    wrong: list[dict[str, str]] = [
        {"payment_intent": unpaid["id"]},
        {"payment_intent": declined["id"]},
        {"payment_intent": "pi_0"},
        {"charge": "ch_0"},
        {},
        {"payment_intent": unpaid["id"], "charge": paid(stripe)["latest_charge"]},
    ]
    for params in wrong:
        assert stripe.post(REFUNDS, **params).status == 400, params


def test_refunds_are_read_listed_and_changed(stripe: Client) -> None:
    one, two = paid(stripe), paid(stripe)
    refunds = [stripe.done(REFUNDS, payment_intent=intent["id"]) for intent in (one, two)]
    path = f"{REFUNDS}/{refunds[0]['id']}"
    assert stripe.get(path, expand=["charge"]).body["charge"]["amount_refunded"] == 1000
    assert stripe.done(path, metadata={"why": "broken"})["metadata"] == {"why": "broken"}
    assert stripe.done(path) == stripe.get(path).body
    found = {
        "all": stripe.get(REFUNDS),
        "intent": stripe.get(REFUNDS, payment_intent=one["id"]),
        "charge": stripe.get(REFUNDS, charge=two["latest_charge"]),
    }
    ids = {name: [row["id"] for row in page.body["data"]] for name, page in found.items()}
    a, b = (refund["id"] for refund in refunds)
    assert ids == {"all": [b, a], "intent": [a], "charge": [b]}


def test_a_pending_refund_succeeds_later(stripe: Client, clock: Clock) -> None:
    refund = stripe.done(REFUNDS, payment_intent=paid(stripe, "pm_card_pendingRefund")["id"])
    assert refund["status"] == "pending"
    clock.advance(20)
    assert stripe.get(f"{REFUNDS}/{refund['id']}").body["status"] == "succeeded"


def test_a_refund_that_fails_later_gives_the_money_back_to_the_charge(
    stripe: Client, clock: Clock
) -> None:
    intent = paid(stripe, "pm_card_refundFail")
    refund = stripe.done(REFUNDS, payment_intent=intent["id"])
    assert charge(stripe, intent)["refunded"]
    clock.advance(20)
    assert stripe.get(f"{REFUNDS}/{refund['id']}").body["status"] == "failed"
    assert (charge(stripe, intent)["refunded"], charge(stripe, intent)["amount_refunded"]) == (
        False,
        0,
    )


@pytest.mark.parametrize(
    ("card", "reason", "status"),
    [
        ("pm_card_createDispute", "fraudulent", "needs_response"),
        ("pm_card_createDisputeProductNotReceived", "product_not_received", "needs_response"),
        ("pm_card_createDisputeInquiry", "general", "warning_needs_response"),
    ],
)
def test_a_disputing_card_pays_and_is_disputed(
    stripe: Client, card: str, reason: str, status: str
) -> None:
    intent = paid(stripe, card)
    page = stripe.get("/v1/disputes", payment_intent=intent["id"]).body
    (dispute,) = page["data"]
    assert (dispute["reason"], dispute["status"]) == (reason, status)
    assert charge(stripe, intent)["disputed"]
    assert stripe.get(f"/v1/disputes/{dispute['id']}").body == dispute
    assert stripe.get("/v1/disputes", charge=intent["latest_charge"]).body["data"] == [dispute]


def test_a_disputed_charge_cannot_be_refunded(stripe: Client) -> None:
    refused = stripe.post(REFUNDS, payment_intent=paid(stripe, "pm_card_createDispute")["id"])
    assert (refused.status, refused.error["code"]) == (400, "charge_disputed")


@pytest.mark.parametrize(
    ("reason", "won", "status"),
    [
        ("fraudulent", True, "won"),
        ("fraudulent", False, "lost"),
        ("inquiry", True, "warning_closed"),
    ],
)
def test_the_bank_closes_a_dispute_once(
    stripe: Client, reason: str, won: bool, status: str
) -> None:
    opened = acts.open_dispute(stripe.twin, paid(stripe)["latest_charge"], reason=reason)
    closed = acts.close_dispute(stripe.twin, opened["id"], won=won)
    assert closed["status"] == status
    with pytest.raises(StripeError):
        acts.close_dispute(stripe.twin, opened["id"], won=won)


def test_the_balance_is_what_is_left(stripe: Client) -> None:
    paid(stripe)
    stripe.done(REFUNDS, payment_intent=paid(stripe)["id"], amount=400)
    paid(stripe, currency="eur")
    available = stripe.get("/v1/balance").body["available"]
    assert {row["currency"]: row["amount"] for row in available} == {"usd": 1600, "eur": 1000}


def test_the_account_says_who_it_is(stripe: Client) -> None:
    account = stripe.get("/v1/account").body
    assert (account["id"], account["charges_enabled"]) == ("acct_twin", True)


def test_the_ledger_counts_successes_per_invoice_net_of_refunds(stripe: Client) -> None:
    for invoice in ("a", "b", "b", "c"):
        last = paid(stripe, metadata={"anchorhold_invoice_id": invoice, "order": "7"})
    stripe.done(REFUNDS, payment_intent=last["id"])
    stripe.intent(metadata={"anchorhold_invoice_id": "unpaid"})
    declined = stripe.intent(metadata={"anchorhold_invoice_id": "declined"})
    stripe.confirm(declined["id"], payment_method="pm_card_chargeDeclined")
    ledger = Ledger(stripe.twin)
    assert ledger.paid() == {"a": 1, "b": 2, "c": 0}
    (refunded,) = ledger.by_metadata()["c"]
    assert (refunded.amount, refunded.refunded, refunded.net) == (1000, 1000, 0)
    assert len(ledger.by_metadata("order")["7"]) == 4
    assert (len(ledger.intents()), len(ledger.charges()), len(ledger.refunds())) == (6, 5, 1)
    assert Ledger(stripe.twin, "acct_other").intents() == []
