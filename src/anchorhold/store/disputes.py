"""Disputes: what the bank's word does to a payment and its invoice (protocol section 8)."""

from anchorhold.domain.disputes import Dispute, DisputeView, Row
from anchorhold.domain.ids import NOTICE
from anchorhold.domain.refund import Refundable
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only

_RECORD = """
WITH inv AS MATERIALIZED (
    SELECT i.*
      FROM anchorhold.invoice i
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s AND i.id = %(invoice_id)s
       FOR UPDATE
), pay AS MATERIALIZED (
    SELECT p.*
      FROM anchorhold.payment p
      JOIN inv ON inv.account_id = p.account_id AND inv.livemode = p.livemode
              AND inv.id = p.invoice_id
     WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
       AND p.id = %(payment_id)s AND p.dispute IS DISTINCT FROM 'lost'
       AND (p.dispute, p.dispute_id) IS DISTINCT FROM (%(dispute)s, %(dispute_id)s)
       FOR UPDATE OF p
), disputed AS (
    UPDATE anchorhold.payment p
       SET dispute = %(dispute)s, dispute_id = %(dispute_id)s,
           amount_applied = CASE WHEN %(dispute)s = 'lost' THEN 0 ELSE p.amount_applied END
      FROM pay
     WHERE p.account_id = pay.account_id AND p.livemode = pay.livemode AND p.id = pay.id
    RETURNING p.account_id, p.livemode, p.id, p.invoice_id, p.dispute,
              pay.amount_applied AS was_applied
), owed AS (
    UPDATE anchorhold.invoice i
       SET amount_paid = i.amount_paid - d.was_applied,
           status = CASE WHEN i.status = 'paid' THEN 'open' ELSE i.status END,
           paid_at = NULL,
           payment_status = CASE WHEN i.payment_status IN ('succeeded', 'pending') THEN 'failed'
                                 ELSE i.payment_status END,
           collection = 'manual'
      FROM disputed d
     WHERE i.account_id = d.account_id AND i.livemode = d.livemode AND i.id = d.invoice_id
       AND d.dispute = 'lost' AND d.was_applied > 0
    RETURNING i.id
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT account_id, livemode, %(notice_id)s, %(notice)s, invoice_id, %(dispute_id)s,
           jsonb_build_object(
               'payment_id', id, 'dispute_id', %(dispute_id)s::text, 'status', %(status)s::text,
               'reason', %(reason)s::text, 'amount', %(amount)s::bigint,
               'currency', %(currency)s::text, 'stripe_intent_id', %(intent_id)s::text)
      FROM disputed
     WHERE %(notice)s::text IS NOT NULL
    ON CONFLICT DO NOTHING
), resolved AS (
    UPDATE anchorhold.notice n
       SET resolved_at = anchorhold.now(), resolved_by = %(actor)s,
           resolution = 'the dispute ended: ' || d.dispute
      FROM disputed d
     WHERE n.account_id = d.account_id AND n.livemode = d.livemode
       AND n.invoice_id = d.invoice_id AND n.code = 'payment.disputed'
       AND n.subject = %(dispute_id)s AND n.resolved_at IS NULL
       AND d.dispute IN ('won', 'lost', 'closed')
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, rule, detail)
    SELECT account_id, livemode, invoice_id, %(actor)s, 'dispute.' || dispute, %(rule)s,
           jsonb_build_object('payment_id', id, 'dispute_id', %(dispute_id)s::text,
                              'amount', %(amount)s::bigint, 'currency', %(currency)s::text,
                              'reason', %(reason)s::text)
      FROM disputed
)
SELECT dispute FROM disputed
"""


async def record(
    db: Db, scope: Scope, payment: Refundable, dispute: DisputeView, row: Row, *, actor: str
) -> Dispute | None:
    """The payment says how its dispute stands; None when it said so before, or is lost for good.

    A lost one takes back what the payment counted towards the invoice: that is open again, failed,
    and only a person or the customer collects it. No hold is touched.
    """
    return await db.one(
        _RECORD,
        Dispute,
        **scope.params,
        invoice_id=payment.invoice_id,
        payment_id=payment.payment_id,
        intent_id=payment.intent_id,
        dispute=row.means,
        dispute_id=dispute.id,
        status=dispute.status,
        reason=dispute.reason,
        amount=dispute.amount,
        currency=dispute.currency,
        notice=row.notice,
        notice_id=only(db.new_ids(NOTICE, 1)),
        rule=row.id,
        actor=actor,
    )
