"""Answers and events are in the shape of their API version."""

from typing import Any

import pytest

from anchorhold.twin import API_VERSION, Clock, Settings, Twin
from anchorhold.twin.shapes import CHANGES
from tests.twin.client import Answered, Client

VERSIONS = ("2022-08-01", "2022-11-15", "2024-04-10", "2025-02-24.acacia", "2025-09-30.clover",
            "2026-07-29.dahlia", API_VERSION)  # fmt: skip


def ask(stripe: Client, version: str, method: str, path: str, **params: Any) -> dict[str, Any]:
    """The body that this version gets; no newer document can judge it."""
    sent = stripe.send(method, path, params, headers={"stripe-version": version})
    answer = Answered.of(sent)
    assert answer.headers["Stripe-Version"] == version
    return answer.body


@pytest.fixture
def paid(stripe: Client) -> dict[str, Any]:
    """A disputed payment that was declined first, and of which a part was given back."""
    intent = stripe.intent()
    stripe.confirm(intent["id"], payment_method="pm_card_chargeDeclined")
    whole = stripe.confirm(intent["id"], payment_method="pm_card_visa").body
    stripe.done("/v1/refunds", payment_intent=intent["id"], amount=1)
    return whole


# fmt: off
FIELDS = [
    # kind, field, the versions that show it
    ("payment_intents", "charges", VERSIONS[:1]),
    ("payment_intents", "latest_charge", VERSIONS),
    ("payment_intents", "invoice", VERSIONS[:4]),
    ("payment_intents", "allowed_payment_method_types", VERSIONS[5:]),
    ("charges", "refunds", VERSIONS[:1]),
    ("charges", "invoice", VERSIONS[:4]),
    ("refunds", "payment_method", VERSIONS[5:]),
]
# fmt: on


@pytest.mark.parametrize(("kind", "field", "showing"), FIELDS)
def test_each_version_shows_its_own_fields(
    stripe: Client, paid: dict[str, Any], kind: str, field: str, showing: tuple[str, ...]
) -> None:
    shown = {
        version
        for version in VERSIONS
        if field in ask(stripe, version, "GET", f"/v1/{kind}")["data"][0]
    }
    assert shown == set(showing)


def test_an_old_intent_lists_its_charges_with_their_refunds(
    stripe: Client, paid: dict[str, Any]
) -> None:
    old = ask(stripe, "2020-08-27", "GET", f"/v1/payment_intents/{paid['id']}")
    assert [one["status"] for one in old["charges"]["data"]] == ["succeeded", "failed"]
    [refund] = old["charges"]["data"][0]["refunds"]["data"]
    assert (refund["amount"], "payment_method" in refund) == (1, False)
    expanded = ask(
        stripe, "2020-08-27", "GET", f"/v1/payment_intents/{paid['id']}", expand=["latest_charge"]
    )
    assert "refunds" in expanded["latest_charge"]


def test_the_intent_in_a_refusal_has_the_shape_of_the_request(
    stripe: Client, paid: dict[str, Any]
) -> None:
    refused = ask(stripe, "2022-08-01", "POST", f"/v1/payment_intents/{paid['id']}/cancel")
    assert len(refused["error"]["payment_intent"]["charges"]["data"]) == 2


def test_how_a_dispute_was_answered_is_said_by_the_newest_version_alone(stripe: Client) -> None:
    stripe.intent(confirm=True, off_session=True, payment_method="pm_card_createDispute")
    for version in ("2026-09-30.endive", API_VERSION):
        dispute = ask(stripe, version, "GET", "/v1/disputes")["data"][0]
        assert ("submission_method" in dispute["evidence_details"]) == (version == API_VERSION)


@pytest.mark.parametrize(
    ("version", "types", "capture"),
    [
        ("2022-11-15", ["card"], "automatic"),
        ("2023-10-16", ["card", "us_bank_account"], "automatic"),
        ("2024-04-10", ["card", "us_bank_account"], "automatic_async"),
    ],
)
def test_what_is_not_chosen_is_chosen_by_the_version(
    stripe: Client, version: str, types: list[str], capture: str
) -> None:
    made = ask(stripe, version, "POST", "/v1/payment_intents", amount=500, currency="usd")
    assert (made["payment_method_types"], made["capture_method"]) == (types, capture)


def test_an_account_of_an_old_version_lists_its_events_in_it(clock: Clock) -> None:
    twin = Twin(seed=1, clock=clock, settings=Settings(api_version="2022-08-01"))
    params = {"amount": 500, "currency": "usd", "confirm": True, "payment_method": "pm_card_visa"}
    stripe = Client(twin)
    assert Answered.of(stripe.send("POST", "/v1/payment_intents", params)).status == 200
    types = {"type": "payment_intent.succeeded"}
    listed = Answered.of(
        stripe.send("GET", "/v1/events", types, headers={"stripe-version": API_VERSION})
    )
    [event] = listed.body["data"]
    assert event["api_version"] == "2022-08-01"
    assert len(event["data"]["object"]["charges"]["data"]) == 1


def test_the_changes_are_newest_first() -> None:
    dates = [change.date for change in CHANGES]
    assert dates == sorted(dates, reverse=True)
