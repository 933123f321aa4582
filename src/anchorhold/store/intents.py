"""Preparing the one PaymentIntent of an invoice, before any money can move (protocol section 2)."""

from dataclasses import dataclass

from psycopg.types.json import Json

from anchorhold.domain.hold import Token
from anchorhold.domain.ids import NOTICE, InvoiceId
from anchorhold.domain.intent import IntentRow, IntentState, Unnamed, Unprepared
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only

LEASE_S = 60.0
"""At the default times; a process passes its own."""
OLD_S = 82800
"""A row without an id that is older than 23 h may have a pruned key: List comes first."""


@dataclass(frozen=True, slots=True)
class _Unprepared:
    invoice_id: InvoiceId
    amount: int
    currency: str
    stripe_account: str
    stripe_customer_id: str
    payment_method_types: tuple[str, ...]
    next_number: int


def _unprepared(scope: Scope, row: _Unprepared) -> Unprepared:
    return Unprepared(
        scope,
        row.invoice_id,
        row.amount,
        row.currency,
        row.stripe_account,
        row.stripe_customer_id,
        row.payment_method_types,
        row.next_number,
    )


async def take_unprepared(
    db: Db,
    scope: Scope,
    *,
    limit: int,
    invoice_id: InvoiceId | None = None,
    lease_s: float = LEASE_S,
) -> list[Unprepared]:
    """Up to `limit` open invoices without a live intent are leased for a minute to the caller.

    None in direct mode: there only the hosted page makes an intent before a charge.

    The lease only spares Stripe a second request; that an invoice never has two live intents is
    the partial unique index, and `name`'s guard.
    """
    rows = await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, c.stripe_account, s.stripe_customer_id,
                   c.payment_method_types
              FROM anchorhold.invoice i
              JOIN anchorhold.connection c USING (account_id, livemode)
              JOIN anchorhold.account ON account.id = i.account_id
               AND account.charge_mode = 'prepared'
              JOIN anchorhold.stripe_customer s
                ON s.account_id = i.account_id AND s.livemode = i.livemode
               AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.status = 'open' AND i.payment_status IN ('pending', 'failed')
               AND i.hold_until IS NULL AND i.blocked_reason IS DISTINCT FROM 'setup'
               AND i.intent_id IS NULL AND i.collection = 'auto'
               AND i.prepare_at <= (SELECT anchorhold.now())
               AND (%(invoice_id)s::text IS NULL OR i.id = %(invoice_id)s)
               AND i.amount_due > i.amount_paid
               AND s.stripe_customer_id IS NOT NULL AND c.refused_at IS NULL
               AND c.lineage = (SELECT anchorhold.lineage())
             ORDER BY i.prepare_at
             LIMIT %(limit)s
               FOR UPDATE OF i SKIP LOCKED
        )
        UPDATE anchorhold.invoice i
           SET prepare_at = anchorhold.now() + make_interval(secs => %(lease_s)s)
          FROM picked p
         WHERE i.account_id = p.account_id AND i.livemode = p.livemode AND i.id = p.id
        RETURNING i.id AS invoice_id, i.amount_due - i.amount_paid AS amount, i.currency,
                  p.stripe_account, p.stripe_customer_id, p.payment_method_types,
                  1 + coalesce((SELECT max(t.number) FROM anchorhold.intent t
                                 WHERE t.account_id = i.account_id AND t.livemode = i.livemode
                                   AND t.invoice_id = i.id), 0) AS next_number
        """,
        _Unprepared,
        **scope.params,
        invoice_id=invoice_id,
        limit=limit,
        lease_s=lease_s,
    )
    return [_unprepared(scope, row) for row in rows]


async def begin(
    db: Db, invoice: Unprepared, *, key: str, params: dict[str, object]
) -> IntentRow | None:
    """The invoice has its `preparing` row, this one or the one that was there before.

    The row is committed before the create is sent; whoever repeats the create sends that row's
    key and parameters. None: the invoice has a live intent by now, or is no longer open, or
    another caller is at this very step.
    """
    return await db.one(
        """
        WITH begun AS (
            INSERT INTO anchorhold.intent
                   (account_id, livemode, invoice_id, number, idempotency_key, params, amount,
                    currency, stripe_account)
            SELECT i.account_id, i.livemode, i.id, %(number)s, %(key)s, %(params)s, %(amount)s,
                   %(currency)s, %(stripe_account)s
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open' AND i.intent_id IS NULL
            ON CONFLICT DO NOTHING
            RETURNING number, idempotency_key, params, amount, created_at
        ), there AS (
            SELECT number, idempotency_key, params, amount, created_at FROM begun
            UNION ALL
            SELECT number, idempotency_key, params, amount, created_at
              FROM anchorhold.intent
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND invoice_id = %(invoice_id)s AND state = 'preparing'
        )
        SELECT number, idempotency_key, params, amount,
               created_at < anchorhold.now() - make_interval(secs => %(old_s)s) AS is_old
          FROM there
         LIMIT 1
        """,
        IntentRow,
        **invoice.scope.params,
        invoice_id=invoice.invoice_id,
        number=invoice.next_number,
        key=key,
        params=Json(params),
        amount=invoice.amount,
        currency=invoice.currency,
        stripe_account=invoice.stripe_account,
        old_s=OLD_S,
    )


async def name(
    db: Db,
    scope: Scope,
    invoice_id: InvoiceId,
    number: int,
    stripe_intent_id: str,
    *,
    actor: str,
    own: Token | None = None,
) -> str | None:
    """The intent's id is committed and the intent is the invoice's live one, or None.

    Only where the row still waits for an id, the invoice is open, its hold NULL or the writer's
    own, no other intent of it is live or followed, and what is due is the row's amount (F1). No
    client secret leaves before this row came back.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.currency,
                   i.amount_due - i.amount_paid AS amount
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open' AND i.intent_id IS NULL
               AND i.followed_intent_id IS NULL
               AND (i.hold_until IS NULL OR (i.hold_until = %(hold_until)s
                                             AND i.hold_attempt = %(attempt_id)s))
               FOR UPDATE
        ), named AS (
            UPDATE anchorhold.intent t
               SET stripe_intent_id = %(stripe_intent_id)s, state = 'live'
              FROM inv
             WHERE t.account_id = inv.account_id AND t.livemode = inv.livemode
               AND t.invoice_id = inv.id AND t.number = %(number)s AND t.state = 'preparing'
               AND t.amount = inv.amount AND t.currency = inv.currency
            RETURNING t.account_id, t.livemode, t.invoice_id, t.number, t.stripe_intent_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'intent.prepared',
                   jsonb_build_object('number', number, 'stripe_intent_id', stripe_intent_id)
              FROM named
        )
        UPDATE anchorhold.invoice i
           SET intent_id = n.stripe_intent_id
          FROM named n
         WHERE i.account_id = n.account_id AND i.livemode = n.livemode AND i.id = n.invoice_id
        RETURNING i.intent_id
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
        number=number,
        stripe_intent_id=stripe_intent_id,
        hold_until=own.hold_until if own else None,
        attempt_id=own.attempt_id if own else None,
        actor=actor,
    )


async def why_unnamed(db: Db, scope: Scope, invoice_id: InvoiceId, number: int) -> Unnamed | None:
    """What stood in the way of storing the id."""
    return await db.one(
        """
        SELECT i.status = 'open' AS invoice_open, i.hold_until IS NOT NULL AS held,
               i.amount_due - i.amount_paid AS amount_remaining, t.amount, t.state,
               t.stripe_intent_id
          FROM anchorhold.invoice i
          JOIN anchorhold.intent t
            ON t.account_id = i.account_id AND t.livemode = i.livemode AND t.invoice_id = i.id
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s AND t.number = %(number)s
        """,
        Unnamed,
        **scope.params,
        invoice_id=invoice_id,
        number=number,
    )


async def use_up(
    db: Db, scope: Scope, invoice_id: InvoiceId, number: int, *, reason: str, actor: str
) -> IntentState | None:
    """The number is spent and the next prepare takes the next one; None if it has an id by now.

    Locks the invoice before the intent, as every write does: `name` would meet it in a deadlock.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT account_id, livemode, id
              FROM anchorhold.invoice
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s
               FOR NO KEY UPDATE
        ), spent AS (
            UPDATE anchorhold.intent t
               SET state = 'used_up', ended_at = anchorhold.now()
              FROM inv
             WHERE t.account_id = inv.account_id AND t.livemode = inv.livemode
               AND t.invoice_id = inv.id AND t.number = %(number)s AND t.state = 'preparing'
            RETURNING t.account_id, t.livemode, t.invoice_id, t.number, t.state
        ), again AS (
            UPDATE anchorhold.invoice i
               SET prepare_at = anchorhold.now()
              FROM spent s
             WHERE i.account_id = s.account_id AND i.livemode = s.livemode
               AND i.id = s.invoice_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'intent.used_up',
                   jsonb_build_object('number', number, 'reason', %(reason)s::text)
              FROM spent
        )
        SELECT state FROM spent
        """,
        IntentState,
        **scope.params,
        invoice_id=invoice_id,
        number=number,
        reason=reason,
        actor=actor,
    )


async def refuse(
    db: Db,
    scope: Scope,
    invoice_id: InvoiceId,
    number: int | None,
    *,
    code: str,
    message: str,
    actor: str,
) -> str | None:
    """Collecting is blocked with a notice, and the number is spent; None if it moved meanwhile.

    Without a number: the customer could not be set up, so no intent was begun.
    """
    return await db.one(
        """
        WITH blocked AS (
            UPDATE anchorhold.invoice i
               SET blocked_reason = 'setup', payment_status = 'failed',
                   last_error = jsonb_build_object('code', %(code)s::text,
                                                   'message', %(message)s::text)
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND status = 'open' AND intent_id IS NULL
               AND hold_until IS NULL AND payment_status IN ('pending', 'failed')
               AND blocked_reason IS DISTINCT FROM 'setup'
            RETURNING account_id, livemode, id, last_error
        ), spent AS (
            UPDATE anchorhold.intent t
               SET state = 'used_up', ended_at = anchorhold.now()
              FROM blocked b
             WHERE t.account_id = b.account_id AND t.livemode = b.livemode
               AND t.invoice_id = b.id AND t.number = %(number)s AND t.state = 'preparing'
        ), noticed AS (
            INSERT INTO anchorhold.notice
                   (account_id, livemode, id, code, invoice_id, subject, evidence)
            SELECT account_id, livemode, %(notice_id)s, 'collection.blocked', id, %(code)s,
                   last_error
              FROM blocked
            ON CONFLICT DO NOTHING
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, id, %(actor)s, 'collection.blocked', last_error
              FROM blocked
        )
        SELECT id FROM blocked
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
        number=number,
        notice_id=only(db.new_ids(NOTICE, 1)),
        code=code,
        message=message,
        actor=actor,
    )
