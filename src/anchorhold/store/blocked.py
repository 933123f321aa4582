"""Invoices that a refusal of their customer missed (protocol section 4, set-up)."""

from anchorhold.domain.ids import NOTICE
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only


async def missed(db: Db, scope: Scope, *, limit: int, actor: str) -> list[str]:
    """Up to `limit` open invoices of customers that Stripe refused are blocked, with a notice each.

    An import and a refusal at the same moment do not see each other: the invoice would wait for a
    customer that nobody sets up any more. Each tick looks. The notices' ids have the time of now
    and the rest of their invoices', as those of a refusal.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, s.refused_code, s.refused_message
              FROM anchorhold.stripe_customer s
              JOIN anchorhold.connection c USING (account_id, livemode, stripe_account)
              JOIN anchorhold.invoice i
                ON i.account_id = s.account_id AND i.livemode = s.livemode
               AND i.customer_id = s.customer_id
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.refused_code IS NOT NULL AND i.status = 'open'
               AND i.payment_status = 'pending' AND i.blocked_reason IS NULL
               AND i.hold_until IS NULL
             LIMIT %(limit)s
               FOR UPDATE OF i SKIP LOCKED
        ), blocked AS (
            UPDATE anchorhold.invoice i
               SET blocked_reason = 'setup', payment_status = 'failed',
                   last_error = jsonb_build_object('code', p.refused_code,
                                                   'message', p.refused_message)
              FROM picked p
             WHERE i.account_id = p.account_id AND i.livemode = p.livemode AND i.id = p.id
            RETURNING i.account_id, i.livemode, i.id, i.last_error
        ), noticed AS (
            INSERT INTO anchorhold.notice
                   (account_id, livemode, id, code, invoice_id, subject, evidence)
            SELECT account_id, livemode, left(%(notice_id)s, 14) || substr(id, 15),
                   'collection.blocked', id, last_error ->> 'code', last_error
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
        limit=limit,
        notice_id=only(db.new_ids(NOTICE, 1)),
        actor=actor,
    )
