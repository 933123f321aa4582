"""A message as it goes over the wire: body, headers and signatures (Standard Webhooks 1.0.0)."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from standardwebhooks import Webhook

from anchorhold.entropy import random_bytes

SECRET_BYTES: Final = 32


def new_secret() -> str:
    """A fresh signing secret, as the receiver's library takes it."""
    return "whsec_" + base64.b64encode(random_bytes(SECRET_BYTES)).decode()


def body(type_: str, at: datetime, sequence: int, data: Mapping[str, object]) -> bytes:
    """The JSON body. `sequence` grows with what happened to one invoice: a smaller one is older."""
    message = {
        "type": type_,
        "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "sequence": sequence,
        "data": dict(data),
    }
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def headers(
    secrets: Sequence[str], message_id: str, now: datetime, content: bytes
) -> dict[str, str]:
    """The headers; with two secrets, while one is being rotated, there are two signatures.

    `now` is in UTC; receivers refuse a message whose time is more than five minutes off.
    """
    signatures = [Webhook(secret).sign(message_id, now, content.decode()) for secret in secrets]
    return {
        "content-type": "application/json",
        "user-agent": "Anchorhold",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
