"""Messages for others: made from the journal, taken for a try, ended by what was answered.

The journal row is the outbox: it was committed with what happened, so a message exists if and only
if the thing happened, whoever dies in between.
"""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import DELIVERY, MESSAGE, DeliveryId, EndpointId, MessageId
from anchorhold.domain.scope import Scope
from anchorhold.domain.webhook import TYPES
from anchorhold.store.db import Db

_LEASE_S = 60.0
"""A delivery that was taken for a try is left alone for so long; longer than a try may last."""


# The rows are locked, so their places hold; a join would be planned for a tenth of the table.
_MAKE = """
WITH picked AS MATERIALIZED (
    SELECT j.ctid AS place, j.account_id, j.livemode, j.invoice_id, j.entry, j.at, j.what,
           j.detail
      FROM anchorhold.journal j
     WHERE j.account_id = %(account_id)s AND j.livemode = %(livemode)s AND NOT j.told
       AND j.entry > (SELECT min(e.after_entry)
                        FROM anchorhold.webhook_endpoint e
                       WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
                         AND e.deleted_at IS NULL)
       AND j.what IN (
           'attempt.failed', 'attempt.processing', 'collection.blocked', 'dispute.closed',
           'dispute.inquiry', 'dispute.lost', 'dispute.open', 'dispute.won', 'dunning.finished',
           'dunning.step',
           'following.began', 'following.ended', 'invoice.amended', 'invoice.opened',
           'invoice.paid_elsewhere', 'invoice.void', 'invoice.write_off',
           'payment.duplicate', 'payment.overpaid', 'payment.paid', 'payment.short',
           'payment.voided', 'refund.canceled', 'refund.failed', 'refund.not_made',
           'refund.refused', 'refund.succeeded')
     ORDER BY j.entry
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED
), told AS (
    UPDATE anchorhold.journal j SET told = true
     WHERE j.ctid = ANY(ARRAY(SELECT place FROM picked))
    RETURNING j.entry
), typed AS (
    SELECT p.*, t.type, row_number() OVER (ORDER BY p.entry, t.type) AS n
      FROM picked p
      JOIN unnest(%(whats)s::text[], %(types)s::text[]) AS t (what, type) USING (what)
), message AS (
    INSERT INTO anchorhold.message
           (account_id, livemode, id, type, invoice_id, sequence, data, at)
    SELECT t.account_id, t.livemode, ids.id, t.type, t.invoice_id, t.entry,
           jsonb_strip_nulls(jsonb_build_object(
               'object', 'invoice', 'id', i.id, 'reference', i.reference,
               'customer_id', i.customer_id, 'status', i.status,
               'payment_status', i.payment_status, 'currency', i.currency,
               'amount_due', i.amount_due, 'amount_paid', i.amount_paid,
               'stripe_intent_id', t.detail->>'stripe_intent_id',
               'decline_code', t.detail->'decline'->>'decline_code',
               'payment_id', t.detail->>'payment_id', 'refund_id', t.detail->>'refund_id',
               'dispute_id', t.detail->>'dispute_id', 'dunning_run_id', t.detail->>'run_id',
               'dunning_outcome', t.detail->>'outcome',
               'dispute', CASE WHEN t.detail ? 'dispute_id' THEN split_part(t.what, '.', 2) END,
               'amount', CASE WHEN t.detail ?| '{refund_id,dispute_id}'
                              THEN t.detail->'amount' END)), t.at
      FROM typed t
      JOIN unnest(%(message_ids)s::text[]) WITH ORDINALITY AS ids (id, n) USING (n)
      JOIN anchorhold.invoice i
        ON i.account_id = t.account_id AND i.livemode = t.livemode
       AND i.id = t.invoice_id
    ON CONFLICT DO NOTHING
    RETURNING account_id, livemode, id, type, sequence
), wanted AS (
    SELECT m.account_id, m.livemode, m.id AS message_id, e.id AS endpoint_id
      FROM message m
      JOIN anchorhold.webhook_endpoint e
        ON e.account_id = m.account_id AND e.livemode = m.livemode
     WHERE e.deleted_at IS NULL AND e.disabled_at IS NULL AND m.sequence > e.after_entry
       AND (e.types = '{}' OR m.type = ANY(e.types))
), sent AS (
    INSERT INTO anchorhold.webhook_delivery
           (account_id, livemode, id, endpoint_id, message_id)
    SELECT account_id, livemode,
           'dlv_' || substr(message_id, 5, 16)
                  || upper(left(md5(message_id || endpoint_id), 10)),
           endpoint_id, message_id
      FROM wanted
)
SELECT entry AS id FROM told
"""


@dataclass(frozen=True, slots=True)
class Told:
    """A row of the journal whose messages exist."""

    id: int


async def make(db: Db, scope: Scope, *, limit: int) -> list[Told]:
    """Up to `limit` journal rows are told: a delivery of each message waits for each endpoint.

    Without an endpoint nothing is told: an account that listens to nothing pays nothing for it.
    Several workers share the rows out.
    """
    return await db.all(
        _MAKE,
        Told,
        **scope.params,
        limit=limit,
        whats=[what for row in TYPES for what in sorted(row.told_by)],
        types=[row.name for row in TYPES for _ in row.told_by],
        message_ids=db.new_ids(MESSAGE, 2 * limit),
    )


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that is the caller's to try, with all that one POST needs."""

    id: DeliveryId
    endpoint_id: EndpointId
    url: str
    secret: bytes
    old_secret: bytes | None
    tries: int
    """With this one."""
    tries_before: int
    """Those before it was sent again by hand."""
    now: datetime
    message_id: MessageId
    type: str
    at: datetime
    sequence: int
    data: dict[str, object]


async def take(db: Db, scope: Scope, *, limit: int) -> list[Due]:
    """Up to `limit` deliveries whose time has come are the caller's for a minute.

    The try is counted before it is made, so the log shows one that its process did not survive.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT d.account_id, d.livemode, d.id
              FROM anchorhold.webhook_delivery d
             WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
               AND d.state = 'waiting' AND d.next_try_at <= (SELECT anchorhold.now())
             ORDER BY d.next_try_at, d.id
             LIMIT %(limit)s
               FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE anchorhold.webhook_delivery d
               SET tries = d.tries + 1,
                   next_try_at = anchorhold.now() + make_interval(secs => %(lease_s)s)
              FROM picked p
             WHERE d.account_id = p.account_id AND d.livemode = p.livemode AND d.id = p.id
            RETURNING d.account_id, d.livemode, d.id, d.endpoint_id, d.message_id, d.tries,
                      d.tries_before
        )
        SELECT t.id, t.endpoint_id, e.url, e.secret,
               CASE WHEN e.old_secret_until > anchorhold.now() THEN e.old_secret END AS old_secret,
               t.tries, t.tries_before, anchorhold.now() AS now,
               m.id AS message_id, m.type, m.at, m.sequence, m.data
          FROM taken t
          JOIN anchorhold.webhook_endpoint e
            ON e.account_id = t.account_id AND e.livemode = t.livemode AND e.id = t.endpoint_id
          JOIN anchorhold.message m
            ON m.account_id = t.account_id AND m.livemode = t.livemode AND m.id = t.message_id
         ORDER BY m.sequence, t.id
        """,
        Due,
        **scope.params,
        limit=limit,
        lease_s=_LEASE_S,
    )


@dataclass(frozen=True, slots=True)
class Try:
    """How one try ended: what is written, and when the next one comes (None: there is none).

    Without a next one the endpoint is switched off, what waits for it is dropped, and a person is
    told: they replay the range once it works.
    """

    rule: str
    said: str
    took_ms: int
    excerpt: str
    delivered: bool
    wait_s: float | None


_END_TRY = """
WITH ended AS (
    UPDATE anchorhold.webhook_delivery d
       SET state = CASE WHEN %(delivered)s THEN 'delivered'
                        WHEN %(wait_s)s::float8 IS NULL THEN 'failed'
                        ELSE 'waiting' END,
           next_try_at = CASE WHEN %(wait_s)s::float8 IS NULL THEN d.next_try_at
               ELSE anchorhold.now() + make_interval(secs => %(wait_s)s) END,
           ended_at = CASE WHEN %(delivered)s OR %(wait_s)s::float8 IS NULL
                           THEN anchorhold.now() END,
           last_said = %(said)s
     WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
       AND d.id = %(delivery_id)s AND d.state = 'waiting' AND d.tries = %(tries)s
    RETURNING d.account_id, d.livemode, d.id, d.endpoint_id, d.tries, d.state
), logged AS (
    INSERT INTO anchorhold.webhook_try
           (account_id, livemode, delivery_id, number, said, rule, took_ms, excerpt)
    SELECT account_id, livemode, id, tries, %(said)s, %(rule)s, %(took_ms)s, %(excerpt)s
      FROM ended
), off AS (
    UPDATE anchorhold.webhook_endpoint e
       SET disabled_at = anchorhold.now(), disabled_reason = %(said)s
      FROM ended d
     WHERE e.account_id = d.account_id AND e.livemode = d.livemode
       AND e.id = d.endpoint_id AND e.disabled_at IS NULL AND d.state = 'failed'
    RETURNING e.account_id, e.livemode, e.id, e.url, d.id AS delivery_id
), dropped AS (
    UPDATE anchorhold.webhook_delivery d
       SET state = 'dropped', ended_at = anchorhold.now()
      FROM off
     WHERE d.account_id = off.account_id AND d.livemode = off.livemode
       AND d.endpoint_id = off.id AND d.state = 'waiting' AND d.id <> off.delivery_id
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, subject, evidence)
    SELECT account_id, livemode,
           anchorhold.notice_id(delivery_id, 'webhook.endpoint_disabled'),
           'webhook.endpoint_disabled', delivery_id,
           jsonb_build_object('endpoint_id', id, 'url', url, 'said', %(said)s::text)
      FROM off
    ON CONFLICT DO NOTHING
)
SELECT state FROM ended
"""


async def end_try(db: Db, scope: Scope, due: Due, tried: Try) -> str | None:
    """The try is in the log and the delivery ends or waits; None when another try went on first.

    Compared is the number of the try: a process that was frozen in it changes nothing.
    """
    return await db.one(
        _END_TRY,
        str,
        **scope.params,
        delivery_id=due.id,
        tries=due.tries,
        rule=tried.rule,
        said=tried.said,
        took_ms=tried.took_ms,
        excerpt=tried.excerpt,
        delivered=tried.delivered,
        wait_s=tried.wait_s,
    )


async def resend(db: Db, scope: Scope, delivery_id: DeliveryId) -> str | None:
    """The delivery is tried again from the first wait on; None: it waits, or its end is off."""
    return await db.one(
        """
        UPDATE anchorhold.webhook_delivery d
           SET state = 'waiting', tries_before = d.tries, next_try_at = anchorhold.now(),
               ended_at = NULL
          FROM anchorhold.webhook_endpoint e
         WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
           AND d.id = %(delivery_id)s AND d.state <> 'waiting'
           AND e.account_id = d.account_id AND e.livemode = d.livemode AND e.id = d.endpoint_id
           AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        RETURNING d.id
        """,
        str,
        **scope.params,
        delivery_id=delivery_id,
    )


async def replay(
    db: Db,
    scope: Scope,
    endpoint_id: EndpointId,
    replay_id: DeliveryId,
    *,
    since: datetime,
    until: datetime,
) -> int:
    """Every message of the range is delivered to the endpoint once more; how many there are.

    Once for each `replay_id`: a repeat of the same replay adds nothing.
    """
    made = await db.all(
        """
        INSERT INTO anchorhold.webhook_delivery
               (account_id, livemode, id, endpoint_id, message_id)
        SELECT m.account_id, m.livemode,
               'dlv_' || substr(m.id, 5, 16)
                      || upper(left(md5(m.id || %(replay_id)s::text), 10)), e.id, m.id
          FROM anchorhold.message m
          JOIN anchorhold.webhook_endpoint e
            ON e.account_id = m.account_id AND e.livemode = m.livemode
         WHERE m.account_id = %(account_id)s AND m.livemode = %(livemode)s
           AND m.at >= %(since)s AND m.at < %(until)s
           AND e.id = %(endpoint_id)s AND e.deleted_at IS NULL AND e.disabled_at IS NULL
           AND (e.types = '{}' OR m.type = ANY(e.types))
         ORDER BY m.id
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        endpoint_id=endpoint_id,
        since=since,
        until=until,
        replay_id=replay_id,
    )
    return len(made)


async def trial(db: Db, scope: Scope, endpoint_id: EndpointId) -> Due | None:
    """A message about nothing for this endpoint, kept nowhere; None: no such endpoint."""
    return await db.one(
        """
        SELECT %(id)s AS id, e.id AS endpoint_id, e.url, e.secret,
               CASE WHEN e.old_secret_until > anchorhold.now() THEN e.old_secret END AS old_secret,
               1 AS tries, 0 AS tries_before, anchorhold.now() AS now, %(message_id)s AS message_id,
               'webhook.test' AS type, anchorhold.now() AS at, 0 AS sequence, '{}'::jsonb AS data
          FROM anchorhold.webhook_endpoint e
         WHERE e.account_id = %(account_id)s AND e.livemode = %(livemode)s
           AND e.id = %(endpoint_id)s AND e.deleted_at IS NULL
        """,
        Due,
        **scope.params,
        endpoint_id=endpoint_id,
        id=db.new_ids(DELIVERY, 1)[0],
        message_id=db.new_ids(MESSAGE, 1)[0],
    )
