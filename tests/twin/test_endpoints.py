"""Every endpoint answers in Stripe's shape, and knows every parameter that Stripe documents."""

from itertools import pairwise
from typing import Any

import pytest

from anchorhold.twin.routes import ENDPOINTS, Endpoint
from anchorhold.twin.settings import API_VERSION
from anchorhold.twin.versions import known
from tests.openapi import operation, request_schema
from tests.twin.client import Client

SIMULATED = sorted(ENDPOINTS, key=lambda one: (one.template, one.method))


def name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.template}"


_ENDPOINT = {"url": "http://127.0.0.1:1/", "enabled_events": ["*"]}


def world(stripe: Client) -> dict[str, str]:
    """One object of each kind, by the noun in its path."""
    clock = stripe.done("/v1/test_helpers/test_clocks", frozen_time=1_700_000_000)
    customer = stripe.customer("pm_card_visa")
    disputed = stripe.intent(confirm=True, off_session=True, payment_method="pm_card_createDispute")
    paid = stripe.intent(confirm=True, off_session=True, payment_method="pm_card_visa")
    refund = stripe.done("/v1/refunds", payment_intent=paid["id"], amount=1)
    dispute = stripe.get("/v1/disputes").body["data"][0]
    assert dispute["payment_intent"] == disputed["id"]
    return {
        "customers": customer["id"],
        "payment_methods": customer["method"],
        "payment_intents": stripe.intent(
            customer=customer["id"], payment_method=customer["method"]
        )["id"],
        "charges": paid["latest_charge"],
        "refunds": refund["id"],
        "disputes": dispute["id"],
        "events": stripe.get("/v1/events").body["data"][0]["id"],
        "test_clocks": clock["id"],
        "webhook_endpoints": stripe.done("/v1/webhook_endpoints", **_ENDPOINT)["id"],
    }


def needs(endpoint: str, ids: dict[str, str]) -> dict[str, Any]:
    """The parameters without which the endpoint cannot succeed."""
    rows: dict[str, dict[str, Any]] = {
        "POST /v1/payment_intents": {"amount": 500, "currency": "usd"},
        "POST /v1/payment_intents/{id}/confirm": {"off_session": True},
        "GET /v1/payment_methods": {"customer": ids["customers"]},
        "POST /v1/payment_methods": {"type": "card", "card": {"token": "tok_visa"}},
        "POST /v1/payment_methods/{id}/attach": {"customer": ids["customers"]},
        "POST /v1/refunds": {"charge": ids["charges"]},
        "POST /v1/webhook_endpoints": _ENDPOINT,
        "POST /v1/test_helpers/test_clocks": {"frozen_time": 1_700_000_000},
        "POST /v1/test_helpers/test_clocks/{id}/advance": {"frozen_time": 1_800_000_000},
    }
    return rows.get(endpoint, {})


@pytest.mark.parametrize("endpoint", SIMULATED, ids=name)
def test_every_endpoint_succeeds_in_stripes_shape(stripe: Client, endpoint: Endpoint) -> None:
    ids = world(stripe)
    parts = endpoint.template.split("/")
    nouns = [before for before, part in pairwise(parts) if part == "{id}"]
    path = endpoint.template
    for noun in nouns:
        path = path.replace("{id}", ids[noun], 1)
    params = needs(name(endpoint), ids)
    answer = stripe.ask(endpoint.method, path, params)
    assert answer.status == 200, answer.body
    if endpoint.in_list:
        assert answer.body["data"], "an empty list shows nothing"


@pytest.mark.parametrize("endpoint", SIMULATED, ids=name)
def test_every_documented_parameter_is_known(endpoint: Endpoint) -> None:
    documented = request_schema(operation(endpoint.method, endpoint.template), endpoint.method).get(
        "properties", {}
    )
    assert set(documented) <= known(endpoint.params, API_VERSION)


def test_what_stripe_has_and_the_twin_has_not_is_refused_by_name(stripe: Client) -> None:
    refused = stripe.post(
        "/v1/payment_intents", amount=500, currency="usd", transfer_data={"destination": "acct_x"}
    )
    assert refused.error["message"] == (
        "Stripe knows `transfer_data`, this twin does not simulate it."
    )
