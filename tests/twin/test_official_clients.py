"""Stripe's own libraries drive the twin over HTTP, unchanged."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
import stripe as official

from anchorhold.twin import SECRET_KEY, FaultKind, Rule, Twin, acts
from anchorhold.twin.server import TwinServer, serve
from tests.node import node_modules
from tests.openapi import validate_object

official.enable_telemetry = False


@pytest_asyncio.fixture
async def server() -> AsyncIterator[TwinServer]:
    served = await serve(Twin(seed=1))
    yield served
    await served.stop()


@pytest_asyncio.fixture
async def client(server: TwinServer) -> AsyncIterator[official.StripeClient]:
    http = official.AIOHTTPClient(timeout=aiohttp.ClientTimeout(total=5))
    yield official.StripeClient(SECRET_KEY, base_addresses={"api": server.url}, http_client=http)
    await http.close_async()


async def test_stripe_python_collects_a_payment_from_start_to_end(
    client: official.StripeClient,
) -> None:
    v1 = client.v1
    customer = await v1.customers.create_async({"email": "ada@example.com", "name": "Ada"})
    method = await v1.payment_methods.attach_async("pm_card_visa", {"customer": customer.id})
    intent = await v1.payment_intents.create_async(
        {
            "amount": 1000,
            "currency": "usd",
            "customer": customer.id,
            "metadata": {"order": "7"},
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
        },
        {"idempotency_key": "create"},
    )
    assert intent.status == "requires_payment_method"
    with pytest.raises(official.CardError) as declined:
        await v1.payment_intents.confirm_async(
            intent.id, {"payment_method": "pm_card_chargeDeclined", "off_session": True}
        )
    error = declined.value.error
    assert error is not None
    assert error.decline_code == "generic_decline"
    assert error.payment_intent is not None
    assert error.payment_intent.status == "requires_payment_method"
    paid = await v1.payment_intents.confirm_async(
        intent.id,
        {"payment_method": method.id, "off_session": True, "expand": ["latest_charge"]},
        {"idempotency_key": "confirm"},
    )
    assert paid.status == "succeeded"
    assert isinstance(paid.latest_charge, official.Charge)
    assert paid.latest_charge.amount_captured == 1000
    with pytest.raises(official.InvalidRequestError) as late:
        await v1.payment_intents.cancel_async(intent.id)
    assert late.value.code == "payment_intent_unexpected_state"
    refund = await v1.refunds.create_async({"payment_intent": intent.id})
    assert refund.status == "succeeded"
    page = await v1.events.list_async({"type": "payment_intent.succeeded"})
    assert page.data[0].request is not None
    assert page.data[0].request.idempotency_key == "confirm"
    deleted = await v1.customers.delete_async(customer.id)
    assert deleted.deleted


async def test_stripe_python_pages_through_everything(client: official.StripeClient) -> None:
    made = [
        (await client.v1.payment_intents.create_async({"amount": 500, "currency": "usd"})).id
        for _ in range(7)
    ]
    page = await client.v1.payment_intents.list_async({"limit": 3})
    seen = [intent.id async for intent in page.auto_paging_iter()]
    assert seen == made[::-1]


async def test_stripe_python_knows_each_refusal(
    client: official.StripeClient, server: TwinServer
) -> None:
    http = official.AIOHTTPClient()
    stranger = official.StripeClient(
        "sk_test_x", base_addresses={"api": server.url}, http_client=http
    )
    with pytest.raises(official.AuthenticationError):
        await stranger.v1.customers.list_async()
    await http.close_async()
    server.twin.add_key(SECRET_KEY, denied=["GET /v1/balance"])
    with pytest.raises(official.PermissionError):
        await client.v1.balance.retrieve_async()
    server.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1)])
    with pytest.raises(official.RateLimitError):
        await client.v1.customers.list_async()
    server.twin.faults.replace([])
    options: official.RequestOptions = {"idempotency_key": "k"}
    await client.v1.customers.create_async({"name": "Ada"}, options)
    with pytest.raises(official.IdempotencyError):
        await client.v1.customers.create_async({"name": "Grace"}, options)


async def test_a_customer_authenticates_between_two_calls(
    client: official.StripeClient, server: TwinServer
) -> None:
    asked = await client.v1.payment_intents.create_async(
        {
            "amount": 500,
            "currency": "eur",
            "confirm": True,
            "payment_method": "pm_card_authenticationRequired",
            "return_url": "https://example.com",
        }
    )
    assert asked.status == "requires_action"
    validate_object(acts.authenticate(server.twin, asked.id))
    paid = await client.v1.payment_intents.retrieve_async(asked.id)
    assert paid.status == "succeeded"


async def test_stripe_node_drives_the_twin(server: TwinServer) -> None:
    folder = node_modules("stripe")
    script = Path(__file__).with_name("node_flow.cjs")
    host, _, port = server.url.removeprefix("http://").partition(":")
    process = await asyncio.create_subprocess_exec(
        "node", str(script), str(folder), host, port, SECRET_KEY,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b"node drove the whole flow" in output
