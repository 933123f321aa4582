"""Stripe's events as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.event_delivery import Signature, Verdict
from anchorhold.domain.ids import AccountId, EventDeliveryId, InvoiceId, SigningSecretId
from anchorhold.domain.news import EventSource, EventState
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event, and what it did here. `created` is Stripe's time, `taken_at` ours."""

    id: str
    account_id: AccountId
    livemode: bool
    type: str
    object_id: str
    intent_id: str | None
    invoice_id: InvoiceId | None
    state: EventState
    rule: str | None
    source: EventSource
    summary: dict[str, object]
    created: datetime
    taken_at: datetime
    done_at: datetime | None


_PAGE = """
SELECT e.id, e.account_id, e.livemode, e.type, e.object_id, e.intent_id, e.invoice_id, e.state,
       e.rule, e.source, e.summary, e.created, e.taken_at, e.done_at
  FROM anchorhold.event e
 WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
"""

_AFTER = """
   AND (e.created, e.id) < (
       SELECT b.created, b.id FROM anchorhold.event b
        WHERE b.account_id = %(account_id)s AND b.livemode = %(livemode)s AND b.id = %(after)s)
"""


async def page(
    db: Db, scope: Scope, *, invoice_id: InvoiceId | None, after: str | None, limit: int
) -> list[EventRow]:
    """Up to `limit` events, newest first, from behind the id `after`."""
    return await db.all(
        _PAGE
        + given((invoice_id, " AND e.invoice_id = %(invoice_id)s"), (after, _AFTER))
        + " ORDER BY e.created DESC, e.id DESC LIMIT %(limit)s",
        EventRow,
        **scope.params,
        invoice_id=invoice_id,
        after=after,
        limit=limit,
    )


async def one(db: Db, scope: Scope, event_id: str) -> EventRow | None:
    """The event of this id, or None."""
    return await db.one(
        _PAGE + " AND e.id = %(event_id)s", EventRow, **scope.params, event_id=event_id
    )


_COUNT = """
SELECT count(*)
  FROM anchorhold.event e
 WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
"""


async def count(db: Db, scope: Scope, *, invoice_id: InvoiceId | None) -> int:
    """How many events the filter fits."""
    found = await db.one(
        _COUNT + given((invoice_id, " AND e.invoice_id = %(invoice_id)s")),
        int,
        **scope.params,
        invoice_id=invoice_id,
    )
    return found or 0


@dataclass(frozen=True, slots=True)
class EventDeliveryRow:
    """One delivery as it came in. `age_s`: our clock less the signature's, whole seconds."""

    id: EventDeliveryId
    verdict: Verdict
    signature: Signature
    secret_id: SigningSecretId | None
    age_s: int | None
    event_id: str | None
    event_type: str | None
    api_version: str | None
    bytes: int
    source: str
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries are meant; None: whichever."""

    verdict: Verdict | None = None
    event_id: str | None = None


BELIEVED = frozenset({Verdict.GOOD, Verdict.REPEAT})
_DELIVERIES = """
SELECT d.id, d.verdict, d.signature, d.secret_id, d.age_s, d.event_id, d.event_type,
       d.api_version, d.bytes, d.source, d.received_at
  FROM anchorhold.event_delivery d
 WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
"""
_VERDICT = " AND d.verdict = %(verdict)s"
_STRANGER = " AND d.verdict NOT IN ('good', 'repeat')"


async def deliveries(
    db: Db, scope: Scope, which: DeliveryFilter, *, after: str | None, limit: int
) -> list[EventDeliveryRow]:
    """Up to `limit` deliveries, newest first, from behind the id `after`."""
    stranger = None if which.verdict in BELIEVED else which.verdict
    return await db.all(
        _DELIVERIES
        + given(
            (which.verdict, _VERDICT),
            (stranger, _STRANGER),
            (which.event_id, " AND d.event_id = %(event_id)s"),
            (after, " AND d.id < %(after)s"),
        )
        + " ORDER BY d.id DESC LIMIT %(limit)s",
        EventDeliveryRow,
        **scope.params,
        verdict=which.verdict,
        event_id=which.event_id,
        after=after,
        limit=limit,
    )


_COUNT_DELIVERIES = """
SELECT count(*)
  FROM anchorhold.event_delivery d
 WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
"""


async def count_deliveries(db: Db, scope: Scope, which: DeliveryFilter) -> int:
    """How many deliveries the filter fits."""
    found = await db.one(
        _COUNT_DELIVERIES
        + given(
            (which.verdict, _VERDICT),
            (which.event_id, " AND d.event_id = %(event_id)s"),
        ),
        int,
        **scope.params,
        verdict=which.verdict,
        event_id=which.event_id,
    )
    return found or 0
