"""Deliveries of Stripe's events: each is kept with its verdict; a good one brings its event."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from anchorhold.domain.event import StripeEvent
from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.ids import EventDeliveryId, SigningSecretId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db

STRANGERS_AN_HOUR = 1000
"""So many rows an account keeps of what was not believed; more are answered and not kept."""
STRANGERS_DAYS = 7
"""After so long what was not believed tells nobody anything."""
PRUNED_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is kept of a delivery; of an unsigned body nothing but its length."""

    id: EventDeliveryId
    signature: str
    bytes: int
    source: str
    """Where it came from: an IP address."""
    secret_id: SigningSecretId | None = None
    age_s: int | None = None
    event_id: str | None = None
    event_type: str | None = None
    api_version: str | None = None

    @property
    def params(self) -> dict[str, object]:
        """The parameters of the statements."""
        return {
            "id": self.id,
            "signature": self.signature,
            "bytes": self.bytes,
            "source": self.source,
            "secret_id": self.secret_id,
            "age_s": self.age_s,
            "event_id": self.event_id,
            "event_type": self.event_type,
            "api_version": self.api_version,
        }


@dataclass(frozen=True, slots=True)
class Taking:
    """A delivery that one of our secrets signed, and what it tells.

    Without `kept` (a type that is not in question, another account's object) only the delivery is
    kept.
    """

    delivery: Delivery
    event: StripeEvent
    kept: bool

    def row(self, n: int, scope: Scope) -> dict[str, object]:
        """As the statement reads it; `n` is its place."""
        event = self.event
        return {
            **self.delivery.params,
            "n": n,
            "kept": self.kept,
            "created": event.created,
            "object_id": event.object_id,
            "intent_id": event.intent_id,
            "named_invoice": event.names(scope),
            "idempotency_key": event.idempotency_key,
            "summary": event.summary,
        }


_TAKE_IN = """
WITH given AS MATERIALIZED (
    SELECT g.*, row_number() OVER (PARTITION BY g.kept, g.event_id ORDER BY g.n) AS nth
      FROM jsonb_to_recordset(%(rows)s) AS g (
           n integer, id text, signature text, secret_id text, age_s bigint, event_id text,
           event_type text, api_version text, bytes integer, source text, kept boolean,
           created float8, object_id text, intent_id text, named_invoice text,
           idempotency_key text, summary jsonb)
), event AS (
    INSERT INTO anchorhold.event
           (account_id, livemode, id, stripe_account, type, created, object_id, intent_id,
            named_invoice, idempotency_key, summary, source)
    SELECT %(account_id)s, %(livemode)s, event_id, %(stripe_account)s, event_type,
           to_timestamp(created), object_id, intent_id, named_invoice, idempotency_key, summary,
           'webhook'
      FROM given
     WHERE kept AND nth = 1
     ORDER BY event_id
    ON CONFLICT (account_id, livemode, id) DO NOTHING
    RETURNING id
)
INSERT INTO anchorhold.event_delivery
       (account_id, livemode, id, verdict, signature, secret_id, age_s, event_id,
        event_type, api_version, bytes, source)
SELECT %(account_id)s, %(livemode)s, g.id,
       CASE WHEN NOT g.kept OR (g.nth = 1 AND e.id IS NOT NULL) THEN 'good' ELSE 'repeat' END,
       g.signature, g.secret_id, g.age_s, g.event_id, g.event_type, g.api_version, g.bytes,
       g.source
  FROM given g
  LEFT JOIN event e ON e.id = g.event_id
 ORDER BY g.n
RETURNING verdict
"""


async def take_in(
    db: Db, scope: Scope, stripe_account: str, taking: Sequence[Taking]
) -> list[Verdict]:
    """Each delivery has its row, and each event its one row, waiting for its effect: one commit.

    Good, or a repeat, in the order given: the UNIQUE event decides, and among those given together
    the first. Events are inserted in the order of their ids, so that two batches never wait for
    each other.
    """
    rows = [one.row(n, scope) for n, one in enumerate(taking)]
    verdicts = await db.all(
        _TAKE_IN, str, **scope.params, stripe_account=stripe_account, rows=Jsonb(rows)
    )
    return [Verdict(verdict) for verdict in verdicts]


async def refuse(
    db: Db, scope: Scope, delivery: Delivery, verdict: Verdict, *, limit: int = STRANGERS_AN_HOUR
) -> str | None:
    """What is not believed has its row; None: there are `limit` of the last hour already."""
    return await db.one(
        """
        INSERT INTO anchorhold.event_delivery
               (account_id, livemode, id, verdict, signature, secret_id, age_s, event_id,
                event_type, api_version, bytes, source)
        SELECT %(account_id)s, %(livemode)s, %(id)s, %(verdict)s, %(signature)s, %(secret_id)s,
               %(age_s)s, %(event_id)s, %(event_type)s, %(api_version)s, %(bytes)s, %(source)s
         WHERE (SELECT count(*) FROM (
                    SELECT FROM anchorhold.event_delivery d
                     WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
                       AND d.verdict NOT IN ('good', 'repeat')
                       AND d.received_at > (SELECT anchorhold.now()) - interval '1 hour'
                     LIMIT %(limit)s) strangers) < %(limit)s
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        **delivery.params,
        verdict=verdict,
        limit=limit,
    )


_PRUNE = """
WITH strangers AS (
    SELECT ctid FROM anchorhold.event_delivery
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
       AND verdict NOT IN ('good', 'repeat')
       AND received_at < (SELECT anchorhold.now()) - make_interval(days => %(strangers)s)
     ORDER BY received_at
     LIMIT %(limit)s
), oldest AS (
    SELECT ctid, received_at FROM anchorhold.event_delivery
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
     ORDER BY id
     LIMIT %(limit)s
)
DELETE FROM anchorhold.event_delivery
 WHERE ctid = ANY(ARRAY(
     SELECT ctid FROM strangers
     UNION
     SELECT ctid FROM oldest
      WHERE received_at < (SELECT anchorhold.now()) - make_interval(days => %(days)s)))
RETURNING id
"""


async def prune(db: Db, scope: Scope, *, keep_days: int, limit: int = PRUNED_AT_ONCE) -> int:
    """Up to `limit` deliveries that are older than so many days are gone; how many.

    As many again of those that were not believed, which go after `STRANGERS_DAYS`.
    """
    gone = await db.all(
        _PRUNE,
        str,
        **scope.params,
        days=keep_days,
        strangers=min(keep_days, STRANGERS_DAYS),
        limit=limit,
    )
    return len(gone)
