"""A customer's credit balance: given here, spent by the close that settles an invoice with it."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import CREDIT, CreditId, CustomerId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only


async def give(
    db: Db,
    scope: Scope,
    customer_id: CustomerId,
    *,
    amount: int,
    currency: str,
    reason: str,
    actor: str,
) -> int | None:
    """The customer has so much more credit, told by an entry; the balance, in minor units.

    None: there is no such customer. Two at once wait for each other, and both count.
    """
    return await db.one(
        """
        WITH given AS (
            INSERT INTO anchorhold.credit_balance AS b
                   (account_id, livemode, customer_id, currency, balance)
            SELECT c.account_id, c.livemode, c.id, %(currency)s, %(amount)s
              FROM anchorhold.customer c
             WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
               AND c.id = %(customer_id)s
            ON CONFLICT (account_id, livemode, customer_id, currency)
            DO UPDATE SET balance = b.balance + excluded.balance
            RETURNING account_id, livemode, customer_id, currency, balance
        ), entered AS (
            INSERT INTO anchorhold.credit_entry
                   (account_id, livemode, id, customer_id, currency, amount, balance, reason,
                    actor)
            SELECT account_id, livemode, %(entry_id)s, customer_id, currency, %(amount)s, balance,
                   %(reason)s, %(actor)s
              FROM given
        )
        SELECT balance FROM given
        """,
        int,
        **scope.params,
        customer_id=customer_id,
        amount=amount,
        currency=currency,
        reason=reason,
        entry_id=only(db.new_ids(CREDIT, 1)),
        actor=actor,
    )


@dataclass(frozen=True, slots=True)
class Balance:
    """A customer's credit in one currency, minor units."""

    currency: str
    balance: int


async def balances(db: Db, scope: Scope, customer_id: CustomerId) -> list[Balance]:
    """The customer's credit, a row for each currency that there ever was credit in."""
    return await db.all(
        """
        SELECT currency, balance
          FROM anchorhold.credit_balance
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND customer_id = %(customer_id)s
         ORDER BY currency
        """,
        Balance,
        **scope.params,
        customer_id=customer_id,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of a balance: above zero it was given, below it was applied to `invoice_id`."""

    id: CreditId
    currency: str
    amount: int
    balance: int
    invoice_id: InvoiceId | None
    reason: str
    actor: str
    created_at: datetime


async def entries(db: Db, scope: Scope, customer_id: CustomerId, *, limit: int) -> list[Entry]:
    """The newest `limit` changes of the customer's credit, newest first."""
    return await db.all(
        """
        SELECT id, currency, amount, balance, invoice_id, reason, actor, created_at
          FROM anchorhold.credit_entry
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND customer_id = %(customer_id)s
         ORDER BY id DESC
         LIMIT %(limit)s
        """,
        Entry,
        **scope.params,
        customer_id=customer_id,
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class Payable:
    """An invoice that needs no charge: nothing is due, or its customer's credit covers it."""

    invoice_id: InvoiceId
    nothing_due: bool


_COVERED = """
    SELECT i.id AS invoice_id, false AS nothing_due
      FROM anchorhold.credit_balance b
      JOIN anchorhold.invoice i
        ON i.account_id = b.account_id AND i.livemode = b.livemode
       AND i.customer_id = b.customer_id AND i.currency = b.currency
     WHERE b.account_id = %(account_id)s AND b.livemode = %(livemode)s AND b.balance > 0
       AND i.status = 'open' AND i.hold_until IS NULL AND i.amount_due > i.amount_paid
       AND b.balance >= i.amount_due - i.amount_paid
"""

_DUE = """
       AND i.payment_status = 'pending' AND i.collection = 'auto'
       AND i.next_attempt_at <= (SELECT anchorhold.now())
"""

_NOTHING_DUE = """
     UNION ALL
    SELECT i.id, true
      FROM anchorhold.invoice i
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.status = 'open' AND i.hold_until IS NULL AND i.amount_due <= i.amount_paid
       AND i.next_attempt_at <= (SELECT anchorhold.now())
     ORDER BY 1
     LIMIT %(limit)s
"""


async def without_stripe(db: Db, scope: Scope, *, limit: int) -> list[Payable]:
    """Up to `limit` due invoices that need no charge; nothing is taken: each close claims its own.

    Only where an automatic charge would be made (protocol section 3, steps 1 and 2).
    """
    return await db.all(
        _COVERED + _DUE + _NOTHING_DUE,
        Payable,
        **scope.params,
        limit=limit,
    )


async def covers(db: Db, scope: Scope, invoice_id: InvoiceId) -> bool:
    """The customer's credit covers all that is due on this open, free invoice."""
    found = await db.one(
        _COVERED + " AND i.id = %(invoice_id)s",
        Payable,
        **scope.params,
        invoice_id=invoice_id,
    )
    return found is not None
