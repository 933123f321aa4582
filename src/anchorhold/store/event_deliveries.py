"""Deliveries of Stripe's events: each is kept with its verdict; a good one brings its event."""

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


async def take_in(
    db: Db, scope: Scope, delivery: Delivery, stripe_account: str, event: StripeEvent, *, kept: bool
) -> Verdict:
    """The delivery has its row, and the event its one row, waiting for its effect: one commit.

    Good, or a repeat: the UNIQUE event decides. Without `kept` (a type that is not in question,
    another account's object) only the delivery is kept.
    """
    verdict = await db.one(
        """
        WITH event AS (
            INSERT INTO anchorhold.event
                   (account_id, livemode, id, stripe_account, type, created, object_id, intent_id,
                    named_invoice, idempotency_key, summary, source)
            SELECT %(account_id)s, %(livemode)s, %(event_id)s, %(stripe_account)s, %(event_type)s,
                   to_timestamp(%(created)s), %(object_id)s, %(intent_id)s, %(named_invoice)s,
                   %(idempotency_key)s, %(summary)s, 'webhook'
             WHERE %(kept)s
            ON CONFLICT (account_id, livemode, id) DO NOTHING
            RETURNING id
        )
        INSERT INTO anchorhold.event_delivery
               (account_id, livemode, id, verdict, signature, secret_id, age_s, event_id,
                event_type, api_version, bytes, source)
        SELECT %(account_id)s, %(livemode)s, %(id)s,
               CASE WHEN EXISTS (SELECT FROM event) OR NOT %(kept)s THEN 'good'
                    ELSE 'repeat' END,
               %(signature)s, %(secret_id)s, %(age_s)s, %(event_id)s, %(event_type)s,
               %(api_version)s, %(bytes)s, %(source)s
        RETURNING verdict
        """,
        str,
        **scope.params,
        **delivery.params,
        stripe_account=stripe_account,
        created=event.created,
        object_id=event.object_id,
        intent_id=event.intent_id,
        named_invoice=event.names(scope),
        idempotency_key=event.idempotency_key,
        summary=Jsonb(dict(event.summary)),
        kept=kept,
    )
    return Verdict(verdict)


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
