"""Stripe's events as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AccountId, InvoiceId
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
