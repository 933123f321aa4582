"""Signed deliveries of events.

Source: https://docs.stripe.com/webhooks/signature: `t=<unix>,v1=<hex>`, one v1 per active secret,
HMAC-SHA256 over "<t>.<raw body>".
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Hook:
    """Where events go. Every send is signed anew with each of `secrets`.

    `lost` and `doubled` are probabilities: the event is never sent, or is sent twice.
    """

    url: str
    secrets: tuple[str, ...]
    types: tuple[str, ...] = ("*",)
    account: str | None = None
    """Only this account's events."""
    lost: float = 0.0
    doubled: float = 0.0

    def wants(self, account: str, type_: str) -> bool:
        """Whether an event of this account and type goes here."""
        return self.account in {None, account} and any(
            name in {"*", type_} or (name.endswith("*") and type_.startswith(name[:-1]))
            for name in self.types
        )


def signature(body: bytes, at: int, secrets: Iterable[str]) -> str:
    """The value of `Stripe-Signature` for this body, sent at this second."""
    signed = b"%d.%b" % (at, body)
    parts = [hmac.new(secret.encode(), signed, sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={at}", *(f"v1={part}" for part in parts)])
