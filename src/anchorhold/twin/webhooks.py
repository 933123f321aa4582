"""Signed deliveries of events.

Source: https://docs.stripe.com/webhooks/signature: `t=<unix>,v1=<hex>`, one v1 per active secret,
HMAC-SHA256 over "<t>.<raw body>".
"""

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any


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
    version: str | None = None
    """The API version of what is sent; None: the account's own."""
    endpoint: str | None = None
    """The id of the webhook endpoint object, if it has one."""

    def wants(self, account: str, type_: str) -> bool:
        """Whether an event of this account and type goes here."""
        return self.account in {None, account} and any(
            name in {"*", type_} or (name.endswith("*") and type_.startswith(name[:-1]))
            for name in self.types
        )


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the net does to webhooks: probabilities, and times in seconds of the twin's clock."""

    lost: float = 0.0
    """Never sent."""
    doubled: float = 0.0
    """Sent twice."""
    late: float = 0.0
    """Sent `late_s` later."""
    late_s: float = 3600.0
    shuffle_s: float = 0.0
    """Each waits a random part of this, so that they arrive in any order."""

    def __post_init__(self) -> None:
        chances = (self.lost, self.doubled, self.late)
        if any(not 0 <= chance <= 1 for chance in chances) or self.lost + self.doubled > 1:
            raise ValueError("`lost`, `doubled` and `late` lie between 0 and 1")
        if self.late_s < 0 or self.shuffle_s < 0:
            raise ValueError("`late_s` and `shuffle_s` are not negative")

    def shown(self) -> dict[str, float]:
        """The rule as JSON."""
        return asdict(self)


def trouble_from_json(given: Mapping[str, Any]) -> Trouble:
    """The trouble that `Trouble.shown` shows; ValueError says what is wrong with it."""
    strange = set(given) - set(Trouble.__dataclass_fields__)
    if strange:
        raise ValueError(f"unknown in webhook trouble: {', '.join(sorted(strange))}")
    return Trouble(**{name: float(value) for name, value in given.items()})


def signature(body: bytes, at: int, secrets: Iterable[str]) -> str:
    """The value of `Stripe-Signature` for this body, sent at this second."""
    signed = b"%d.%b" % (at, body)
    parts = [hmac.new(secret.encode(), signed, sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={at}", *(f"v1={part}" for part in parts)])
