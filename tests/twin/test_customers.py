"""Customers and their payment methods."""

import pytest

from anchorhold.twin.instruments import BANKS, CARDS
from tests.twin.client import Client


def test_a_customer_is_created_changed_and_read(stripe: Client) -> None:
    customer = stripe.customer(
        email="ada@example.com",
        metadata={"a": "1", "b": "2"},
        address={"city": "Bonn"},
        shipping={"name": "Ada", "address": {"city": "Ulm"}},
    )
    path = f"/v1/customers/{customer['id']}"
    changed = stripe.done(path, metadata={"a": "", "c": "3"}, email="", name="Ada")
    assert (changed["metadata"], changed["email"]) == ({"b": "2", "c": "3"}, None)
    assert (changed["name"], changed["address"]["city"]) == ("Ada", "Bonn")
    assert stripe.get(path).body == changed
    assert stripe.done(path, metadata="")["metadata"] == {}


def test_a_deleted_customer_is_a_tombstone(stripe: Client) -> None:
    customer = stripe.customer(email="ada@example.com")
    path = f"/v1/customers/{customer['id']}"
    gone = {"id": customer["id"], "object": "customer", "deleted": True}
    assert stripe.ask("DELETE", path).body == gone
    assert stripe.get(path).body == gone
    assert stripe.get("/v1/customers").body["data"] == []
    assert stripe.get("/v1/customers", created={"gte": 0}).body["data"] == []
    for again in (stripe.ask("DELETE", path), stripe.post(path, name="x")):
        assert (again.status, again.error["code"], again.error["param"]) == (
            404,
            "resource_missing",
            "id",
        )
    used = stripe.post("/v1/payment_intents", amount=500, currency="usd", customer=customer["id"])
    assert (used.status, used.error["code"]) == (400, "resource_missing")


def test_customers_are_found_by_their_address(stripe: Client) -> None:
    wanted = stripe.customer(email="a@example.com")
    stripe.customer(email="b@example.com")
    found = stripe.get("/v1/customers", email="a@example.com").body["data"]
    assert [one["id"] for one in found] == [wanted["id"]]


def test_attaching_a_literal_test_card_makes_a_copy_with_its_own_id(stripe: Client) -> None:
    one, two = stripe.customer("pm_card_mastercard"), stripe.customer("pm_card_mastercard")
    assert one["method"] != two["method"]
    assert not one["method"].startswith("pm_card_")
    method = stripe.get(f"/v1/payment_methods/{one['method']}").body
    assert (method["customer"], method["card"]["brand"]) == (one["id"], "mastercard")


def test_a_customer_can_be_made_with_a_payment_method(stripe: Client) -> None:
    customer = stripe.customer(payment_method="pm_card_visa")
    methods = stripe.get(f"/v1/customers/{customer['id']}/payment_methods").body["data"]
    assert [one["card"]["last4"] for one in methods] == ["4242"]
    single = stripe.get(f"/v1/customers/{customer['id']}/payment_methods/{methods[0]['id']}")
    assert single.body == methods[0]
    default = {"default_payment_method": methods[0]["id"]}
    changed = stripe.done(f"/v1/customers/{customer['id']}", invoice_settings=default)
    assert changed["invoice_settings"]["default_payment_method"] == methods[0]["id"]


def test_a_foreign_payment_method_cannot_be_the_default(stripe: Client) -> None:
    owner, other = stripe.customer("pm_card_visa"), stripe.customer()
    default = {"default_payment_method": owner["method"]}
    refused = stripe.post(f"/v1/customers/{other['id']}", invoice_settings=default)
    assert refused.error["code"] == "resource_missing"


def test_detaching_is_for_good(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    path = f"/v1/payment_methods/{customer['method']}"
    assert stripe.done(f"{path}/detach")["customer"] is None
    for again in (
        stripe.post(f"{path}/detach"),
        stripe.post(f"{path}/attach", customer=customer["id"]),
        stripe.confirm(stripe.intent()["id"], payment_method=customer["method"]),
    ):
        assert (again.status, again.error.get("code")) == (400, None)
    under = f"/v1/customers/{customer['id']}/payment_methods/{customer['method']}"
    assert (stripe.get(under).status, stripe.get(under).error["param"]) == (404, "customer")


def test_a_payment_method_belongs_to_one_customer(stripe: Client) -> None:
    owner, other = stripe.customer("pm_card_visa"), stripe.customer()
    path = f"/v1/payment_methods/{owner['method']}/attach"
    assert stripe.post(path, customer=other["id"]).status == 400
    assert stripe.post(path).error["param"] == "customer"
    assert stripe.post(path, customer="cus_0").error["code"] == "resource_missing"


def test_payment_methods_are_listed_by_customer_and_type(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    stripe.done("/v1/payment_methods/pm_usBankAccount_success/attach", customer=customer["id"])
    url = "/v1/payment_methods"
    both = stripe.get(url, customer=customer["id"]).body["data"]
    assert [one["type"] for one in both] == ["us_bank_account", "card"]
    cards = stripe.get(url, customer=customer["id"], type="card").body["data"]
    assert [one["type"] for one in cards] == ["card"]
    assert stripe.get(url).body["data"] == []
    assert stripe.get(url, customer="cus_0").status == 400


@pytest.mark.parametrize("one", CARDS + BANKS, ids=lambda one: one.token)
def test_every_literal_payment_method_can_be_looked_at(stripe: Client, one: object) -> None:
    token = getattr(one, "token", "")
    shown = stripe.get(f"/v1/payment_methods/pm_{token}").body
    assert shown["id"] != f"pm_{token}"
    assert shown[shown["type"]]["last4"]


def test_cards_by_number_by_token_and_banks_by_account(stripe: Client) -> None:
    card = {"number": "4000 0000 0000 0002", "exp_month": 1, "exp_year": 2040, "cvc": "123"}
    billing = {"name": "Ada", "address": {"country": "DE"}}
    made = stripe.done("/v1/payment_methods", type="card", card=card, billing_details=billing)
    assert (made["card"]["last4"], made["card"]["exp_year"]) == ("0002", 2040)
    assert made["billing_details"]["address"]["country"] == "DE"
    bank = {"account_number": "000123456789", "routing_number": "110000000"}
    assert stripe.done("/v1/payment_methods", type="us_bank_account", us_bank_account=bank)
    iban = {"iban": "DE89370400440532013000"}
    assert stripe.done("/v1/payment_methods", type="sepa_debit", sepa_debit=iban)


def test_what_is_no_test_card_is_refused(stripe: Client) -> None:
    url = "/v1/payment_methods"
    wrong = {"number": "4242424242424241", "exp_month": 1, "exp_year": 2040}
    refused = stripe.post(url, type="card", card=wrong)
    assert (refused.status, refused.error["code"]) == (402, "incorrect_number")
    assert stripe.post(url, type="card", card={"token": "tok_x"}).error["code"] == (
        "resource_missing"
    )
    assert stripe.post(url).error["code"] == "parameter_missing"
    assert stripe.post(url, type="card").error["code"] == "parameter_missing"
    iban = {"iban": "DE00000000000000000000"}
    assert stripe.post(url, type="sepa_debit", sepa_debit=iban).status == 400


def test_a_payment_method_can_be_changed(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    path = f"/v1/payment_methods/{customer['method']}"
    changed = stripe.done(
        path, metadata={"a": "b"}, card={"exp_year": 2041}, billing_details={"name": "Ada"}
    )
    assert (changed["metadata"], changed["card"]["exp_year"]) == ({"a": "b"}, 2041)
    assert changed["billing_details"]["name"] == "Ada"
    stripe.done(path, metadata={"a": "b"})
    (updated,) = stripe.get("/v1/events", type="payment_method.updated").body["data"]
    assert updated["data"]["object"] == changed
    loose = stripe.done("/v1/payment_methods", type="card", card={"token": "tok_visa"})
    stripe.done(f"/v1/payment_methods/{loose['id']}", metadata={"a": "b"})
    assert len(stripe.get("/v1/events", type="payment_method.updated").body["data"]) == 1


def test_a_new_customer_owes_nothing(stripe: Client) -> None:
    customer = stripe.customer()
    assert (customer["balance"], customer["delinquent"]) == (0, False)
    assert stripe.done(f"/v1/customers/{customer['id']}", balance=-500)["balance"] == -500


def test_saving_a_card_with_a_payment_attaches_it(stripe: Client) -> None:
    customer = stripe.customer()
    paid = stripe.intent(
        customer=customer["id"],
        confirm=True,
        payment_method="pm_card_visa",
        allowed_payment_method_types=["card"],
        setup_future_usage="off_session",
    )
    method = stripe.get(f"/v1/payment_methods/{paid['payment_method']}").body
    assert method["customer"] == customer["id"]


def test_an_intent_takes_payment_method_data(stripe: Client) -> None:
    data = {"type": "sepa_debit", "sepa_debit": {"iban": "DE89370400440532013000"}}
    intent = stripe.intent(currency="eur", payment_method_data=data)
    assert intent["status"] == "requires_confirmation"
    method = stripe.get(f"/v1/payment_methods/{intent['payment_method']}").body
    assert method["sepa_debit"]["last4"] == "3000"


def test_an_intent_can_be_changed_until_it_is_paid(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    intent = stripe.intent(metadata={"a": "1"})
    path = f"/v1/payment_intents/{intent['id']}"
    changed = stripe.done(
        path, amount=2000, currency="eur", customer=customer["id"],
        payment_method=customer["method"], metadata={"b": "2"}, description="more",
    )  # fmt: skip
    assert (changed["amount"], changed["currency"]) == (2000, "eur")
    assert changed["status"] == "requires_confirmation"
    assert changed["metadata"] == {"a": "1", "b": "2"}
    assert stripe.post(path, amount=49).error["code"] == "amount_too_small"
    assert stripe.confirm(intent["id"]).body["amount_received"] == 2000
    refused = stripe.post(path, amount=3000)
    assert refused.error["code"] == "payment_intent_unexpected_state"
    assert refused.error["payment_intent"]["amount"] == 2000
