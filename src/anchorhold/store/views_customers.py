"""Customers as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AccountId, CustomerId
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class CustomerView:
    """A customer, and what it is at the connected Stripe account.

    `requested_method` is what the user gave; `payment_method` is attached and can be charged.
    """

    id: CustomerId
    account_id: AccountId
    livemode: bool
    reference: str
    email: str | None
    requested_method: str | None
    payment_method: str | None
    stripe_customer_id: str | None
    refused_code: str | None
    refused_message: str | None
    open_invoices: int
    created_at: datetime


_SELECT = """
        SELECT c.id, c.account_id, c.livemode, c.reference, c.email,
               coalesce(s.requested_method, c.payment_method) AS requested_method,
               s.payment_method, s.stripe_customer_id, s.refused_code, s.refused_message,
               (SELECT count(*) FROM anchorhold.invoice i
                 WHERE i.account_id = c.account_id AND i.livemode = c.livemode
                   AND i.customer_id = c.id AND i.status = 'open') AS open_invoices,
               c.created_at
          FROM anchorhold.customer c
          LEFT JOIN anchorhold.connection k USING (account_id, livemode)
          LEFT JOIN anchorhold.stripe_customer s
            ON s.account_id = c.account_id AND s.livemode = c.livemode
           AND s.customer_id = c.id AND s.stripe_account = k.stripe_account
         WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
"""


async def page(db: Db, scope: Scope, *, after: str | None, limit: int) -> list[CustomerView]:
    """Up to `limit` customers, newest first, from behind the id `after`."""
    return await db.all(
        _SELECT + given((after, " AND c.id < %(after)s")) + " ORDER BY c.id DESC LIMIT %(limit)s",
        CustomerView,
        **scope.params,
        after=after,
        limit=limit,
    )


async def count(db: Db, scope: Scope) -> int:
    """How many customers there are."""
    found = await db.one(
        """
        SELECT count(*)
          FROM anchorhold.customer
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
        """,
        int,
        **scope.params,
    )
    return found or 0


_NAMED = """
   AND c.id IN (
       SELECT %(name)s
        UNION ALL
       SELECT n.id FROM anchorhold.customer n
        WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
          AND n.reference = %(name)s
        UNION ALL
       SELECT n.customer_id FROM anchorhold.stripe_customer n
         JOIN anchorhold.connection USING (account_id, livemode, stripe_account)
        WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
          AND n.stripe_customer_id = %(name)s)
 ORDER BY c.id = %(name)s DESC, c.reference = %(name)s DESC
 LIMIT 1
"""


async def one(db: Db, scope: Scope, name: str) -> CustomerView | None:
    """The customer with this id, this reference of the user's or this Stripe id, or None."""
    return await db.one(
        _SELECT + _NAMED,
        CustomerView,
        **scope.params,
        name=name,
    )
