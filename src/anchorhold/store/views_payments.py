"""Payments as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.disputes import Dispute
from anchorhold.domain.ids import AccountId, AttemptId, InvoiceId, PaymentId
from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class PaymentView:
    """One success at Stripe, recorded once; amounts in minor units."""

    id: PaymentId
    account_id: AccountId
    livemode: bool
    invoice_id: InvoiceId
    attempt_id: AttemptId | None
    intent_id: str | None
    stripe_account: str | None
    charge_id: str | None
    amount: int
    amount_refunded: int
    currency: str
    source: Source
    dispute: Dispute | None
    dispute_id: str | None
    elsewhere: str | None
    created_at: datetime


_PAGE = """
SELECT p.id, p.account_id, p.livemode, p.invoice_id, p.attempt_id,
       p.stripe_intent_id AS intent_id, p.stripe_account, p.charge_id, p.amount,
       p.amount_refunded, p.currency, p.source, p.dispute, p.dispute_id, p.elsewhere,
       p.created_at
  FROM anchorhold.payment p
 WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
"""


async def page(
    db: Db, scope: Scope, *, invoice_id: InvoiceId | None, after: str | None, limit: int
) -> list[PaymentView]:
    """Up to `limit` payments, newest first, from behind the id `after`."""
    return await db.all(
        _PAGE
        + given(
            (invoice_id, " AND p.invoice_id = %(invoice_id)s"),
            (after, " AND p.id < %(after)s"),
        )
        + " ORDER BY p.id DESC LIMIT %(limit)s",
        PaymentView,
        **scope.params,
        invoice_id=invoice_id,
        after=after,
        limit=limit,
    )


async def one(db: Db, scope: Scope, name: str) -> PaymentView | None:
    """The payment of this id, or of this PaymentIntent; None when there is none."""
    return await db.one(
        _PAGE + " AND (p.id = %(name)s OR p.stripe_intent_id = %(name)s)",
        PaymentView,
        **scope.params,
        name=name,
    )


_COUNT = """
SELECT count(*)
  FROM anchorhold.payment p
 WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
"""


async def count(db: Db, scope: Scope, *, invoice_id: InvoiceId | None) -> int:
    """How many payments the filter fits."""
    found = await db.one(
        _COUNT + given((invoice_id, " AND p.invoice_id = %(invoice_id)s")),
        int,
        **scope.params,
        invoice_id=invoice_id,
    )
    return found or 0
