"""What a confirm does with each kind of test card and bank account."""

from typing import Any

import pytest

from anchorhold.twin import PUBLISHABLE_KEY, Settings, Twin, acts
from anchorhold.twin.instruments import CARDS, Authentication
from tests.twin.client import Client

MANDATE = {
    "customer_acceptance": {
        "type": "online",
        "online": {"ip_address": "127.0.0.1", "user_agent": "test"},
    }
}


def test_a_good_card_pays_once_and_the_charge_is_the_latest(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    intent = stripe.intent(customer=customer["id"], metadata={"order": "7"})
    paid = stripe.confirm(intent["id"], payment_method=customer["method"]).body
    assert (paid["status"], paid["amount_received"]) == ("succeeded", 1000)
    charge = stripe.get(f"/v1/charges/{paid['latest_charge']}").body
    assert (charge["status"], charge["amount_captured"], charge["metadata"]) == (
        "succeeded",
        1000,
        {"order": "7"},
    )
    assert (charge["paid"], charge["captured"], charge["refunded"]) == (True, True, False)


def test_a_succeeded_intent_refuses_confirm_and_cancel_and_shows_itself(stripe: Client) -> None:
    intent = stripe.intent(confirm=True, off_session=True, payment_method="pm_card_visa")
    for verb in ("confirm", "cancel"):
        refused = stripe.post(f"/v1/payment_intents/{intent['id']}/{verb}")
        assert (refused.status, refused.error["code"]) == (400, "payment_intent_unexpected_state")
        assert refused.error["payment_intent"]["status"] == "succeeded"


def test_a_cancelled_intent_never_charges(stripe: Client) -> None:
    intent = stripe.intent()
    stripe.done(f"/v1/payment_intents/{intent['id']}/cancel", cancellation_reason="duplicate")
    refused = stripe.confirm(intent["id"], payment_method="pm_card_visa")
    assert refused.error["code"] == "payment_intent_unexpected_state"
    assert refused.error["payment_intent"]["cancellation_reason"] == "duplicate"
    assert len(stripe.twin.account().charges) == 0


DECLINING = [card for card in CARDS if card.decline and card.authentication is Authentication.NEVER]


@pytest.mark.parametrize("card", DECLINING, ids=lambda card: card.token)
def test_a_declining_card_leaves_the_intent_payable_with_a_failed_charge(
    stripe: Client, card: Any
) -> None:
    intent = stripe.intent()
    declined = stripe.confirm(intent["id"], payment_method=f"pm_{card.token}")
    error = declined.error
    assert (declined.status, error["type"]) == (402, "card_error")
    assert (error["code"], error["decline_code"]) == (card.decline.code, card.decline.decline_code)
    assert error.get("advice_code") == card.decline.advice
    assert declined.headers["Stripe-Should-Retry"] == "false"
    after = error["payment_intent"]
    assert (after["status"], after["payment_method"]) == ("requires_payment_method", None)
    assert after["latest_charge"] == error["charge"] == after["last_payment_error"]["charge"]
    assert after["last_payment_error"]["payment_method_type"] == "card"
    charge = stripe.get(f"/v1/charges/{error['charge']}").body
    assert (charge["status"], charge["failure_code"]) == ("failed", card.decline.code)
    assert (charge["paid"], charge["captured"], charge["amount_captured"]) == (False, False, 0)
    assert stripe.confirm(intent["id"], payment_method="pm_card_visa").body["status"] == "succeeded"


def test_a_declined_create_leaves_an_intent_that_can_still_be_paid(stripe: Client) -> None:
    declined = stripe.post(
        "/v1/payment_intents",
        amount=500,
        currency="eur",
        confirm=True,
        off_session=True,
        payment_method="pm_card_chargeDeclinedInsufficientFunds",
    )
    id_ = declined.error["payment_intent"]["id"]
    assert stripe.get(f"/v1/payment_intents/{id_}").body["status"] == "requires_payment_method"


def test_a_card_that_fails_only_when_charged_can_be_attached(stripe: Client) -> None:
    customer = stripe.customer("pm_card_chargeCustomerFail")
    intent = stripe.intent(customer=customer["id"])
    assert stripe.confirm(intent["id"], payment_method=customer["method"]).status == 402


def test_a_declining_card_cannot_be_attached(stripe: Client) -> None:
    customer = stripe.customer()
    refused = stripe.post(
        "/v1/payment_methods/pm_card_chargeDeclined/attach", customer=customer["id"]
    )
    assert (refused.status, refused.error["code"]) == (402, "card_declined")


def test_authentication_off_session_is_a_decline_without_a_charge(stripe: Client) -> None:
    intent = stripe.intent()
    declined = stripe.confirm(intent["id"], payment_method="pm_card_authenticationRequired")
    error = declined.error
    assert (declined.status, error["code"], error["decline_code"]) == (
        402,
        "authentication_required",
        "authentication_required",
    )
    assert error["payment_intent"]["status"] == "requires_payment_method"
    assert error["payment_intent"]["latest_charge"] is None
    assert len(stripe.twin.account().charges) == 0


def asked(stripe: Client, card: str = "pm_card_authenticationRequired") -> dict[str, Any]:
    intent = stripe.intent()
    return stripe.done(
        f"/v1/payment_intents/{intent['id']}/confirm",
        payment_method=card,
        return_url="https://example.com/back",
    )


def test_authentication_on_session_asks_the_customer_who_then_pays(stripe: Client) -> None:
    waiting = asked(stripe)
    assert waiting["status"] == "requires_action"
    action = waiting["next_action"]["redirect_to_url"]
    assert action["return_url"] == "https://example.com/back"
    paid = acts.authenticate(stripe.twin, waiting["id"])
    assert (paid["status"], paid["next_action"]) == ("succeeded", None)


def test_failed_authentication_leaves_the_intent_payable(stripe: Client) -> None:
    waiting = asked(stripe)
    failed = acts.authenticate(stripe.twin, waiting["id"], passed=False)
    assert failed["status"] == "requires_payment_method"
    code = failed["last_payment_error"]["code"]
    assert code == "payment_intent_authentication_failure"


def test_a_card_may_be_authenticated_and_declined_all_the_same(stripe: Client) -> None:
    waiting = asked(stripe, "pm_card_authenticationRequiredChargeDeclinedInsufficientFunds")
    failed = acts.authenticate(stripe.twin, waiting["id"])
    assert failed["last_payment_error"]["decline_code"] == "insufficient_funds"
    assert failed["latest_charge"] is not None


def test_error_on_requires_action_is_a_decline(stripe: Client) -> None:
    intent = stripe.intent()
    declined = stripe.post(
        f"/v1/payment_intents/{intent['id']}/confirm",
        payment_method="pm_card_threeDSecure2Required",
        return_url="https://example.com",
        error_on_requires_action=True,
    )
    assert declined.error["decline_code"] == "authentication_not_handled"


def test_a_card_set_up_with_authentication_pays_off_session_later(stripe: Client) -> None:
    card = "pm_card_authenticationRequiredOnSetup"
    customer = stripe.customer(card)
    first = stripe.intent(customer=customer["id"])
    refused = stripe.confirm(first["id"], payment_method=customer["method"])
    assert refused.error["code"] == "authentication_required"
    stripe.done(
        f"/v1/payment_intents/{first['id']}/confirm",
        payment_method=customer["method"],
        return_url="https://example.com",
        setup_future_usage="off_session",
    )
    acts.authenticate(stripe.twin, first["id"])
    second = stripe.intent(customer=customer["id"])
    later = stripe.confirm(second["id"], payment_method=customer["method"])
    assert later.body["status"] == "succeeded"


def test_a_browser_confirms_with_the_client_secret_and_sees_no_metadata(stripe: Client) -> None:
    intent = stripe.intent(metadata={"secret": "yes"})
    browser = Client(stripe.twin, PUBLISHABLE_KEY)
    path = f"/v1/payment_intents/{intent['id']}/confirm"
    fields = {"payment_method": "pm_card_visa", "return_url": "https://example.com"}
    assert browser.post(path, **fields).error["code"] == "parameter_missing"
    wrong = browser.post(path, client_secret="pi_x_secret_y", **fields)
    assert (wrong.status, wrong.error["param"]) == (400, "client_secret")
    paid = browser.post(path, client_secret=intent["client_secret"], **fields)
    assert paid.body["status"] == "succeeded"
    assert "metadata" not in paid.body
    assert "customer" not in paid.body


def test_too_many_declines_cancel_the_intent_when_so_set(clock: Any) -> None:
    stripe = Client(Twin(clock=clock, settings=Settings(confirms_before_cancel=2)))
    intent = stripe.intent()
    first = stripe.confirm(intent["id"], payment_method="pm_card_chargeDeclined")
    assert first.error["payment_intent"]["status"] == "requires_payment_method"
    second = stripe.confirm(intent["id"], payment_method="pm_card_chargeDeclined")
    after = second.error["payment_intent"]
    assert (after["status"], after["cancellation_reason"]) == ("canceled", "automatic")


def test_a_confirm_without_a_payment_method_is_refused(stripe: Client) -> None:
    refused = stripe.confirm(stripe.intent()["id"])
    assert refused.error["code"] == "payment_intent_unexpected_state"
    assert "missing a payment method" in refused.error["message"]


def test_a_confirm_on_session_needs_a_return_url_while_redirects_are_allowed(
    stripe: Client,
) -> None:
    intent = stripe.intent()
    path = f"/v1/payment_intents/{intent['id']}/confirm"
    assert stripe.post(path, payment_method="pm_card_visa").error["param"] == "return_url"
    cards_only = stripe.intent(allowed_payment_method_types=["card"])
    path = f"/v1/payment_intents/{cards_only['id']}/confirm"
    assert stripe.done(path, payment_method="pm_card_visa")["status"] == "succeeded"


def test_another_customers_payment_method_is_refused(stripe: Client) -> None:
    owner = stripe.customer("pm_card_visa")
    other = stripe.customer()
    without, foreign = stripe.intent(), stripe.intent(customer=other["id"])
    for intent in (without, foreign):
        refused = stripe.confirm(intent["id"], payment_method=owner["method"])
        assert (refused.status, refused.error["param"]) == (400, "payment_method")


def test_a_payment_method_without_a_customer_pays_only_once(stripe: Client) -> None:
    method = stripe.done("/v1/payment_methods", type="card", card={"token": "tok_visa"})["id"]
    first = stripe.intent(confirm=True, off_session=True, payment_method=method)
    assert first["status"] == "succeeded"
    again = stripe.confirm(stripe.intent()["id"], payment_method=method)
    assert "may not be used again" in again.error["message"]


def test_a_debit_without_a_mandate_waits_in_requires_confirmation(stripe: Client) -> None:
    intent = stripe.intent()
    refused = stripe.confirm(intent["id"], payment_method="pm_usBankAccount_success")
    assert (refused.status, refused.error["code"]) == (400, "payment_intent_mandate_invalid")
    now = stripe.get(f"/v1/payment_intents/{intent['id']}").body
    assert now["status"] == "requires_confirmation"


DEBITS = [
    ("usd", "pm_usBankAccount_success", 20, "succeeded", None),
    ("usd", "pm_usBankAccount_insufficientFunds", 20, "requires_payment_method",
     "insufficient_funds"),
    ("usd", "pm_usBankAccount_accountClosed", 20, "requires_payment_method", "account_closed"),
    ("usd", "pm_usBankAccount_processing", 86400, "processing", None),
    ("usd", "pm_usBankAccount_dispute", 20, "succeeded", None),
    ("eur", "pm_success_de", 20, "succeeded", None),
    ("eur", "pm_failed_de", 20, "requires_payment_method", "incorrect_account_holder_name"),
    ("eur", "pm_successDelayed_de", 179, "processing", None),
    ("eur", "pm_successDelayed_de", 180, "succeeded", None),
    ("eur", "pm_disputed_de", 20, "succeeded", None),
    ("eur", "pm_failedDelayed_de", 179, "processing", None),
    ("eur", "pm_failedDelayed_de", 180, "requires_payment_method", "incorrect_account_holder_name"),
]  # fmt: skip


@pytest.mark.parametrize(("currency", "method", "seconds", "status", "failure"), DEBITS)
def test_a_debit_is_processing_first_and_ends_by_the_clock(
    stripe: Client, clock: Any, currency: str, method: str, seconds: int, status: str,
    failure: str | None,
) -> None:  # fmt: skip
    intent = stripe.intent(currency=currency)
    path = f"/v1/payment_intents/{intent['id']}/confirm"
    under_way = stripe.done(path, payment_method=method, mandate_data=MANDATE, off_session=True)
    assert under_way["status"] == "processing"
    assert under_way["amount_received"] == 0
    clock.advance(seconds)
    after = stripe.get(f"/v1/payment_intents/{intent['id']}", expand=["latest_charge"]).body
    assert after["status"] == status
    assert after["latest_charge"]["failure_code"] == failure
    assert after["latest_charge"]["disputed"] == ("disput" in method)


def test_the_debit_that_never_ends_can_be_cancelled(stripe: Client) -> None:
    intent = stripe.intent()
    path = f"/v1/payment_intents/{intent['id']}"
    stripe.done(
        f"{path}/confirm", payment_method="pm_usBankAccount_processing", mandate_data=MANDATE,
        off_session=True,
    )  # fmt: skip
    assert stripe.done(f"{path}/cancel")["status"] == "canceled"
    charges = stripe.get("/v1/charges", payment_intent=intent["id"]).body["data"]
    assert [charge["status"] for charge in charges] == ["failed"]
