"""Stripe's own command line drives the twin: `stripe trigger`, `events resend` and `listen`."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest_asyncio
import stripe as official

from anchorhold.cli.twin import DEFAULT_VERSION
from anchorhold.twin import SECRET_KEY, Settings, Twin
from anchorhold.twin.server import TwinServer, serve
from tests.node import node_modules
from tests.twin.client import Client
from tests.twin.receiving import Receiver

TRIGGERED = (
    "payment_intent.created", "payment_intent.succeeded", "payment_intent.payment_failed",
    "payment_intent.processing", "payment_intent.requires_action", "payment_intent.canceled",
    "charge.refunded", "charge.refund.updated", "charge.dispute.created", "charge.dispute.closed",
    "customer.updated", "customer.deleted", "payment_method.attached", "payment_method.detached",
)  # fmt: skip


@pytest_asyncio.fixture
async def server() -> AsyncIterator[TwinServer]:
    served = await serve(Twin(seed=1, settings=Settings(api_version=DEFAULT_VERSION)))
    yield served
    await served.stop()


async def start(home: Path, server: TwinServer, *arguments: str) -> asyncio.subprocess.Process:
    """Stripe's command line, started. It reaches nothing but the twin."""
    modules = node_modules("@stripe/cli")
    [program] = modules.glob("@stripe/cli-*/bin/stripe")  # what `cli/bin/shim.js` starts
    return await asyncio.create_subprocess_exec(
        str(program), *arguments, "--api-base", server.url, "--api-key", SECRET_KEY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={
            "PATH": os.environ["PATH"], "HOME": str(home), "HTTPS_PROXY": "http://127.0.0.1:1",
            "STRIPE_CLI_TELEMETRY_OPTOUT": "true",
        },
    )  # fmt: skip


async def cli(home: Path, server: TwinServer, *arguments: str) -> str:
    """What Stripe's command line says; it must succeed."""
    process = await start(home, server, *arguments)
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def test_what_the_cli_triggers_happens_and_is_sent_again_when_asked(
    server: TwinServer, receiver: tuple[Receiver, str], tmp_path: Path
) -> None:
    got, url = receiver
    one_at_a_time = asyncio.Semaphore(3)

    async def trigger(type_: str) -> None:
        async with one_at_a_time:
            assert "Trigger succeeded" in await cli(tmp_path, server, "trigger", type_)

    await asyncio.gather(*map(trigger, TRIGGERED))
    events = list(server.twin.account().events)
    assert set(TRIGGERED) <= {event["type"] for event in events}
    stripe = Client(server.twin)
    stripe.done("/v1/webhook_endpoints", url=url, enabled_events=["customer.deleted"])
    [deleted] = [event["id"] for event in events if event["type"] == "customer.deleted"]
    assert deleted in await cli(tmp_path, server, "events", "resend", deleted, "--confirm")
    await server.courier.idle()
    assert got.types() == ["customer.deleted"]


async def test_the_cli_listens_and_hands_signed_events_on(
    server: TwinServer, receiver: tuple[Receiver, str], tmp_path: Path
) -> None:
    got, url = receiver
    listening = await start(
        tmp_path, server, "listen", "--skip-update", "--all-snapshot", "--forward-to", url
    )
    assert listening.stdout is not None
    secret = await seen(listening.stdout, r"whsec_\w+")
    Client(server.twin).customer()
    await seen(listening.stdout, r"\[200\] POST")
    listening.terminate()
    await listening.wait()
    [(body, header)] = got.got
    event = official.Webhook.construct_event(body, header, secret)
    assert event.type == "customer.created"


async def seen(output: asyncio.StreamReader, pattern: str) -> str:
    """The first match of the pattern in what is printed from now on."""
    async with asyncio.timeout(60):
        while line := (await output.readline()).decode():
            if found := re.search(pattern, line):
                return found[0]
    raise AssertionError(pattern)


async def test_a_listener_that_nobody_knows_is_told_so(server: TwinServer) -> None:
    async with aiohttp.ClientSession(server.url) as http:
        async with http.get("/_twin/listen", headers={"Websocket-Id": "cliws_x"}) as unknown:
            told = await unknown.json()
        assert (unknown.status, told["error"]["message"]) == (400, "Unknown WebSocket ID.")
        async with http.post("/v1/stripecli/sessions") as keyless:
            assert keyless.status == 401
