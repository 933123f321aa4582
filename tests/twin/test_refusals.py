"""The twin refuses what Stripe refuses, with its codes, parameters and sentences."""

from typing import Any

import pytest

from anchorhold.twin import PUBLISHABLE_KEY, KeyState, Request, Settings, Twin
from tests.twin.client import Client

INTENTS = "/v1/payment_intents"
Given = dict[str, Any]

# fmt: off
BAD_CREATES: list[tuple[Given, str | None, str | None]] = [
    # parameters, code, param
    ({"currency": "usd"}, "parameter_missing", "amount"),
    ({"amount": 500}, "parameter_missing", "currency"),
    ({"colour": "red"}, "parameter_unknown", "colour"),
    ({"amount": "5.5"}, "parameter_invalid_integer", "amount"),
    ({"amount": 0}, "parameter_invalid_integer", "amount"),
    ({"amount": -5}, "parameter_invalid_integer", "amount"),
    ({"amount": 49}, "amount_too_small", "amount"),
    ({"amount": 100_000_000}, "amount_too_large", "amount"),
    ({"amount": 49, "currency": "jpy"}, "amount_too_small", "amount"),
    ({"amount": 1234, "currency": "kwd"}, "parameter_invalid_integer", "amount"),
    ({"currency": "xxx"}, None, "currency"),
    ({"currency": ""}, None, "currency"),
    ({"customer": {"id": "cus_x"}}, None, "customer"),
    ({"amount": {"minor": 5}}, None, "amount"),
    ({"customer": ""}, "parameter_invalid_empty", "customer"),
    ({"customer": "cus_none"}, "resource_missing", "customer"),
    ({"payment_method": "pm_none"}, "resource_missing", "payment_method"),
    ({"confirm": "yes"}, None, "confirm"),
    ({"capture_method": "manually"}, None, "capture_method"),
    ({"off_session": True}, None, "off_session"),
    ({"return_url": "https://x"}, None, "return_url"),
    ({"error_on_requires_action": True}, None, "error_on_requires_action"),
    ({"off_session": "maybe", "confirm": True}, None, "off_session"),
    ({"statement_descriptor": "SHOP"}, None, "statement_descriptor"),
    ({"metadata": "x"}, None, "metadata"),
    ({"metadata": {"k" * 41: "v"}}, None, "metadata"),
    ({"metadata": {"k": "v" * 501}}, None, "metadata"),
    ({"metadata": {f"k{n}": "v" for n in range(51)}}, None, "metadata"),
    ({"metadata": {"a": {"b": "c"}}}, None, "metadata[a]"),
    ({"shipping": {"name": "A"}}, "parameter_missing", "shipping[address]"),
    ({"shipping": {"name": "A", "address": {"planet": "X"}}},
     "parameter_unknown", "shipping[address][planet]"),
    ({"description": "x" * 1001}, None, "description"),
    ({"allowed_payment_method_types": "card"}, None, "allowed_payment_method_types"),
    ({"allowed_payment_method_types": ["cash"]}, None, "allowed_payment_method_types[0]"),
    ({"payment_method_types": ["card"]},
     "payment_method_types_no_longer_supported", "payment_method_types"),
    ({"transfer_data": {"destination": "acct_x"}}, None, "transfer_data"),
    ({"expand": ["nonsense"]}, None, "expand"),
    ({"expand": ["data.customer"]}, None, "expand"),
    ({"allowed_payment_method_types": ["card"], "automatic_payment_methods": {"enabled": True}},
     None, "automatic_payment_methods"),
]
# fmt: on


@pytest.mark.parametrize(("given", "code", "param"), BAD_CREATES)
def test_a_bad_create_is_refused_and_creates_nothing(
    stripe: Client, given: Given, code: str | None, param: str
) -> None:
    whole = {"amount": 500, "currency": "usd", **given}
    if code == "parameter_missing" and len(given) == 1 and "shipping" not in given:
        whole = given
    refused = stripe.ask("POST", INTENTS, whole)
    assert refused.status == 400
    assert refused.error["type"] == "invalid_request_error"
    assert (refused.error.get("code"), refused.error["param"]) == (code, param)
    assert refused.error["request_log_url"].endswith(refused.headers["Request-Id"])
    assert len(stripe.twin.account().payment_intents) == 0


# fmt: off
GOOD_CREATES: list[Given] = [
    {"amount": 50, "currency": "usd"},
    {"amount": 99_999_999, "currency": "usd"},
    {"amount": 50, "currency": "JPY"},
    {"amount": 9_999_999_999, "currency": "jpy"},
    {"amount": 1230, "currency": "kwd"},
    {"amount": 30, "currency": "gbp"},
    {"amount": 500, "currency": "usd", "metadata": {f"k{n}": "v" * 500 for n in range(50)}},
    {"amount": 500, "currency": "usd", "metadata": {"k" * 40: "v", "gone": ""}},
    {"amount": 500, "currency": "usd", "automatic_payment_methods": {"enabled": True}},
]
# fmt: on


@pytest.mark.parametrize("given", GOOD_CREATES)
def test_what_lies_within_the_limits_is_taken(stripe: Client, given: Given) -> None:
    intent = stripe.done(INTENTS, **given)
    assert intent["amount"] == given["amount"]
    assert intent["currency"] == given["currency"].lower()
    assert "gone" not in intent["metadata"]


@pytest.mark.parametrize(
    ("method", "path", "noun"),
    [
        ("GET", "/v1/customers/cus_0", "customer"),
        ("POST", "/v1/customers/cus_0", "customer"),
        ("DELETE", "/v1/customers/cus_0", "customer"),
        ("GET", "/v1/payment_intents/pi_0", "payment_intent"),
        ("POST", "/v1/payment_intents/pi_0/confirm", "payment_intent"),
        ("POST", "/v1/payment_intents/pi_0/cancel", "payment_intent"),
        ("GET", "/v1/payment_methods/pm_0", "PaymentMethod"),
        ("GET", "/v1/charges/ch_0", "charge"),
        ("GET", "/v1/refunds/re_0", "refund"),
        ("GET", "/v1/disputes/du_0", "dispute"),
        ("GET", "/v1/events/evt_0", "event"),
    ],
)
def test_an_unknown_id_is_404(stripe: Client, method: str, path: str, noun: str) -> None:
    refused = stripe.ask(method, path)
    assert (refused.status, refused.error["code"]) == (404, "resource_missing")
    assert refused.error["message"] == f"No such {noun}: '{path.split('/')[3]}'"


def test_an_endpoint_that_is_not_there_is_404_without_a_code(twin: Twin) -> None:
    headers = {"authorization": "Bearer sk_test_twin"}
    for method, path in (("GET", "/v1/unicorns"), ("DELETE", INTENTS), ("GET", "/")):
        answer = twin.handle(Request(method, path, headers)).json()["error"]
        assert "code" not in answer
        assert answer["message"].startswith(f"Unrecognized request URL ({method}: {path})")


@pytest.mark.parametrize(
    ("headers", "code", "sentence"),
    [
        ({}, None, "You did not provide an API key."),
        ({"authorization": "Bearer "}, None, "You did not provide an API key."),
        ({"authorization": "Basic !!"}, None, "You did not provide an API key."),
        ({"authorization": "Bearer sk_test_wrong_0001"}, None, "Invalid API Key provided: sk_test"),
        ({"authorization": "Bearer sk_test_rolled"}, "api_key_expired", "Expired API Key"),
        ({"authorization": "Bearer sk_test_deleted"}, None, "Invalid API Key provided"),
        ({"authorization": f"Bearer {PUBLISHABLE_KEY}"}, "secret_key_required", "This API call"),
    ],
)
def test_a_key_that_does_not_count_is_401(
    twin: Twin, headers: dict[str, str], code: str | None, sentence: str
) -> None:
    twin.add_key("sk_test_rolled", state=KeyState.EXPIRED)
    twin.add_key("sk_test_deleted", state=KeyState.REVOKED)
    answer = twin.handle(Request("GET", "/v1/customers", headers))
    assert answer.status == 401
    assert answer.json()["error"].get("code") == code
    assert answer.json()["error"]["message"].startswith(sentence)
    assert "wrong_0001" not in answer.body.decode()


def test_basic_authentication_carries_the_key_as_the_user(twin: Twin) -> None:
    basic = {"authorization": "Basic c2tfdGVzdF90d2luOg=="}
    assert twin.handle(Request("GET", "/v1/balance", basic)).status == 200


def test_a_restricted_key_is_403_where_it_may_not_go(stripe: Client) -> None:
    stripe.twin.add_key("rk_test_reader", denied=["POST *", "GET /v1/balance"])
    reader = Client(stripe.twin, "rk_test_reader")
    assert reader.get("/v1/customers").status == 200
    for refused in (reader.post("/v1/customers"), reader.get("/v1/balance")):
        assert refused.status == 403
        assert "does not have the required permissions" in refused.error["message"]
        assert "rak_" in refused.error["message"]
    assert stripe.get("/v1/balance").status == 200


def test_another_accounts_name_in_the_header_is_403(stripe: Client) -> None:
    own = stripe.ask("GET", "/v1/balance", headers={"stripe-account": "acct_twin"})
    foreign = stripe.ask("GET", "/v1/balance", headers={"stripe-account": "acct_x"})
    assert (own.status, foreign.status, foreign.error["code"]) == (200, 403, "account_invalid")


def test_the_version_is_checked_for_its_form_and_echoed(stripe: Client) -> None:
    for version in ("2026-10-28.endive", "2020-08-27", "2026-09-30.preview"):
        answer = stripe.ask("GET", "/v1/balance", headers={"stripe-version": version})
        assert answer.headers["Stripe-Version"] == version
    wrong = stripe.ask("GET", "/v1/balance", headers={"stripe-version": "latest"})
    assert (wrong.status, wrong.error.get("code")) == (400, None)
    assert wrong.error["message"] == "Invalid Stripe API version: latest"
    assert stripe.get("/v1/balance").headers["Stripe-Version"] == "2026-10-28.endive"


def test_each_answer_has_a_request_id_of_its_own(stripe: Client) -> None:
    ids = {stripe.get("/v1/balance").headers["Request-Id"] for _ in range(5)}
    assert len(ids) == 5
    assert all(id_.startswith("req_") for id_ in ids)


def test_a_name_cannot_be_a_value_and_a_hash(twin: Twin) -> None:
    headers = {"authorization": "Bearer sk_test_twin"}
    for body in (b"metadata=x&metadata[a]=b", b"metadata[a]=b&metadata=x", b"a[b]=1&a[b][c]=2"):
        answer = twin.handle(Request("POST", "/v1/customers", headers, "", body))
        assert answer.status == 400
        assert answer.json()["error"]["message"].startswith("Invalid object")


def test_an_account_without_leave_for_card_numbers_gets_402(clock: Any) -> None:
    stripe = Client(Twin(clock=clock, settings=Settings(raw_card_numbers=False)))
    card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2040}
    refused = stripe.post("/v1/payment_methods", type="card", card=card)
    assert (refused.status, refused.error["type"]) == (402, "invalid_request_error")
    assert stripe.post("/v1/payment_methods", type="card", card={"token": "tok_visa"}).status == 200
