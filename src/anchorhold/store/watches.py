"""Live intents of superseded attempts: looked at by id until they end (protocol section 7, F9)."""

from dataclasses import dataclass

from anchorhold.domain import ladder
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.news import WATCH_DAYS
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Watched:
    """A watched intent as it was read; what is written compares the counter."""

    invoice_id: InvoiceId
    intent_id: str
    seq: int
    status: InvoiceStatus


async def take(db: Db, scope: Scope, *, limit: int) -> list[Watched]:
    """Up to `limit` watched intents whose turn it is; others skip them until their next turn.

    On the ladder (`domain/ladder.py`), for 30 days. An invoice with a hold belongs to the sweep,
    one that follows to its follower. Only intents of the Stripe account that is connected.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT t.account_id, t.livemode, t.invoice_id, t.number, i.charge_seq, i.status
              FROM anchorhold.intent t
              JOIN anchorhold.invoice i
                ON i.account_id = t.account_id AND i.livemode = t.livemode
               AND i.id = t.invoice_id
              JOIN anchorhold.connection c
                ON c.account_id = t.account_id AND c.livemode = t.livemode
             WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
               AND t.state IN ('live', 'abandoned') AND t.watched_since IS NOT NULL
               AND t.stripe_account = c.stripe_account
               AND t.watch_at <= (SELECT anchorhold.now())
               AND t.watched_since
                   > (SELECT anchorhold.now()) - make_interval(days => %(days)s)
               AND i.hold_until IS NULL AND i.followed_intent_id IS NULL
             ORDER BY t.watch_at
             LIMIT %(limit)s
               FOR UPDATE OF t SKIP LOCKED
        )
        UPDATE anchorhold.intent t
           SET watch_at = anchorhold.now()
                        + anchorhold.wait_of(anchorhold.now() - t.watched_since,
                                             %(after_s)s, %(wait_s)s)
          FROM picked p
         WHERE t.account_id = p.account_id AND t.livemode = p.livemode
           AND t.invoice_id = p.invoice_id AND t.number = p.number
        RETURNING t.invoice_id, t.stripe_intent_id AS intent_id, p.charge_seq AS seq, p.status
        """,
        Watched,
        **scope.params,
        **ladder.PARAMS,
        days=WATCH_DAYS,
        limit=limit,
    )


async def one(db: Db, scope: Scope, invoice_id: InvoiceId, intent_id: str) -> Watched | None:
    """The invoice as a watcher reads it, if this is its live intent, free and not followed."""
    return await db.one(
        """
        SELECT i.id AS invoice_id, i.intent_id, i.charge_seq AS seq, i.status
          FROM anchorhold.invoice i
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s AND i.intent_id = %(intent_id)s
           AND i.hold_until IS NULL AND i.followed_intent_id IS NULL
        """,
        Watched,
        **scope.params,
        invoice_id=invoice_id,
        intent_id=intent_id,
    )


async def follow(db: Db, scope: Scope, watched: Watched, *, rule: str, actor: str) -> str | None:
    """The open invoice follows its intent, and the counter moved; None when something moved."""
    return await db.one(
        """
        WITH followed AS (
            UPDATE anchorhold.invoice
               SET payment_status = 'processing', followed_intent_id = %(intent_id)s,
                   followed_at = anchorhold.now(), charge_seq = charge_seq + 1
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND status = 'open' AND hold_until IS NULL
               AND payment_status IN ('pending', 'failed') AND intent_id = %(intent_id)s
               AND charge_seq = %(seq)s
            RETURNING account_id, livemode, id
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, detail)
            SELECT account_id, livemode, id, %(actor)s, 'following.began', %(rule)s,
                   jsonb_build_object('stripe_intent_id', %(intent_id)s::text)
              FROM followed
        )
        SELECT id FROM followed
        """,
        str,
        **scope.params,
        invoice_id=watched.invoice_id,
        intent_id=watched.intent_id,
        seq=watched.seq,
        rule=rule,
        actor=actor,
    )


async def end(db: Db, scope: Scope, watched: Watched, *, rule: str, actor: str) -> str | None:
    """The cancelled intent ends and the next may be prepared; None when something moved."""
    return await db.one(
        """
        WITH ended AS (
            UPDATE anchorhold.invoice
               SET intent_id = NULL
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND hold_until IS NULL
               AND intent_id = %(intent_id)s AND charge_seq = %(seq)s
               AND followed_intent_id IS NULL
            RETURNING account_id, livemode, id
        ), intent AS (
            UPDATE anchorhold.intent t
               SET state = 'canceled', ended_at = anchorhold.now()
              FROM ended e
             WHERE t.account_id = e.account_id AND t.livemode = e.livemode
               AND t.stripe_intent_id = %(intent_id)s AND t.state = 'live'
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, detail)
            SELECT account_id, livemode, id, %(actor)s, 'intent.canceled', %(rule)s,
                   jsonb_build_object('stripe_intent_id', %(intent_id)s::text)
              FROM ended
        )
        SELECT id FROM ended
        """,
        str,
        **scope.params,
        invoice_id=watched.invoice_id,
        intent_id=watched.intent_id,
        seq=watched.seq,
        rule=rule,
        actor=actor,
    )
