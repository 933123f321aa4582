"""Events of Stripe's, each once: kept, shared out, matched, marked (protocol section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from anchorhold.domain import ladder
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.news import WATCH_DAYS, EventSource, EventState
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event whose effect is not certain yet, leased to the reader for a minute at least."""

    id: str
    stripe_account: str
    type: str
    object_id: str
    intent_id: str | None
    named_invoice: str | None
    idempotency_key: str | None
    summary: dict[str, object]
    source: EventSource
    created: datetime


_PUT = """
WITH given AS MATERIALIZED (
    SELECT *
      FROM jsonb_to_recordset(%(rows)s) AS g (
           id text, type text, created float8, object_id text, intent_id text,
           named_invoice text, idempotency_key text, summary jsonb)
)
INSERT INTO anchorhold.event
       (account_id, livemode, id, stripe_account, type, created, object_id, intent_id,
        named_invoice, idempotency_key, summary, source)
SELECT %(account_id)s, %(livemode)s, id, %(stripe_account)s, type, to_timestamp(created),
       object_id, intent_id, named_invoice, idempotency_key, summary, %(source)s
  FROM given
 ORDER BY id
ON CONFLICT (account_id, livemode, id) DO NOTHING
RETURNING id
"""


async def put(
    db: Db,
    scope: Scope,
    stripe_account: str,
    events: Sequence[StripeEvent],
    source: EventSource,
) -> list[str]:
    """Each event has its one row, and waits for its effect; the ids of those that are new.

    Only for events whose signature was verified, or that were read from Stripe.
    """
    if not events:
        return []
    rows = [
        {
            "id": event.id,
            "type": event.type,
            "created": event.created,
            "object_id": event.object_id,
            "intent_id": event.intent_id,
            "named_invoice": event.names(scope),
            "idempotency_key": event.idempotency_key,
            "summary": dict(event.summary),
        }
        for event in {event.id: event for event in events}.values()
    ]
    return await db.all(
        _PUT, str, **scope.params, stripe_account=stripe_account, rows=Jsonb(rows), source=source
    )


_WAITING = """
WITH picked AS MATERIALIZED (
    SELECT e.account_id, e.livemode, e.id
      FROM anchorhold.event e
     WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
       AND e.state IN ('waiting', 'unmatched')
"""

_TAKE = """
       AND (e.look_at <= (SELECT anchorhold.now()) OR %(event_id)s::text IS NOT NULL)
     ORDER BY e.look_at
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE anchorhold.event e
       SET look_at = anchorhold.now()
                   + anchorhold.wait_of(anchorhold.now() - e.taken_at, %(after_s)s, %(wait_s)s)
      FROM picked p
     WHERE e.account_id = p.account_id AND e.livemode = p.livemode AND e.id = p.id
    RETURNING e.*
)
SELECT id, stripe_account, type, object_id, intent_id, named_invoice, idempotency_key, summary,
       source, created
  FROM taken
 ORDER BY created, id
"""


async def take(db: Db, scope: Scope, *, limit: int, event_id: str | None = None) -> list[Waiting]:
    """Up to `limit` events that wait and whose turn it is, oldest first; others skip them.

    Whoever dies over one leaves it to the next turn, on the ladder. With `event_id` only that one,
    at once.
    """
    return await db.all(
        _WAITING + given((event_id, " AND e.id = %(event_id)s")) + _TAKE,
        Waiting,
        **scope.params,
        **ladder.PARAMS,
        limit=limit,
        event_id=event_id,
    )


@dataclass(frozen=True, slots=True)
class Matched:
    """The invoice that an event is about, and the attempt that its idempotency key names."""

    invoice_id: InvoiceId
    attempt_id: AttemptId | None


_MATCH = """
SELECT i.id AS invoice_id,
       (SELECT a.id FROM anchorhold.attempt a
         WHERE a.account_id = i.account_id AND a.livemode = i.livemode AND a.invoice_id = i.id
           AND a.idempotency_key = %(idempotency_key)s AND a.sent_at IS NOT NULL
         ORDER BY a.state = 'not_sent', a.id DESC
         LIMIT 1) AS attempt_id
  FROM anchorhold.invoice i
 WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
   AND i.id = coalesce(
       (SELECT t.invoice_id FROM anchorhold.intent t
         WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
           AND t.stripe_intent_id = %(intent_id)s),
       (SELECT p.invoice_id FROM anchorhold.payment p
         WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
           AND p.stripe_intent_id = %(intent_id)s),
       %(named_invoice)s)
"""


async def match(db: Db, scope: Scope, event: Waiting) -> Matched | None:
    """By the intent's id, else by the invoice that the metadata name; None when neither is here."""
    return await db.one(
        _MATCH,
        Matched,
        **scope.params,
        intent_id=event.intent_id,
        named_invoice=event.named_invoice,
        idempotency_key=event.idempotency_key,
    )


_DONE = """
WITH done AS (
    UPDATE anchorhold.event e
       SET state = 'done', rule = %(rule)s, invoice_id = %(invoice_id)s,
           done_at = anchorhold.now()
     WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s AND e.id = %(event_id)s
       AND e.state IN ('waiting', 'unmatched')
    RETURNING e.account_id, e.livemode, e.id, e.intent_id
), woken AS (
    UPDATE anchorhold.event e
       SET look_at = anchorhold.now()
      FROM done d
     WHERE e.account_id = d.account_id AND e.livemode = d.livemode
       AND e.intent_id = d.intent_id AND e.state IN ('waiting', 'unmatched') AND e.id <> d.id
)
SELECT id FROM done
"""


async def done(
    db: Db, scope: Scope, event_id: str, *, rule: str, invoice_id: InvoiceId | None
) -> str | None:
    """The event has had its effect; those of the same intent that waited for it have their turn.

    `invoice_id` None: it was about a customer.

    None when another was first, which changed nothing: every effect is a conditional write.
    """
    return await db.one(
        _DONE, str, **scope.params, event_id=event_id, rule=rule, invoice_id=invoice_id
    )


async def unmatched(db: Db, scope: Scope, event_id: str) -> EventState | None:
    """It is about nothing that is known here yet; given up when 30 days are over."""
    return await db.one(
        """
        UPDATE anchorhold.event e
           SET (state, done_at) = (
                   SELECT CASE WHEN over THEN 'given_up' ELSE 'unmatched' END,
                          CASE WHEN over THEN anchorhold.now() END
                     FROM (SELECT e.taken_at < anchorhold.now()
                                  - make_interval(days => %(days)s)) AS it (over))
         WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
           AND e.id = %(event_id)s AND e.state IN ('waiting', 'unmatched')
        RETURNING e.state
        """,
        EventState,
        **scope.params,
        event_id=event_id,
        days=WATCH_DAYS,
    )


_AGAIN = """
WITH picked AS MATERIALIZED (
    SELECT e.account_id, e.livemode, e.id
      FROM anchorhold.event e
     WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
       AND (e.state IN ('done', 'given_up') OR e.look_at > anchorhold.now())
"""
_BETWEEN = " AND e.created >= %(since)s AND e.created < %(until)s"
_AGAIN_NOW = """
     ORDER BY e.created, e.id
       FOR UPDATE
)
UPDATE anchorhold.event e
   SET state = CASE WHEN e.state IN ('done', 'given_up') THEN 'waiting' ELSE e.state END,
       done_at = NULL, look_at = anchorhold.now()
  FROM picked p
 WHERE e.account_id = p.account_id AND e.livemode = p.livemode AND e.id = p.id
RETURNING e.id
"""


async def again(db: Db, scope: Scope, event_id: str) -> str | None:
    """The event has its turn once more, as if it had just come; None: its turn is now anyway."""
    return await db.one(
        _AGAIN + " AND e.id = %(event_id)s" + _AGAIN_NOW, str, **scope.params, event_id=event_id
    )


async def again_between(db: Db, scope: Scope, *, since: datetime, until: datetime) -> int:
    """So many events that Stripe made from `since` until before `until` have their turn again.

    Without those whose turn it is already.
    """
    found = await db.all(
        _AGAIN + _BETWEEN + _AGAIN_NOW, str, **scope.params, since=since, until=until
    )
    return len(found)
