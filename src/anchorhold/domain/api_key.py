"""Keys of the API: how one is written, and what it may do.

`sk_test_` and `sk_live_` open everything of one account and mode; `rk_…` what its grants say.
The text itself is never stored: a short beginning finds the row, and SHA-256 decides. That is
enough for 160 random bits, which nobody can guess; slow hashes are for what people choose.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, StrEnum, unique
from typing import Final

from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.refusals import Refusal

SECRET_BYTES: Final = 26
"""Random bytes of a key: 6 of them find the row, 20 are secret."""
FIND_DIGITS: Final = 12
VERSION: Final = "2026-12-01"
"""The newest version of the API; a new key is pinned to it."""
VERSIONS: Final = (VERSION,)

_FORM: Final = re.compile(r"(sk|rk)_(live|test)_([0-9a-f]{52})")


class KeyKind(StrEnum):
    """How much a key may do."""

    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret
    RESTRICTED = "restricted"


class Access(StrEnum):
    """What is done with a noun; whoever may write may read."""

    READ = "read"
    WRITE = "write"


@unique
class Noun(Enum):
    """What rights are about: the routes below `/v1` of that name."""

    ACCOUNT = "account"
    CUSTOMERS = "customers"
    INVOICES = "invoices"
    ATTEMPTS = "attempts"
    PAYMENTS = "payments"
    REFUNDS = "refunds"
    HOLDS = "holds"
    EVENTS = "events"
    WEBHOOK_ENDPOINTS = "webhook_endpoints"
    NOTICES = "notices"


GRANTS: Final = tuple(f"{noun.value}:{access.value}" for noun in Noun for access in Access)
"""Every right that a restricted key can have."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made; `text` is shown once."""

    text: str
    prefix: str
    last4: str
    digest: bytes


def spell(kind: KeyKind, entropy: bytes, *, livemode: bool) -> NewKey:
    """The key of these random bytes, `SECRET_BYTES` of them; ValueError for another number."""
    if len(entropy) != SECRET_BYTES:
        raise ValueError(f"a key needs {SECRET_BYTES} random bytes")
    begin = "sk" if kind is KeyKind.SECRET else "rk"
    text = f"{begin}_{'live' if livemode else 'test'}_{entropy.hex()}"
    return NewKey(text, _prefix(text), text[-4:], digest_of(text))


def prefix_of(text: str) -> str | None:
    """The beginning that finds the key's row, or None: it has not the form of a key."""
    return _prefix(text) if _FORM.fullmatch(text) else None


def _prefix(text: str) -> str:
    return text[: len("sk_test_") + FIND_DIGITS]


def digest_of(text: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(text.encode()).digest()


def fits(text: str, digest: bytes) -> bool:
    """The key is the one of this digest; takes as long for every other."""
    return hmac.compare_digest(digest_of(text), digest)


def shown(text: str) -> str:
    """A key as it may stand in a message: its kind and its last four."""
    return f"{text[:8]}…{text[-4:]}" if len(text) > 20 else "of that form"


def allows(kind: KeyKind, grants: Iterable[str], noun: Noun, access: Access) -> bool:
    """A key of this kind with these grants may do this."""
    wanted = {f"{noun.value}:{access.value}", f"{noun.value}:{Access.WRITE.value}"}
    return kind is KeyKind.SECRET or not wanted.isdisjoint(grants)


def grants_of(asked: Iterable[str]) -> tuple[str, ...]:
    """The rights in one order, each once. Refuses what is none (GRANT_UNKNOWN)."""
    for text in asked:
        if text not in GRANTS:
            near = get_close_matches(text, GRANTS, n=1)
            said = f"perhaps {near[0]} was meant" if near else f"there are {', '.join(GRANTS)}"
            raise Refusal(ApiCode.GRANT_UNKNOWN, text=text[:40], suggestion=said)
    return tuple(sorted(set(asked)))
