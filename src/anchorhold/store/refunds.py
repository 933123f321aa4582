"""Refunds: one committed row before each request, and what Stripe lists (protocol section 8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Json, Jsonb

from anchorhold.domain import ladder
from anchorhold.domain.ids import NOTICE, REFUND, InvoiceId, PaymentId, RefundId
from anchorhold.domain.refund import METADATA_REFUND, Refundable, RefundState, RefundView
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only


@dataclass(frozen=True, slots=True)
class RefundRow:
    """A committed request for a refund: sent verbatim, however often."""

    id: RefundId
    payment_id: PaymentId
    invoice_id: InvoiceId
    intent_id: str
    amount: int
    currency: str
    idempotency_key: str
    params: dict[str, object]
    is_old: bool
    """Older than the life of its key less a margin: it is never sent again."""


OLD_S = 82_800.0
"""So long after it was written a request may be sent again under its key; Stripe keeps it a day."""


async def facts(db: Db, scope: Scope, payment_id: PaymentId) -> Refundable | None:
    """The payment as a refund reads it, or None."""
    return await db.one(
        """
        SELECT p.id AS payment_id, p.invoice_id, p.stripe_intent_id AS intent_id,
               p.stripe_account, p.amount, p.amount_refunded, p.amount_applied, p.currency,
               p.dispute, p.refund_seq AS seq
          FROM anchorhold.payment p
         WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
           AND p.id = %(payment_id)s
        """,
        Refundable,
        **scope.params,
        payment_id=payment_id,
    )


async def by_intent(db: Db, scope: Scope, intent_id: str) -> Refundable | None:
    """The payment of this intent as a refund reads it, or None."""
    return await db.one(
        """
        SELECT p.id AS payment_id, p.invoice_id, p.stripe_intent_id AS intent_id,
               p.stripe_account, p.amount, p.amount_refunded, p.amount_applied, p.currency,
               p.dispute, p.refund_seq AS seq
          FROM anchorhold.payment p
         WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
           AND p.stripe_intent_id = %(intent_id)s
        """,
        Refundable,
        **scope.params,
        intent_id=intent_id,
    )


async def state(db: Db, scope: Scope, refund_id: RefundId) -> RefundState | None:
    """How far the refund is, or None."""
    found = await db.one(
        """
        SELECT r.state
          FROM anchorhold.refund r
         WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
           AND r.id = %(refund_id)s
        """,
        str,
        **scope.params,
        refund_id=refund_id,
    )
    return RefundState(found) if found else None


_BEGIN = """
WITH pay AS MATERIALIZED (
    SELECT p.*
      FROM anchorhold.payment p
     WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
       AND p.id = %(payment_id)s AND p.refund_seq = %(seq)s
       AND p.stripe_intent_id IS NOT NULL AND p.dispute IS DISTINCT FROM 'open'
       AND p.dispute IS DISTINCT FROM 'lost'
       AND p.amount - p.amount_refunded >= %(amount)s
       FOR UPDATE
), begun AS (
    INSERT INTO anchorhold.refund
           (account_id, livemode, id, payment_id, invoice_id, stripe_intent_id, amount, currency,
            state, actor, reason, idempotency_key, params)
    SELECT account_id, livemode, %(refund_id)s, id, invoice_id, stripe_intent_id, %(amount)s,
           currency, 'requested', %(actor)s, %(reason)s, %(key)s, %(params)s
      FROM pay
    ON CONFLICT (account_id, livemode, payment_id) WHERE state = 'requested' DO NOTHING
    RETURNING *
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT account_id, livemode, invoice_id, %(actor)s, 'refund.requested',
           jsonb_build_object('refund_id', id, 'payment_id', payment_id, 'amount', amount,
                              'currency', currency, 'reason', reason)
      FROM begun
)
SELECT id, payment_id, invoice_id, stripe_intent_id AS intent_id, amount, currency,
       idempotency_key, params, false AS is_old
  FROM begun
"""


async def begin(
    db: Db,
    scope: Scope,
    refund_id: RefundId,
    payment: Refundable,
    *,
    amount: int,
    reason: str,
    key: str,
    params: dict[str, object],
    actor: str,
) -> RefundRow | None:
    """The request is committed, before it is sent; None when something moved.

    Compares what was read of the payment, never exceeds what is left of it, and is the only
    request of this payment that is under way: of two operators at once one wins.
    """
    return await db.one(
        _BEGIN,
        RefundRow,
        **scope.params,
        refund_id=refund_id,
        payment_id=payment.payment_id,
        seq=payment.seq,
        amount=amount,
        reason=reason,
        key=key,
        params=Json(params),
        actor=actor,
    )


async def take_unfinished(db: Db, scope: Scope, *, limit: int) -> list[RefundRow]:
    """Up to `limit` requests whose answer is not known and whose turn it is; others skip them."""
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT r.account_id, r.livemode, r.id
              FROM anchorhold.refund r
             WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
               AND r.state = 'requested' AND r.look_at <= (SELECT anchorhold.now())
               AND r.created_at < (SELECT anchorhold.now()) - interval '60 seconds'
             ORDER BY r.look_at
             LIMIT %(limit)s
               FOR UPDATE SKIP LOCKED
        )
        UPDATE anchorhold.refund r
           SET look_at = anchorhold.now()
                       + anchorhold.wait_of(anchorhold.now() - r.created_at, %(after_s)s,
                                            %(wait_s)s)
          FROM picked p
         WHERE r.account_id = p.account_id AND r.livemode = p.livemode AND r.id = p.id
        RETURNING r.id, r.payment_id, r.invoice_id, r.stripe_intent_id AS intent_id, r.amount,
                  r.currency, r.idempotency_key, r.params,
                  r.created_at < anchorhold.now() - make_interval(secs => %(old_s)s) AS is_old
        """,
        RefundRow,
        **scope.params,
        **ladder.PARAMS,
        limit=limit,
        old_s=OLD_S,
    )


async def end(
    db: Db, scope: Scope, refund_id: RefundId, state: RefundState, *, error: str, actor: str
) -> RefundState | None:
    """The request ended without a refund; None when it is known at Stripe by now."""
    return await db.one(
        """
        WITH own AS MATERIALIZED (
            SELECT account_id, livemode, id
              FROM anchorhold.refund
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(refund_id)s
               FOR UPDATE
        ), ended AS (
            UPDATE anchorhold.refund r
               SET state = %(state)s, error = %(error)s, ended_at = anchorhold.now()
              FROM own
             WHERE r.account_id = own.account_id AND r.livemode = own.livemode
               AND r.id = own.id AND r.state = 'requested'
            RETURNING r.account_id, r.livemode, r.invoice_id, r.id, r.payment_id, r.state
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'refund.' || state,
                   jsonb_build_object('refund_id', id, 'payment_id', payment_id,
                                      'error', %(error)s::text)
              FROM ended
        )
        SELECT state FROM ended
        """,
        RefundState,
        **scope.params,
        refund_id=refund_id,
        state=state,
        error=error,
        actor=actor,
    )


_RECORD = """
WITH given AS MATERIALIZED (
    SELECT *
      FROM jsonb_to_recordset(%(rows)s) AS g (
           id text, own text, fresh text, notice text, state text, amount bigint, currency text,
           error text)
), inv AS MATERIALIZED (
    SELECT i.account_id, i.livemode, i.id
      FROM anchorhold.invoice i
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s AND i.id = %(invoice_id)s
       FOR NO KEY UPDATE
), pay AS MATERIALIZED (
    SELECT p.*
      FROM anchorhold.payment p
      JOIN inv ON inv.account_id = p.account_id AND inv.livemode = p.livemode
              AND inv.id = p.invoice_id
     WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
       AND p.id = %(payment_id)s AND p.refund_seq = %(seq)s
       FOR UPDATE OF p
), before AS MATERIALIZED (
    SELECT r.id, r.stripe_refund_id, r.state
      FROM anchorhold.refund r
      JOIN pay ON pay.account_id = r.account_id AND pay.livemode = r.livemode
              AND pay.id = r.payment_id
     WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
), known AS MATERIALIZED (
    SELECT g.*, b.id AS row_id, b.state AS was
      FROM given g
      LEFT JOIN before b
        ON b.stripe_refund_id = g.id OR (b.stripe_refund_id IS NULL AND b.id = g.own)
), changed AS (
    UPDATE anchorhold.refund r
       SET stripe_refund_id = k.id, state = k.state, error = k.error,
           ended_at = CASE WHEN k.state IN ('succeeded', 'failed', 'canceled')
                           THEN anchorhold.now() END
      FROM known k, pay
     WHERE r.account_id = pay.account_id AND r.livemode = pay.livemode AND r.id = k.row_id
       AND (r.state, r.stripe_refund_id) IS DISTINCT FROM (k.state, k.id)
    RETURNING r.account_id, r.livemode, r.invoice_id, r.id, r.stripe_refund_id, r.state,
              r.amount, r.currency
), found AS (
    INSERT INTO anchorhold.refund
           (account_id, livemode, id, payment_id, invoice_id, stripe_intent_id, stripe_refund_id,
            amount, currency, state, actor, error, ended_at)
    SELECT pay.account_id, pay.livemode, k.fresh, pay.id, pay.invoice_id, pay.stripe_intent_id,
           k.id, k.amount, k.currency, k.state, 'stripe', k.error,
           CASE WHEN k.state IN ('succeeded', 'failed', 'canceled') THEN anchorhold.now() END
      FROM known k, pay
     WHERE k.row_id IS NULL
    ON CONFLICT DO NOTHING
    RETURNING account_id, livemode, invoice_id, id, stripe_refund_id, state, amount, currency
), moved AS MATERIALIZED (
    SELECT * FROM changed UNION ALL SELECT * FROM found
), total AS MATERIALIZED (
    SELECT coalesce(sum(amount) FILTER (
               WHERE state IN ('pending', 'requires_action', 'succeeded')), 0)::bigint AS refunded
      FROM given
), paid AS (
    UPDATE anchorhold.payment p
       SET amount_refunded = least(p.amount, t.refunded), refund_seq = p.refund_seq + 1
      FROM pay, total t
     WHERE p.account_id = pay.account_id AND p.livemode = pay.livemode AND p.id = pay.id
    RETURNING p.account_id, p.livemode, p.id, p.invoice_id, p.stripe_intent_id, p.amount,
              p.amount_refunded, p.refund_seq
), failed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT m.account_id, m.livemode, k.notice, 'refund.failed', m.invoice_id, m.id,
           jsonb_build_object('refund_id', m.id, 'stripe_refund_id', m.stripe_refund_id,
                              'amount', m.amount, 'currency', m.currency)
      FROM moved m JOIN known k ON k.id = m.stripe_refund_id
     WHERE m.state IN ('failed', 'canceled')
    ON CONFLICT DO NOTHING
), resolved AS (
    UPDATE anchorhold.notice n
       SET resolved_at = anchorhold.now(), resolved_by = %(actor)s,
           resolution = 'the payment was refunded in full'
      FROM paid
     WHERE n.account_id = paid.account_id AND n.livemode = paid.livemode
       AND n.invoice_id = paid.invoice_id AND n.subject = paid.stripe_intent_id
       AND n.code = ANY(%(settled_by_refund)s) AND n.resolved_at IS NULL
       AND paid.amount_refunded = paid.amount
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT account_id, livemode, invoice_id, %(actor)s, 'refund.' || state,
           jsonb_build_object('refund_id', id, 'stripe_refund_id', stripe_refund_id,
                              'payment_id', %(payment_id)s::text, 'amount', amount,
                              'currency', currency)
      FROM moved
)
SELECT refund_seq FROM paid
"""


async def record(
    db: Db,
    scope: Scope,
    payment: Refundable,
    refunds: Sequence[RefundView],
    *,
    settled_by_refund: Sequence[str],
    actor: str,
) -> int | None:
    """Rows, payment and notices say what Stripe lists; None when another list was written since.

    `refunds` are all of the payment's: what stands among them is what was given back, so that one
    that fails later is undone. The invoice is never opened again. A notice of one of the codes
    `settled_by_refund` about this payment is resolved when nothing of it is left.
    """
    fresh = db.new_ids(REFUND, len(refunds))
    notice_ids = db.new_ids(NOTICE, len(refunds))
    rows = [
        {
            "id": refund.id,
            "own": refund.metadata.get(METADATA_REFUND),
            "fresh": fresh_id,
            "notice": notice_id,
            "state": refund.status,
            "amount": refund.amount,
            "currency": refund.currency,
            "error": refund.reason or None,
        }
        for refund, fresh_id, notice_id in zip(refunds, fresh, notice_ids, strict=True)
    ]
    return await db.one(
        _RECORD,
        int,
        **scope.params,
        invoice_id=payment.invoice_id,
        payment_id=payment.payment_id,
        seq=payment.seq,
        rows=Jsonb(rows),
        settled_by_refund=list(settled_by_refund),
        actor=actor,
    )


def new_id(db: Db) -> RefundId:
    """The id of a request that is not written yet: its key and its metadata name it."""
    return only(db.new_ids(REFUND, 1))
