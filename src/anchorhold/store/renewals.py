"""The renewal: one commit opens the invoice of a period, or finds that another did (section 10).

The invoice is the anchor. It, its number, its lines and the step of its subscription to the next
period are one statement, so that no half of them is ever left behind.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from anchorhold.domain.ids import NOTICE, InvoiceId, SubscriptionId
from anchorhold.domain.period import Period
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import Due, Line
from anchorhold.store.db import Db, only
from anchorhold.store.views_subscriptions import COLUMNS, SubscriptionView

LEASE_S = 60.0
"""At the default times; a process passes its own."""

# An array, because the planner takes a tenth of all for what LIMIT lets through.
_LEASE = """
    WITH picked AS MATERIALIZED (
        SELECT s.id
          FROM anchorhold.subscription s
         WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
           AND s.look_at <= (SELECT anchorhold.now())
         ORDER BY s.look_at
         LIMIT %(limit)s
           FOR UPDATE SKIP LOCKED
    ), s AS (
        UPDATE anchorhold.subscription s
           SET look_at = anchorhold.now() + make_interval(secs => %(lease_s)s)
         WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
           AND s.id = ANY(ARRAY(SELECT p.id FROM picked p))
        RETURNING s.*
    )
"""
_LEASED = """
      FROM s
     ORDER BY s.next_at, s.id
"""


async def take_due(
    db: Db, scope: Scope, *, limit: int, lease_s: float = LEASE_S
) -> list[SubscriptionView]:
    """Up to `limit` subscriptions on which something is due, oldest first, leased to the caller.

    Whoever dies with them leaves them to the next pass after `lease_s` seconds. The lease only
    shares them out: who bills a period is decided by `bill`.
    """
    return await db.all(
        _LEASE + COLUMNS + _LEASED,
        SubscriptionView,
        **scope.params,
        limit=limit,
        lease_s=lease_s,
    )


@dataclass(frozen=True, slots=True)
class Bill:
    """One period to bill, and what comes next; amounts in minor units.

    `behind`: more is due than is billed without a person's word, so it is paused after this one.
    """

    invoice_id: InvoiceId
    reference: str
    at: datetime
    period: Period
    lines: Sequence[Line]
    due_at: datetime
    then: Due
    behind: bool = False

    @property
    def amount(self) -> int:
        """What the invoice is of."""
        return sum(line.amount for line in self.lines)


@dataclass(frozen=True, slots=True)
class Billed:
    """A period that this call billed; without an invoice, its anchor was there before."""

    subscription_id: SubscriptionId
    invoice_id: InvoiceId | None
    number: int | None


_BILL = """
WITH renewed AS (
    UPDATE anchorhold.subscription s
       SET next_number = %(then_number)s, next_at = %(then_at)s,
           status = CASE WHEN %(behind)s THEN 'paused' ELSE s.status END,
           pause_reason = CASE WHEN %(behind)s THEN 'behind' END,
           look_at = CASE WHEN %(behind)s THEN NULL
                          WHEN %(then_at)s <= anchorhold.now() THEN s.look_at
                          ELSE %(then_at)s END
     WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
       AND s.id = %(subscription_id)s AND s.status = 'active'
       AND s.next_number = %(number)s AND s.next_at = %(at)s AND s.next_at <= anchorhold.now()
       AND s.ends_at IS NOT DISTINCT FROM %(ends_at)s::timestamptz
    RETURNING s.account_id, s.livemode, s.id, s.customer_id, s.currency, s.collection
), counted AS (
    INSERT INTO anchorhold.invoice_number AS n (account_id, livemode, last)
    SELECT r.account_id, r.livemode, 1
      FROM renewed r
     WHERE NOT EXISTS (SELECT FROM anchorhold.invoice i
                        WHERE i.account_id = r.account_id AND i.livemode = r.livemode
                          AND i.subscription_id = r.id AND i.period_start = %(period_start)s)
    ON CONFLICT (account_id, livemode) DO UPDATE SET last = n.last + 1
    RETURNING n.last
), opened AS (
    INSERT INTO anchorhold.invoice
           (account_id, livemode, id, customer_id, reference, currency, amount_due, status,
            collection, due_at, next_attempt_at, number, subscription_id, period_start, period_end)
    SELECT r.account_id, r.livemode, %(invoice_id)s, r.customer_id, %(reference)s, r.currency,
           %(amount)s, 'open', r.collection, %(due_at)s, %(due_at)s, c.last, r.id,
           %(period_start)s, %(period_end)s
      FROM renewed r
     CROSS JOIN counted c
    RETURNING account_id, livemode, id, number, subscription_id
), lined AS (
    INSERT INTO anchorhold.invoice_line
           (account_id, livemode, invoice_id, n, price_id, description, quantity, amount)
    SELECT o.account_id, o.livemode, o.id, row_number() OVER (ORDER BY l.description), l.price_id,
           l.description, l.quantity, l.amount
      FROM opened o
     CROSS JOIN jsonb_to_recordset(%(lines)s)
           AS l (price_id text, description text, quantity int, amount bigint)
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT account_id, livemode, id, %(actor)s, 'invoice.opened',
           jsonb_build_object('reference', %(reference)s::text, 'number', number,
                              'subscription_id', subscription_id)
      FROM opened
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT account_id, livemode, %(notice_id)s, 'renewal.behind', id, subscription_id,
           jsonb_build_object('subscription_id', subscription_id,
                              'next_at', %(then_at)s::timestamptz)
      FROM opened
     WHERE %(behind)s
    ON CONFLICT DO NOTHING
), entered AS (
    INSERT INTO anchorhold.subscription_entry
           (account_id, livemode, subscription_id, actor, what, detail)
    SELECT account_id, livemode, id, %(actor)s, 'subscription.behind',
           jsonb_build_object('next_at', %(then_at)s::timestamptz)
      FROM renewed
     WHERE %(behind)s
)
SELECT r.id AS subscription_id, o.id AS invoice_id, o.number
  FROM renewed r
  LEFT JOIN opened o ON o.account_id = r.account_id AND o.livemode = r.livemode
"""


async def bill(
    db: Db, scope: Scope, seen: SubscriptionView, bill: Bill, *, actor: str
) -> Billed | None:
    """The period's invoice is open, with the next number, and the subscription stands behind it.

    None: another pass billed it, it is not due, or the subscription is not as it was seen; then
    nothing is written and no number is used up.
    """
    return await db.one(
        _BILL,
        Billed,
        **scope.params,
        subscription_id=seen.id,
        number=bill.period.number,
        at=bill.at,
        ends_at=seen.ends_at,
        then_number=bill.then.number,
        then_at=bill.then.at,
        behind=bill.behind,
        invoice_id=bill.invoice_id,
        reference=bill.reference,
        amount=bill.amount,
        due_at=bill.due_at,
        period_start=bill.period.start,
        period_end=bill.period.end,
        lines=Jsonb([asdict(line) for line in bill.lines]),
        notice_id=only(db.new_ids(NOTICE, 1)),
        actor=actor,
    )


async def end(db: Db, scope: Scope, seen: SubscriptionView, due: Due, *, actor: str) -> str | None:
    """The subscription has ended; None: its end is not reached, or is another one by now."""
    return await db.one(
        """
        WITH ended AS (
            UPDATE anchorhold.subscription s
               SET status = 'canceled', canceled_at = anchorhold.now(), next_at = NULL,
                   look_at = NULL
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.id = %(subscription_id)s AND s.status = 'active'
               AND s.next_number = %(next_number)s AND s.ends_at = %(ends_at)s
               AND s.next_at <= anchorhold.now()
            RETURNING s.account_id, s.livemode, s.id
        ), entered AS (
            INSERT INTO anchorhold.subscription_entry
                   (account_id, livemode, subscription_id, actor, what)
            SELECT account_id, livemode, id, %(actor)s, 'subscription.ended'
              FROM ended
        )
        SELECT id FROM ended
        """,
        str,
        **scope.params,
        subscription_id=seen.id,
        next_number=due.number,
        ends_at=due.at,
        actor=actor,
    )
