"""Webhook endpoints made through the API are told of events, signed, in their own version."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import stripe as official

from anchorhold.twin import ACCOUNT, Clock, FaultKind, Rule, Twin, acts
from anchorhold.twin import courier as couriers
from anchorhold.twin.event_types import EVENT_TYPES
from anchorhold.twin.server import TwinServer, serve
from anchorhold.twin.webhook_endpoints import MOST, roll
from anchorhold.twin.webhooks import Trouble, trouble_from_json
from tests.sdk import words
from tests.twin.client import Client
from tests.twin.receiving import Receiver

ENDPOINTS = "/v1/webhook_endpoints"
OLD = "2022-08-01"


@pytest_asyncio.fixture
async def server(twin: Twin) -> AsyncIterator[TwinServer]:
    served = await serve(twin)
    yield served
    await served.stop()


def listen(stripe: Client, url: str, *types: str, **more: Any) -> dict[str, Any]:
    """A new endpoint, with its secret."""
    return stripe.done(ENDPOINTS, url=url, enabled_events=list(types or ("*",)), **more)


def pay(stripe: Client, **params: Any) -> dict[str, Any]:
    """A payment that succeeds."""
    return stripe.intent(confirm=True, payment_method="pm_card_visa", off_session=True, **params)


def test_the_secret_is_shown_once(stripe: Client) -> None:
    made = listen(stripe, "http://127.0.0.1:1/")
    assert made["secret"].startswith("whsec_")
    path = f"{ENDPOINTS}/{made['id']}"
    for shown in (
        stripe.get(path).body,
        stripe.done(path, description="mine"),
        stripe.get(ENDPOINTS).body["data"][0],
    ):
        assert "secret" not in shown


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"enabled_events": ["payment_intent.*"]}, "enabled_events[0]"),
        ({"url": "example.com/hook"}, "url"),
        ({"api_version": "newest"}, "api_version"),
        ({"secret": "whsec_mine"}, "secret"),
    ],
)
def test_what_stripe_would_not_take_is_refused(
    stripe: Client, wrong: dict[str, Any], param: str
) -> None:
    right: dict[str, Any] = {"url": "https://example.com/", "enabled_events": ["*"]}
    refused = stripe.ask("POST", ENDPOINTS, {**right, **wrong})
    assert (refused.status, refused.error["param"]) == (400, param)
    assert stripe.get(ENDPOINTS).body["data"] == []


def test_the_types_that_an_endpoint_may_ask_for_are_stripes() -> None:
    assert set(EVENT_TYPES) == words(f"POST {ENDPOINTS}", "enabled_events")


def test_an_account_has_sixteen_endpoints_at_most(stripe: Client) -> None:
    made = [listen(stripe, "http://127.0.0.1:1/")["id"] for _ in range(MOST)]
    full = stripe.post(ENDPOINTS, url="http://127.0.0.1:1/", enabled_events=["*"])
    assert "maximum of 16" in full.error["message"]
    assert stripe.ask("DELETE", f"{ENDPOINTS}/{made[0]}").body["deleted"]
    assert stripe.get(f"{ENDPOINTS}/{made[0]}").code == "resource_missing"
    listen(stripe, "http://127.0.0.1:1/")


async def test_an_endpoint_hears_what_it_asked_for_until_it_is_switched_off(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str]
) -> None:
    got, url = receiver
    made = listen(stripe, url, "payment_intent.succeeded", "refund.created")
    paid = pay(stripe)
    await server.courier.idle()
    stripe.done(f"{ENDPOINTS}/{made['id']}", disabled=True)
    stripe.done("/v1/refunds", payment_intent=paid["id"])
    await server.courier.idle()
    assert got.types() == ["payment_intent.succeeded"]
    official.Webhook.construct_event(*got.got[0], made["secret"], tolerance=2**40)
    assert [one.endpoint for one in server.courier.log] == [made["id"]]


async def test_each_endpoint_hears_in_its_own_version(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str]
) -> None:
    got, url = receiver
    listen(stripe, url, "payment_intent.succeeded", api_version=OLD)
    paid = pay(stripe)
    await server.courier.idle()
    event = json.loads(got.got[0][0])
    assert event["api_version"] == OLD
    assert [one["id"] for one in event["data"]["object"]["charges"]["data"]] == [
        paid["latest_charge"]
    ]
    listed = stripe.get("/v1/events", type="payment_intent.succeeded").body["data"][0]
    assert listed["id"] == event["id"]
    assert "charges" not in listed["data"]["object"]


async def test_a_rolled_secret_signs_beside_the_old_one_for_as_long_as_was_said(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str], clock: Clock
) -> None:
    got, url = receiver
    made = listen(stripe, url, "payment_intent.created")
    new = roll(server.twin.act(), made["id"], 3600)
    stripe.intent()
    await server.courier.idle()
    clock.advance(3600)
    stripe.intent()
    await server.courier.idle()
    (first, later) = got.got
    for secret in (made["secret"], new):
        official.Webhook.construct_event(*first, secret, tolerance=2**40)
    official.Webhook.construct_event(*later, new, tolerance=2**40)
    with pytest.raises(official.SignatureVerificationError):
        official.Webhook.construct_event(*later, made["secret"], tolerance=2**40)


async def test_an_event_is_sent_again_when_asked(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str]
) -> None:
    got, url = receiver
    made = listen(stripe, url, "payment_intent.created")
    stripe.intent()
    await server.courier.idle()
    event = stripe.get("/v1/events").body["data"][0]["id"]
    for params in (None, {"webhook_endpoint": made["id"]}):
        assert stripe.send("POST", f"/v1/events/{event}/retry", params).status == 200
    await server.courier.idle()
    assert got.types() == ["payment_intent.created"] * 3
    strange = stripe.send("POST", f"/v1/events/{event}/retry", {"webhook_endpoint": "we_x"})
    assert strange.status == 400


async def test_what_was_not_delivered_is_found_in_the_list_of_events(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(couriers, "WAITS_S", (0.0, 0.0))
    got, url = receiver
    listen(stripe, url, "payment_intent.created", "customer.created")
    got.statuses = [500, 500]
    lost = stripe.intent()
    await server.courier.idle()
    customer = stripe.customer()
    await server.courier.idle()
    for delivered, object_id in ((False, lost["id"]), (True, customer["id"])):
        page = stripe.get("/v1/events", delivery_success=delivered).body
        assert [event["data"]["object"]["id"] for event in page["data"]] == [object_id]


async def test_webhooks_are_late_by_the_twins_clock(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str], clock: Clock
) -> None:
    got, url = receiver
    listen(stripe, url, "payment_intent.created")
    server.courier.trouble = Trouble(late=1, late_s=3600)
    stripe.intent()
    await server.courier.idle()
    assert got.got == []
    clock.advance(3600)
    server.twin.run_due()
    await server.courier.idle()
    assert got.types() == ["payment_intent.created"]


async def test_webhooks_arrive_in_any_order(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str], clock: Clock
) -> None:
    got, url = receiver
    listen(stripe, url, "payment_intent.created")
    server.courier.trouble = Trouble(shuffle_s=60)
    made = [stripe.intent()["id"] for _ in range(8)]
    for _ in range(60):
        clock.advance(1)
        server.twin.run_due()
        await server.courier.idle()
    seen = [json.loads(body)["data"]["object"]["id"] for body, _ in got.got]
    assert sorted(seen) == sorted(made)
    assert seen != made


@pytest.mark.parametrize("wrong", [{"lost": 2}, {"late_s": -1}, {"lots": 1}, {"lost": "x"}])
def test_trouble_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        trouble_from_json(wrong)


async def test_a_connect_endpoint_hears_of_connected_accounts_and_of_nothing_else(
    stripe: Client, server: TwinServer, receiver: tuple[Receiver, str]
) -> None:
    got, url = receiver
    stripe.twin.open_account("acct_shop", platform=ACCOUNT)
    listen(stripe, url, "payment_intent.created", connect=True)
    here = stripe.intent()
    there = stripe.ask(
        "POST", "/v1/payment_intents", {"amount": 500, "currency": "usd"},
        headers={"stripe-account": "acct_shop"},
    ).body  # fmt: skip
    await server.courier.idle()
    [(body, _)] = got.got
    event = json.loads(body)
    assert (event["account"], event["data"]["object"]["id"]) == ("acct_shop", there["id"])
    assert stripe.get(f"/v1/payment_intents/{there['id']}").code == "resource_missing"
    assert stripe.get("/v1/payment_intents").body["data"] == [here]


def test_only_the_platforms_keys_open_a_connected_account(stripe: Client) -> None:
    stripe.twin.open_account("acct_shop", platform=ACCOUNT)
    stripe.twin.open_account("acct_other", "sk_test_other")
    header = {"stripe-account": "acct_shop"}
    assert stripe.ask("GET", "/v1/account", headers=header).body["id"] == "acct_shop"
    foreign = Client(stripe.twin, "sk_test_other").ask("GET", "/v1/account", headers=header)
    assert (foreign.status, foreign.code) == (403, "account_invalid")


def test_a_fault_can_be_a_connected_accounts_alone(stripe: Client) -> None:
    stripe.twin.open_account("acct_shop", platform=ACCOUNT)
    stripe.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1, account="acct_shop")])
    assert stripe.ask("GET", "/v1/account").status == 200
    there = stripe.ask("GET", "/v1/account", headers={"stripe-account": "acct_shop"})
    assert there.status == 429


def test_what_a_bank_does_later_is_told_of_the_connected_account(
    stripe: Client, clock: Clock
) -> None:
    stripe.twin.open_account("acct_shop", platform=ACCOUNT)
    header = {"stripe-account": "acct_shop"}
    params = {"amount": 500, "currency": "usd", "confirm": True, "off_session": True,
              "payment_method": "pm_card_visa"}  # fmt: skip
    paid = stripe.ask("POST", "/v1/payment_intents", params, headers=header).body
    acts.open_dispute(stripe.twin, paid["latest_charge"], account="acct_shop")
    page = stripe.ask("GET", "/v1/events", {"type": "charge.dispute.created"}, headers=header)
    assert [event["account"] for event in page.body["data"]] == ["acct_shop"]
