"""Refunds as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import InvoiceId, PaymentId, RefundId
from anchorhold.domain.refund import RefundState
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class RefundRowView:
    """Money given back, or asked to be; the amount in minor units."""

    id: RefundId
    payment_id: PaymentId
    invoice_id: InvoiceId
    stripe_refund_id: str | None
    amount: int
    currency: str
    state: RefundState
    actor: str
    reason: str
    error: str | None
    created_at: datetime
    ended_at: datetime | None


async def one(db: Db, scope: Scope, refund_id: RefundId) -> RefundRowView | None:
    """The refund of this id, or None."""
    return await db.one(
        """
        SELECT r.id, r.payment_id, r.invoice_id, r.stripe_refund_id, r.amount, r.currency,
               r.state, r.actor, r.reason, r.error, r.created_at, r.ended_at
          FROM anchorhold.refund r
         WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
           AND r.id = %(refund_id)s
        """,
        RefundRowView,
        **scope.params,
        refund_id=refund_id,
    )


async def of_payment(db: Db, scope: Scope, payment_id: PaymentId) -> list[RefundRowView]:
    """All refunds of a payment, oldest first."""
    return await db.all(
        """
        SELECT r.id, r.payment_id, r.invoice_id, r.stripe_refund_id, r.amount, r.currency,
               r.state, r.actor, r.reason, r.error, r.created_at, r.ended_at
          FROM anchorhold.refund r
         WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
           AND r.payment_id = %(payment_id)s
         ORDER BY r.id
        """,
        RefundRowView,
        **scope.params,
        payment_id=payment_id,
    )
