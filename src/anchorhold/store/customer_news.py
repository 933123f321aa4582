"""What Stripe tells of a customer: another or a mended card, or that it is deleted (section 9)."""

from datetime import datetime

from anchorhold.domain.ids import NOTICE
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only

GONE = "customer_deleted"


async def mended(
    db: Db,
    scope: Scope,
    *,
    stripe_account: str,
    stripe_customer: str,
    since: datetime,
    rule: str,
    actor: str,
) -> list[str]:
    """The customer's invoices that waited for the customer may be charged again; which.

    Their dunning looks again. Left alone is an invoice that is held, blocked by a set-up fault, or
    tried since `since`, when the card was changed: then that very card was tried.
    """
    return await db.all(
        """
        WITH lifted AS (
            UPDATE anchorhold.invoice i
               SET blocked_reason = NULL
              FROM anchorhold.stripe_customer s
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.stripe_account = %(stripe_account)s
               AND s.stripe_customer_id = %(stripe_customer)s AND s.refused_code IS NULL
               AND i.account_id = s.account_id AND i.livemode = s.livemode
               AND i.customer_id = s.customer_id AND i.status = 'open'
               AND i.blocked_reason = 'customer_action' AND i.hold_until IS NULL
               AND NOT EXISTS (
                   SELECT FROM anchorhold.attempt a
                    WHERE a.account_id = i.account_id AND a.livemode = i.livemode
                      AND a.invoice_id = i.id AND a.claimed_at >= %(since)s)
            RETURNING i.account_id, i.livemode, i.id
        ), dunned AS (
            UPDATE anchorhold.dunning_run r
               SET next_at = least(r.next_at, anchorhold.now())
              FROM lifted i
             WHERE r.account_id = i.account_id AND r.livemode = i.livemode
               AND r.invoice_id = i.id AND r.ended_at IS NULL
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, rule)
            SELECT account_id, livemode, id, %(actor)s, 'collection.unblocked', %(rule)s
              FROM lifted
        )
        SELECT id FROM lifted
        """,
        str,
        **scope.params,
        stripe_account=stripe_account,
        stripe_customer=stripe_customer,
        since=since,
        rule=rule,
        actor=actor,
    )


async def gone(
    db: Db, scope: Scope, *, stripe_account: str, stripe_customer: str, rule: str, actor: str
) -> str | None:
    """The customer is flagged as deleted at Stripe; its open invoices are blocked, with notices.

    None: no customer of ours, or it was flagged before. A held invoice is left to its owner and the
    sweep, which meet the same; what comes in later is blocked by the tick.
    """
    return await db.one(
        """
        WITH refused AS (
            UPDATE anchorhold.stripe_customer
               SET refused_code = %(code)s,
                   refused_message = 'The customer was deleted at Stripe.'
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND stripe_account = %(stripe_account)s
               AND stripe_customer_id = %(stripe_customer)s AND refused_code IS NULL
            RETURNING account_id, livemode, customer_id, refused_code, refused_message
        ), blocked AS (
            UPDATE anchorhold.invoice i
               SET blocked_reason = 'setup', payment_status = 'failed',
                   last_error = jsonb_build_object('code', r.refused_code,
                                                   'message', r.refused_message)
              FROM refused r
             WHERE i.account_id = r.account_id AND i.livemode = r.livemode
               AND i.customer_id = r.customer_id AND i.status = 'open'
               AND i.hold_until IS NULL AND i.payment_status IN ('pending', 'failed')
               AND i.blocked_reason IS DISTINCT FROM 'setup'
            RETURNING i.account_id, i.livemode, i.id, i.last_error
        ), noticed AS (
            INSERT INTO anchorhold.notice
                   (account_id, livemode, id, code, invoice_id, subject, evidence)
            SELECT account_id, livemode, left(%(notice_id)s, 14) || substr(id, 15),
                   'collection.blocked', id, %(code)s, last_error
              FROM blocked
            ON CONFLICT DO NOTHING
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, detail)
            SELECT account_id, livemode, id, %(actor)s, 'collection.blocked', %(rule)s, last_error
              FROM blocked
        )
        SELECT customer_id FROM refused
        """,
        str,
        **scope.params,
        stripe_account=stripe_account,
        stripe_customer=stripe_customer,
        code=GONE,
        notice_id=only(db.new_ids(NOTICE, 1)),
        rule=rule,
        actor=actor,
    )
