"""Customers, and what they are at the connected Stripe account."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.types.json import Json

from anchorhold.domain.ids import NOTICE, CustomerId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db, only

LEASE_S = 60.0
"""At the default times; a process passes its own."""


@dataclass(frozen=True, slots=True)
class Unready:
    """A customer that Stripe does not fully know yet, leased to the caller.

    `params` are sent verbatim. `requested_method` is what the user gave us.
    """

    customer_id: CustomerId
    stripe_account: str
    params: dict[str, object]
    stripe_customer_id: str | None
    requested_method: str | None
    key_number: int


async def create(
    db: Db,
    scope: Scope,
    customer_id: CustomerId,
    *,
    reference: str,
    email: str | None,
    payment_method: str | None,
) -> CustomerId | None:
    """The customer is known under this reference; None when somebody has it or the id."""
    row = await db.one(
        """
        INSERT INTO anchorhold.customer
               (account_id, livemode, id, reference, email, payment_method)
        VALUES (%(account_id)s, %(livemode)s, %(customer_id)s, %(reference)s, %(email)s,
                %(payment_method)s)
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        customer_id=customer_id,
        reference=reference,
        email=email,
        payment_method=payment_method,
    )
    return CustomerId(row) if row else None


async def begin(
    db: Db,
    scope: Scope,
    customer_id: CustomerId,
    *,
    params: dict[str, object],
    stripe_customer_id: str | None,
    payment_method: str | None,
) -> str | None:
    """The customer has a row for the connected Stripe account; None when it had one before."""
    return await db.one(
        """
        INSERT INTO anchorhold.stripe_customer
               (account_id, livemode, customer_id, stripe_account, params, stripe_customer_id,
                requested_method)
        SELECT c.account_id, c.livemode, %(customer_id)s, c.stripe_account, %(params)s,
               %(stripe_customer_id)s, %(payment_method)s
          FROM anchorhold.connection c
         WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
        ON CONFLICT DO NOTHING
        RETURNING customer_id
        """,
        str,
        **scope.params,
        customer_id=customer_id,
        params=Json(params),
        stripe_customer_id=stripe_customer_id,
        payment_method=payment_method,
    )


_BEGIN_ALL = """
WITH begun AS (
    INSERT INTO anchorhold.stripe_customer
           (account_id, livemode, customer_id, stripe_account, params,
            stripe_customer_id, requested_method)
    SELECT c.account_id, c.livemode, c.id, k.stripe_account,
           json_strip_nulls(json_build_object(
               'email', c.email,
               'metadata', json_build_object('anchorhold_account_id', c.account_id,
                                             'anchorhold_customer_id', c.id))),
           CASE WHEN c.reference ~ '^cus_[A-Za-z0-9]+$' THEN c.reference END,
           c.payment_method
      FROM anchorhold.customer c
      JOIN anchorhold.connection k USING (account_id, livemode)
     WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
"""

# In one order, so that two at once do not wait for each other.
_BEGUN = """
     ORDER BY c.id
    ON CONFLICT DO NOTHING
    RETURNING customer_id
)
SELECT count(*) FROM begun
"""


async def begin_all(db: Db, scope: Scope, customer_ids: Sequence[CustomerId] | None = None) -> int:
    """These customers have a row for the connected Stripe account, or all; how many are new.

    One whose reference is a Stripe id (`cus_…`) is that customer; Stripe is asked for the others.
    Nothing happens while the mode is not connected: connecting it asks again.
    """
    begun = await db.one(
        _BEGIN_ALL + given((customer_ids, " AND c.id = ANY(%(customer_ids)s)")) + _BEGUN,
        int,
        **scope.params,
        customer_ids=None if customer_ids is None else list(customer_ids),
    )
    return begun or 0


async def take_unready(
    db: Db,
    scope: Scope,
    *,
    limit: int,
    invoice_id: InvoiceId | None = None,
    lease_s: float = LEASE_S,
) -> list[Unready]:
    """Up to `limit` customers without a Stripe id or payment method are leased for a minute.

    With `invoice_id` only the customer of that invoice.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT s.account_id, s.livemode, s.customer_id, s.stripe_account
              FROM anchorhold.stripe_customer s
              JOIN anchorhold.connection c USING (account_id, livemode, stripe_account)
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.payment_method IS NULL AND s.refused_code IS NULL
               AND (s.stripe_customer_id IS NULL OR s.requested_method IS NOT NULL)
               AND s.look_at <= (SELECT anchorhold.now()) AND c.refused_at IS NULL
               AND (%(invoice_id)s::text IS NULL OR s.customer_id = (
                    SELECT i.customer_id FROM anchorhold.invoice i
                     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
                       AND i.id = %(invoice_id)s))
             ORDER BY s.look_at
             LIMIT %(limit)s
               FOR UPDATE OF s SKIP LOCKED
        )
        UPDATE anchorhold.stripe_customer s
           SET look_at = anchorhold.now() + make_interval(secs => %(lease_s)s)
          FROM picked p
         WHERE s.account_id = p.account_id AND s.livemode = p.livemode
           AND s.customer_id = p.customer_id AND s.stripe_account = p.stripe_account
        RETURNING s.customer_id, s.stripe_account, s.params, s.stripe_customer_id,
                  s.requested_method, s.key_number
        """,
        Unready,
        **scope.params,
        invoice_id=invoice_id,
        limit=limit,
        lease_s=lease_s,
    )


async def set_stripe_customer(
    db: Db, scope: Scope, customer: Unready, stripe_customer_id: str
) -> str | None:
    """The customer's Stripe id is set, once and for ever; None when it was set before."""
    return await db.one(
        """
        UPDATE anchorhold.stripe_customer
           SET stripe_customer_id = %(stripe_customer_id)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND customer_id = %(customer_id)s AND stripe_account = %(stripe_account)s
           AND stripe_customer_id IS NULL
        RETURNING stripe_customer_id
        """,
        str,
        **scope.params,
        customer_id=customer.customer_id,
        stripe_account=customer.stripe_account,
        stripe_customer_id=stripe_customer_id,
    )


async def set_payment_method(
    db: Db, scope: Scope, customer: Unready, payment_method: str
) -> str | None:
    """The customer can be charged with this payment method; None when another request moved on.

    Compared with the method that was asked for, so that a late answer never overwrites a newer.
    """
    return await db.one(
        """
        UPDATE anchorhold.stripe_customer
           SET payment_method = %(payment_method)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND customer_id = %(customer_id)s AND stripe_account = %(stripe_account)s
           AND requested_method = %(requested_method)s AND payment_method IS NULL
        RETURNING payment_method
        """,
        str,
        **scope.params,
        customer_id=customer.customer_id,
        stripe_account=customer.stripe_account,
        requested_method=customer.requested_method,
        payment_method=payment_method,
    )


async def spend_key(db: Db, scope: Scope, customer: Unready) -> int | None:
    """The next request for the customer has a new key: a saved 500 is replayed under the old one.

    None when another worker was first. What the old key made at Stripe holds no money.
    """
    return await db.one(
        """
        UPDATE anchorhold.stripe_customer
           SET key_number = key_number + 1, look_at = anchorhold.now()
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND customer_id = %(customer_id)s AND stripe_account = %(stripe_account)s
           AND key_number = %(key_number)s
        RETURNING key_number
        """,
        int,
        **scope.params,
        customer_id=customer.customer_id,
        stripe_account=customer.stripe_account,
        key_number=customer.key_number,
    )


async def refuse(
    db: Db, scope: Scope, customer: Unready, *, code: str, message: str, actor: str
) -> str | None:
    """Stripe refused the customer or its payment method: its open invoices are blocked.

    One commit with a journal row for each invoice; a new payment method lifts it. The notices' ids
    have the time of now and the rest of their invoices', so that another refusal is another one.
    """
    return await db.one(
        """
        WITH refused AS (
            UPDATE anchorhold.stripe_customer
               SET refused_code = %(code)s, refused_message = %(message)s
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND customer_id = %(customer_id)s AND stripe_account = %(stripe_account)s
               AND payment_method IS NULL AND refused_code IS NULL
            RETURNING account_id, livemode, customer_id
        ), blocked AS (
            UPDATE anchorhold.invoice i
               SET blocked_reason = 'setup', payment_status = 'failed',
                   last_error = jsonb_build_object('code', %(code)s::text,
                                                   'message', %(message)s::text)
              FROM refused r
             WHERE i.account_id = r.account_id AND i.livemode = r.livemode
               AND i.customer_id = r.customer_id AND i.status = 'open'
               AND i.hold_until IS NULL AND i.payment_status IN ('pending', 'failed')
            RETURNING i.account_id, i.livemode, i.id, i.last_error
        ), noticed AS (
            INSERT INTO anchorhold.notice
                   (account_id, livemode, id, code, invoice_id, subject, evidence)
            SELECT account_id, livemode, left(%(notice_id)s, 14) || substr(id, 15),
                   'collection.blocked', id, %(code)s, last_error
              FROM blocked
            ON CONFLICT DO NOTHING
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, id, %(actor)s, 'collection.blocked', last_error
              FROM blocked
        )
        SELECT customer_id FROM refused
        """,
        str,
        **scope.params,
        customer_id=customer.customer_id,
        stripe_account=customer.stripe_account,
        notice_id=only(db.new_ids(NOTICE, 1)),
        code=code,
        message=message,
        actor=actor,
    )
