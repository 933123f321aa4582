"""Taking in a webhook delivery of Stripe's: judged, kept, answered after the commit (section 9).

Nothing is done with the event here: its row waits, and a worker acts on it right after.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anchorhold.domain.event import StripeEvent
from anchorhold.domain.event_delivery import (
    BY_VERDICT,
    Envelope,
    Expected,
    Row,
    Signature,
    Signed,
    Verdict,
    judge,
)
from anchorhold.domain.ids import EVENT_DELIVERY, AccountId, SigningSecretId
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.store import event_deliveries
from anchorhold.store.db import only
from anchorhold.store.event_deliveries import Delivery, Taking
from anchorhold.stripe import signatures, views

UNKNOWN = Scope(AccountId("unknown"), livemode=False)
"""Where deliveries to accounts that do not exist are kept; no account can have this id."""

TOLERANCE_S = 300


@dataclass(frozen=True, slots=True)
class Key:
    """A secret that signs deliveries, opened, and whose events it is for."""

    id: SigningSecretId
    secret: str
    livemode: bool
    stripe_account: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """A delivery as it came: the raw body, before anything looked at it."""

    body: bytes | None
    """None: larger than any event, and read no further."""
    signature: str | None
    source: str
    at_s: int
    """Seconds since 1970, when it came; a body that waited is no older for it (D4)."""


Keep = Callable[[Scope, str, Taking], Awaitable[Verdict]]
"""Commits a delivery that one of our secrets signed, of a Stripe account: good, or a repeat."""


async def intake(
    deps: Deps, account: AccountId | None, keys: Sequence[Key], arrived: Arrived, keep: Keep
) -> tuple[Row, Scope]:
    """The delivery has its row with the verdict, and a good one its event; how it is answered.

    `account` None: there is none of that name. The answer may be given: all is committed.
    """
    delivery = Delivery(
        only(deps.db.new_ids(EVENT_DELIVERY, 1)),
        Signature.MISSING,
        len(arrived.body or b""),
        arrived.source,
    )
    if account is None:
        return await _refuse(deps, UNKNOWN, delivery, Verdict.UNKNOWN_ACCOUNT)
    scope = Scope(account, livemode=any(key.livemode for key in keys))
    if arrived.body is None:
        return await _refuse(deps, scope, delivery, Verdict.TOO_LARGE)
    signed = signatures.read(
        arrived.body, arrived.signature, [key.secret for key in keys], arrived.at_s
    )
    delivery = replace(delivery, signature=signed.signature, age_s=signed.age_s)
    if signed.signature is not Signature.VALID or signed.secret is None:
        return await _refuse(deps, scope, delivery, judge(signed, None, [], TOLERANCE_S))
    return await _believe(deps, account, keys, arrived.body, signed, delivery, keep)


async def _believe(
    deps: Deps,
    account: AccountId,
    keys: Sequence[Key],
    body: bytes,
    signed: Signed,
    delivery: Delivery,
    keep: Keep,
) -> tuple[Row, Scope]:
    """A secret of ours signed it; so its words may be kept, whatever comes of it."""
    key = keys[signed.secret or 0]
    scope = Scope(account, key.livemode)
    said, event = _read(body)
    delivery = replace(
        delivery,
        secret_id=key.id,
        event_id=event.id if event else None,
        event_type=event.type if event else None,
        api_version=_text(said.get("api_version")),
    )
    verdict = judge(signed, _envelope(said, event), _expected(keys), TOLERANCE_S)
    if event is None or not BY_VERDICT[verdict].takes:
        return await _refuse(deps, scope, delivery, verdict)
    kept = event.act is not None and not event.is_foreign(scope)
    taken = await keep(scope, key.stripe_account, Taking(delivery, event, kept))
    return BY_VERDICT[taken], scope


async def _refuse(
    deps: Deps, scope: Scope, delivery: Delivery, verdict: Verdict
) -> tuple[Row, Scope]:
    await event_deliveries.refuse(deps.db, scope, delivery, verdict)
    deps.log.info("event.refused", account=scope.account_id, verdict=verdict.value)
    return BY_VERDICT[verdict], scope


def _expected(keys: Sequence[Key]) -> list[Expected]:
    return [Expected(key.livemode, key.stripe_account) for key in keys]


def _read(body: bytes) -> tuple[Mapping[str, object], StripeEvent | None]:
    """What a signed body says; no event when it is not one that can be read and kept."""
    try:
        said = json.loads(body)
        event = views.news(said) if isinstance(said, dict) else None
        # Without an escape, valid UTF-8 holds nothing that PostgreSQL cannot.
        plain = b"\\u" not in body
        return (said, event) if event and _can_be_kept(event, plain=plain) else ({}, None)
    except (ValueError, RecursionError):  # `UnreadableError` is a ValueError
        return {}, None


def _can_be_kept(event: StripeEvent, *, plain: bool) -> bool:
    """PostgreSQL can hold its words and its time; raises UnicodeEncodeError, a ValueError."""
    if not event.id or not 0 <= event.created < 1 << 33:
        return False
    if plain:
        return True
    words = (event.id, event.type, event.object_id, event.intent_id, event.idempotency_key)
    kept = json.dumps([words, dict(event.summary), dict(event.metadata)], ensure_ascii=False)
    kept.encode()
    return "\\u0000" not in kept


def _envelope(said: Mapping[str, object], event: StripeEvent | None) -> Envelope | None:
    mode = said.get("livemode")
    if event is None:
        return None
    return Envelope(mode if isinstance(mode, bool) else None, _text(said.get("account")))


def _text(value: object) -> str | None:
    return value[:100] if isinstance(value, str) and "\x00" not in value else None
