"""Stripe's own command line drives the twin: `stripe trigger` and `stripe events resend`."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from anchorhold.cli.twin import DEFAULT_VERSION
from anchorhold.twin import SECRET_KEY, Settings, Twin
from anchorhold.twin.server import TwinServer, serve
from tests.node import node_modules
from tests.twin.client import Client
from tests.twin.receiving import Receiver

TRIGGERED = (
    "payment_intent.created", "payment_intent.succeeded", "payment_intent.payment_failed",
    "payment_intent.processing", "payment_intent.requires_action", "payment_intent.canceled",
    "charge.succeeded", "charge.failed", "charge.refunded", "charge.refund.updated",
    "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
    "customer.created", "customer.updated", "customer.deleted",
    "payment_method.attached", "payment_method.detached",
)  # fmt: skip


@pytest_asyncio.fixture
async def server() -> AsyncIterator[TwinServer]:
    served = await serve(Twin(seed=1, settings=Settings(api_version=DEFAULT_VERSION)))
    yield served
    await served.stop()


async def cli(home: Path, server: TwinServer, *arguments: str) -> str:
    """What Stripe's command line says; it must succeed. It reaches nothing but the twin."""
    program = node_modules("@stripe/cli") / "@stripe" / "cli" / "bin" / "shim.js"
    process = await asyncio.create_subprocess_exec(
        "node", str(program), *arguments, "--api-base", server.url, "--api-key", SECRET_KEY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={
            "PATH": os.environ["PATH"], "HOME": str(home), "HTTPS_PROXY": "http://127.0.0.1:1",
            "STRIPE_CLI_TELEMETRY_OPTOUT": "true",
        },
    )  # fmt: skip
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
