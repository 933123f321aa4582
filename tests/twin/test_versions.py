"""The twin takes the parameters of the API version that a request is made in."""

from typing import Any

import pytest
import stripe as official

from anchorhold.twin.method_types import ALLOWED
from anchorhold.twin.params import Hash, ListOf, NotSimulated, Opaque, Range
from anchorhold.twin.routes import ENDPOINTS
from anchorhold.twin.settings import API_VERSION
from anchorhold.twin.versions import Dated, DatedTable, Since, Until, known
from tests.sdk import Names, parameters, words
from tests.twin.client import Answered, Client

INTENTS = "/v1/payment_intents"
GONE = "payment_method_types_no_longer_supported"
LISTED, ALLOWS = "payment_method_types", "allowed_payment_method_types"


def ask(stripe: Client, version: str | None, path: str, **params: Any) -> Answered:
    """A POST in this API version, of which no newer document can judge the parameters."""
    headers = {} if version is None else {"stripe-version": version}
    sent = stripe.send("POST", path, params, headers=headers)
    return Answered.of(sent)


def create(stripe: Client, version: str | None, **params: Any) -> Answered:
    """A create in this API version."""
    return ask(stripe, version, INTENTS, amount=500, currency="eur", **params)


# fmt: off
VERSIONS = [
    # version, the parameter, the code of the refusal
    ("2022-11-15", LISTED, None),
    ("2022-11-15", ALLOWS, "parameter_unknown"),
    ("2026-05-27.dahlia", LISTED, None),
    ("2026-06-24.dahlia", ALLOWS, "parameter_unknown"),
    ("2026-07-29.dahlia", LISTED, None),
    ("2026-07-29.dahlia", ALLOWS, None),
    ("2026-08-26.dahlia", LISTED, None),
    ("2026-08-26.preview", LISTED, GONE),
    ("2026-09-30.endive", LISTED, GONE),
    ("2026-09-30.endive", ALLOWS, None),
    (API_VERSION, LISTED, GONE),
    (None, LISTED, GONE),
    (None, ALLOWS, None),
]
# fmt: on


@pytest.mark.parametrize(("version", "name", "code"), VERSIONS)
@pytest.mark.parametrize("endpoint", ["create", "update", "confirm"])
def test_each_version_takes_its_own_parameters(
    stripe: Client, version: str | None, name: str, code: str | None, endpoint: str
) -> None:
    path = f"{INTENTS}/{stripe.intent()['id']}"
    given: dict[str, Any] = {name: ["card"]}
    match endpoint:
        case "create":
            answer = create(stripe, version, **given)
        case "update":
            answer = ask(stripe, version, path, **given)
        case _:
            pay = {"payment_method": "pm_card_visa", "off_session": True}
            answer = ask(stripe, version, f"{path}/confirm", **pay, **given)
    assert (answer.status, answer.code) == (200 if code is None else 400, code)
    if code is None:
        assert answer.body["payment_method_types"] == ["card"]
    else:
        assert answer.error["param"] == name


def test_a_version_that_there_cannot_be_is_refused(stripe: Client) -> None:
    assert "Invalid Stripe API version" in create(stripe, "newest").error["message"]


# fmt: off
COMPATIBLE = [
    # currency, allowed, what of it the intent takes
    ("eur", ["us_bank_account", "sepa_debit", "ideal", "card"], ["sepa_debit", "card"]),
    ("usd", ["us_bank_account", "sepa_debit", "card"], ["us_bank_account", "card"]),
    ("jpy", ["card", "sepa_debit"], ["card"]),
]
# fmt: on


@pytest.mark.parametrize(("currency", "allowed", "taken"), COMPATIBLE)
def test_types_that_the_payment_cannot_take_are_left_out_in_silence(
    stripe: Client, currency: str, allowed: list[str], taken: list[str]
) -> None:
    intent = stripe.intent(currency=currency, allowed_payment_method_types=allowed)
    assert (intent[ALLOWS], intent[LISTED]) == (allowed, taken)
    assert intent["automatic_payment_methods"] is None


def test_an_intent_that_could_take_nothing_is_refused(stripe: Client) -> None:
    refused = stripe.post(
        INTENTS, amount=500, currency="jpy", allowed_payment_method_types=["sepa_debit"]
    )
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert len(stripe.twin.account().payment_intents) == 0


def test_another_currency_chooses_among_the_allowed_types_anew(stripe: Client) -> None:
    allowed = ["card", "sepa_debit", "us_bank_account"]
    intent = stripe.intent(currency="eur", allowed_payment_method_types=allowed)
    changed = stripe.done(f"{INTENTS}/{intent['id']}", currency="usd")
    assert changed[LISTED] == ["card", "us_bank_account"]
    assert stripe.done(f"{INTENTS}/{intent['id']}", description="same")[LISTED] == changed[LISTED]


def test_a_payment_method_of_another_type_than_the_allowed_ones_does_not_pay(
    stripe: Client,
) -> None:
    intent = stripe.intent(currency="eur", allowed_payment_method_types=["sepa_debit"])
    refused = stripe.confirm(intent["id"], payment_method="pm_card_visa")
    assert refused.error["code"] == "payment_intent_incompatible_payment_method"


def test_types_are_chosen_in_one_way_only(stripe: Client) -> None:
    both = {ALLOWS: ["card"], LISTED: ["card"]}
    refused = create(stripe, "2026-07-29.dahlia", **both)
    assert (refused.status, refused.error["param"]) == (400, LISTED)


def test_the_words_that_may_be_allowed_are_stripes() -> None:
    assert set(ALLOWED) == words(f"POST {INTENTS}", ALLOWS)


# fmt: off
BEYOND = {
    # what the twin takes and the SDKs do not offer
    "POST /v1/customers/{id}": {
        # deprecated; Stripe's OpenAPI document has them, the SDKs leave them out
        "bank_account", "card", "default_alipay_account", "default_bank_account", "default_card",
    },
    # what Stripe.js sends from a card form and with a publishable key
    "POST /v1/payment_intents": {"payment_method_data[card]"},
    "POST /v1/payment_intents/{id}": {"payment_method_data[card]"},
    "POST /v1/payment_intents/{id}/confirm": {"payment_method_data[card]", "client_secret"},
}
# fmt: on


def differences(table: DatedTable, official: Names, within: str = "") -> set[str]:
    """The parameters that only one side has, as they are written in a form; `-` if Stripe's."""
    mine = known(table, API_VERSION)
    found = {_full(name, within) for name in mine - set(official)}
    found |= {f"-{_full(name, within)}" for name in set(official) - mine}
    for name in mine & set(official):
        inner = inside(table[name])
        if inner is not None:
            found |= differences(inner, official[name], _full(name, within))
    return found


def _full(name: str, within: str) -> str:
    return f"{within}[{name}]" if within else name


def inside(param: Dated) -> DatedTable | None:
    """The parameters inside of one; None when the twin does not look into it."""
    match param:
        case Since() | Until():
            return inside(param.param)
        case ListOf():
            return inside(param.item)
        case Hash():
            return param.table
        case Opaque() | NotSimulated() | Range():
            return None
        case _:
            return {}


@pytest.mark.parametrize("endpoint", [f"{one.method} {one.template}" for one in ENDPOINTS])
def test_every_parameter_of_the_pinned_version_is_known_and_none_beyond(endpoint: str) -> None:
    [mine] = [one for one in ENDPOINTS if f"{one.method} {one.template}" == endpoint]
    beyond = differences(mine.params, parameters(endpoint))
    assert beyond == BEYOND.get(endpoint, set())


def test_the_judge_is_of_the_version_that_the_twin_speaks() -> None:
    assert official.api_version == API_VERSION
