"""Receivers verify our messages with the libraries of the standard: its own, and svix's."""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from anchorhold.webhooks import signing
from tests.node import node_modules

Message = dict[str, Any]
DATA = {"object": "invoice", "id": "inv_1", "reference": "Ä-1 💶"}


def message(*secrets: str, at: datetime | None = None) -> Message:
    """A message as it goes over the wire, signed with these secrets."""
    now = at or datetime.now(UTC)
    body = signing.body("invoice.paid", now, 7, DATA)
    return {"body": body.decode(), "headers": signing.headers(secrets, "msg_1", now, body)}


def changed(one: Message, **headers: str) -> Message:
    """The message with other headers, and its signature as it was."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return {**one, "headers": {**one["headers"], **more}}


OURS, OLD, STRANGE = (signing.new_secret() for _ in range(3))
PLAIN = message(OURS)
ROTATING = message(OURS, OLD)

# fmt: off
CASES: Mapping[str, tuple[Message, str, bool]] = {
    # the message, the receiver's secret, whether it believes it
    "signed": (PLAIN, OURS, True),
    "during a rotation, with the new secret": (ROTATING, OURS, True),
    "during a rotation, with the old secret": (ROTATING, OLD, True),
    "another's secret": (PLAIN, STRANGE, False),
    "during a rotation, with another's secret": (ROTATING, STRANGE, False),
    "another body": ({**PLAIN, "body": PLAIN["body"].replace("inv_1", "inv_2")}, OURS, False),
    "another id": (changed(PLAIN, webhook_id="msg_2"), OURS, False),
    "another time": (changed(PLAIN, webhook_timestamp="1764500000"), OURS, False),
    "no signature": (changed(PLAIN, webhook_signature=""), OURS, False),
    "an old one": (message(OURS, at=datetime.now(UTC) - timedelta(minutes=6)), OURS, False),
    "one of the future": (message(OURS, at=datetime.now(UTC) + timedelta(minutes=6)), OURS, False),
}
# fmt: on


@pytest.mark.parametrize(("sent", "secret", "believed"), CASES.values(), ids=list(CASES))
def test_the_standards_own_library(sent: Message, secret: str, believed: bool) -> None:
    def verify() -> Any:
        return Webhook(secret).verify(sent["body"], sent["headers"])

    if believed:
        assert verify()["data"] == DATA
    else:
        _refused(verify)


def _refused(verify: Callable[[], Any]) -> None:
    with pytest.raises(WebhookVerificationError):
        verify()


async def test_svix() -> None:
    folder = node_modules("svix")
    cases = [
        {"name": name, **sent, "secret": secret, "believed": believed}
        for name, (sent, secret, believed) in CASES.items()
    ]
    script = Path(__file__).with_name("verify.cjs")
    process = await asyncio.create_subprocess_exec(
        "node", str(script), str(folder), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate(json.dumps(cases).encode())
    assert (process.returncode, said.decode()) == (0, f"{len(CASES)} as they should be\n")
