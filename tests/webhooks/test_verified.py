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

BELIEVED: Mapping[str, bool] = {
    "signed": True,
    "during a rotation, with the new secret": True,
    "during a rotation, with the old secret": True,
    "another's secret": False,
    "during a rotation, with another's secret": False,
    "another body": False,
    "another id": False,
    "another time": False,
    "no signature": False,
    "an old one": False,
    "one of the future": False,
}


def cases() -> dict[str, tuple[Message, str]]:
    """What is sent now, and the receiver's secret."""
    plain, rotating, minutes = message(OURS), message(OURS, OLD), timedelta(minutes=6)
    now = datetime.now(UTC)
    return {
        "signed": (plain, OURS),
        "during a rotation, with the new secret": (rotating, OURS),
        "during a rotation, with the old secret": (rotating, OLD),
        "another's secret": (plain, STRANGE),
        "during a rotation, with another's secret": (rotating, STRANGE),
        "another body": ({**plain, "body": plain["body"].replace("inv_1", "inv_2")}, OURS),
        "another id": (changed(plain, webhook_id="msg_2"), OURS),
        "another time": (changed(plain, webhook_timestamp="1764500000"), OURS),
        "no signature": (changed(plain, webhook_signature=""), OURS),
        "an old one": (message(OURS, at=now - minutes), OURS),
        "one of the future": (message(OURS, at=now + minutes), OURS),
    }


@pytest.mark.parametrize("case", BELIEVED)
def test_the_standards_own_library(case: str) -> None:
    sent, secret = cases()[case]

    def verify() -> Any:
        return Webhook(secret).verify(sent["body"], sent["headers"])

    if BELIEVED[case]:
        assert verify()["data"] == DATA
    else:
        _refused(verify)


def _refused(verify: Callable[[], Any]) -> None:
    with pytest.raises(WebhookVerificationError):
        verify()


async def test_svix() -> None:
    folder = node_modules("svix")
    wanted = [
        {"name": name, **sent, "secret": secret, "believed": BELIEVED[name]}
        for name, (sent, secret) in cases().items()
    ]
    script = Path(__file__).with_name("verify.cjs")
    process = await asyncio.create_subprocess_exec(
        "node", str(script), str(folder), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate(json.dumps(wanted).encode())
    assert (process.returncode, said.decode()) == (0, f"{len(wanted)} as they should be\n")
