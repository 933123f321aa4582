"""The hosted page's claim, and the one intent that is prepared because a person asks.

Each function is one statement, so one transaction (protocol sections 2 and 5, H4, H5).
"""

from dataclasses import dataclass

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.intent import Unprepared
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


async def open_page(db: Db, scope: Scope, invoice_id: InvoiceId, *, actor: str) -> str | None:
    """The client secret of the live intent may leave: its id; None when it may not now.

    Only while the invoice is open and free, follows nothing, and its intent is live at the
    connected account and for what is due. In the same commit the intent is watched from now on,
    so that a payment of the customer's is found even if nobody tells us.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.intent_id
              FROM anchorhold.invoice i
              JOIN anchorhold.connection c USING (account_id, livemode)
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open' AND i.hold_until IS NULL
               AND i.followed_intent_id IS NULL AND i.payment_status IN ('pending', 'failed')
               AND c.refused_at IS NULL AND c.lineage = (SELECT anchorhold.lineage())
               AND EXISTS (
                   SELECT FROM anchorhold.intent t
                    WHERE t.account_id = i.account_id AND t.livemode = i.livemode
                      AND t.stripe_intent_id = i.intent_id AND t.state = 'live'
                      AND t.stripe_account = c.stripe_account AND t.currency = i.currency
                      AND t.amount = i.amount_due - i.amount_paid)
               FOR NO KEY UPDATE OF i
        ), shown AS (
            UPDATE anchorhold.intent t
               SET watched_since = anchorhold.now(), watch_at = anchorhold.now()
              FROM inv
             WHERE t.account_id = inv.account_id AND t.livemode = inv.livemode
               AND t.stripe_intent_id = inv.intent_id AND t.state = 'live'
            RETURNING t.account_id, t.livemode, t.invoice_id, t.stripe_intent_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'page.opened',
                   jsonb_build_object('stripe_intent_id', stripe_intent_id)
              FROM shown
        )
        SELECT stripe_intent_id FROM shown
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
        actor=actor,
    )


@dataclass(frozen=True, slots=True)
class _Unprepared:
    invoice_id: InvoiceId
    amount: int
    currency: str
    stripe_account: str
    stripe_customer_id: str
    payment_method_types: tuple[str, ...]
    next_number: int


async def take_unprepared(
    db: Db, scope: Scope, invoice_id: InvoiceId, *, page: bool, lease_s: float
) -> Unprepared | None:
    """This open invoice without a live intent is leased to the caller; None: it needs none now.

    Also where only a person collects (`collection = manual`): after a short payment, or one that
    was given back. In direct mode only the page makes an intent before a charge.
    """
    row = await db.one(
        """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, c.stripe_account, s.stripe_customer_id,
                   c.payment_method_types
              FROM anchorhold.invoice i
              JOIN anchorhold.account ON account.id = i.account_id
              JOIN anchorhold.connection c USING (account_id, livemode)
              JOIN anchorhold.stripe_customer s
                ON s.account_id = i.account_id AND s.livemode = i.livemode
               AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open'
               AND i.payment_status IN ('pending', 'failed')
               AND i.hold_until IS NULL AND i.blocked_reason IS DISTINCT FROM 'setup'
               AND i.intent_id IS NULL AND i.amount_due > i.amount_paid
               AND i.prepare_at <= (SELECT anchorhold.now())
               AND s.stripe_customer_id IS NOT NULL AND c.refused_at IS NULL
               AND c.lineage = (SELECT anchorhold.lineage())
               AND (account.charge_mode = 'prepared' OR %(page)s)
               FOR UPDATE OF i
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
        page=page,
        lease_s=lease_s,
    )
    if row is None:
        return None
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


async def given_back(db: Db, scope: Scope, invoice_id: InvoiceId) -> list[str]:
    """The intents whose payment counts as given back in full; looked up before the next is made."""
    return await db.all(
        """
        SELECT stripe_intent_id
          FROM anchorhold.payment
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND invoice_id = %(invoice_id)s AND stripe_intent_id IS NOT NULL
           AND amount_refunded >= amount
         ORDER BY id
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
    )


async def abandon_intent(
    db: Db, scope: Scope, invoice_id: InvoiceId, *, reason: str, actor: str
) -> str | None:
    """The intent that lives in another Stripe account is given up; the next may be prepared.

    An operator's act when the account was changed for good: the old intent is watched by its id
    for 30 days, as far as it can be asked about. None: it has no such intent, or is not free.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.intent_id
              FROM anchorhold.invoice i
              JOIN anchorhold.connection c USING (account_id, livemode)
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open' AND i.hold_until IS NULL
               AND i.followed_intent_id IS NULL
               AND EXISTS (
                   SELECT FROM anchorhold.intent t
                    WHERE t.account_id = i.account_id AND t.livemode = i.livemode
                      AND t.stripe_intent_id = i.intent_id AND t.state = 'live'
                      AND t.stripe_account <> c.stripe_account)
               FOR UPDATE OF i
        ), abandoned AS (
            UPDATE anchorhold.intent t
               SET state = 'abandoned', watched_since = anchorhold.now(),
                   watch_at = anchorhold.now(), ended_at = anchorhold.now()
              FROM inv
             WHERE t.account_id = inv.account_id AND t.livemode = inv.livemode
               AND t.stripe_intent_id = inv.intent_id AND t.state = 'live'
            RETURNING t.account_id, t.livemode, t.invoice_id, t.stripe_intent_id,
                      t.stripe_account
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'intent.abandoned',
                   jsonb_build_object('stripe_intent_id', stripe_intent_id,
                                      'stripe_account', stripe_account, 'reason', %(reason)s::text)
              FROM abandoned
        )
        UPDATE anchorhold.invoice i
           SET intent_id = NULL, prepare_at = anchorhold.now()
          FROM abandoned a
         WHERE i.account_id = a.account_id AND i.livemode = a.livemode AND i.id = a.invoice_id
        RETURNING a.stripe_intent_id
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
        reason=reason,
        actor=actor,
    )
