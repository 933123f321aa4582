"""The final writes of a close: an invoice ends, or another amount is due (protocol sections 2, 5).

Each is one statement, so one transaction, and compares the whole token, the attempt's state, the
invoice's status and what is due.
"""

from anchorhold.domain.attempt import Cause
from anchorhold.domain.closing import Ending, Held
from anchorhold.domain.ids import CREDIT, PAYMENT
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.store.db import Db, only
from anchorhold.store.own_hold import AS_OWN, DONE, LOCKED, SAME_DUE

_SPEND = """
, spent AS (
    UPDATE anchorhold.credit_balance b
       SET balance = b.balance - inv.remaining
      FROM inv
     WHERE b.account_id = inv.account_id AND b.livemode = inv.livemode
       AND b.customer_id = inv.customer_id AND b.currency = inv.currency
       AND b.balance >= inv.remaining AND inv.remaining > 0 AND %(source)s = 'credit'
    RETURNING b.account_id, b.livemode, b.balance
), own AS MATERIALIZED (
    SELECT * FROM inv
     WHERE %(source)s IS DISTINCT FROM 'credit' OR EXISTS (SELECT FROM spent)
), entered AS (
    INSERT INTO anchorhold.credit_entry
           (account_id, livemode, id, customer_id, currency, amount, balance, invoice_id, reason,
            actor)
    SELECT own.account_id, own.livemode, %(entry_id)s, own.customer_id, own.currency,
           -own.remaining, s.balance, own.id, %(reason)s, %(actor)s
      FROM own JOIN spent s USING (account_id, livemode)
)
"""

_PAY_AND_CLOSE = """
, paid AS (
    INSERT INTO anchorhold.payment
           (account_id, livemode, id, invoice_id, amount, amount_applied, currency, source,
            elsewhere)
    SELECT account_id, livemode, %(payment_id)s, id, remaining, remaining, currency, %(source)s,
           %(reference)s
      FROM own
     WHERE %(source)s::text IS NOT NULL AND remaining > 0
), closed AS (
    UPDATE anchorhold.invoice i
       SET status = %(status)s,
           payment_status = CASE WHEN %(status)s = 'paid' THEN 'succeeded'
                                 ELSE i.payment_status END,
           paid_at = CASE WHEN %(status)s = 'paid' THEN anchorhold.now() END,
           amount_paid = CASE WHEN %(status)s = 'paid' THEN i.amount_due ELSE i.amount_paid END,
           closed_at = anchorhold.now(), close_reason = %(reason)s,
           last_error = CASE WHEN %(status)s = 'paid' THEN NULL ELSE i.last_error END,
           blocked_reason = NULL, intent_id = NULL, hold_until = NULL, hold_attempt = NULL,
           check_until = NULL
      FROM own
     WHERE i.account_id = own.account_id AND i.livemode = own.livemode AND i.id = own.id
    RETURNING i.account_id, i.livemode, i.id, i.status, i.currency, own.remaining
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'invoice.' || %(act)s, %(rule)s, %(attempt_id)s,
           jsonb_strip_nulls(jsonb_build_object(
               'reason', %(reason)s::text, 'reference', %(reference)s::text,
               'amount', remaining, 'currency', currency))
      FROM closed
)
SELECT status FROM closed
"""


async def finish(
    db: Db, held: Held, ending: Ending, *, rule: str, actor: str
) -> InvoiceStatus | None:
    """The held invoice has ended as `ending` says and is released, or nothing changed (None).

    Its intent, if it had one, was cancelled at Stripe before. A payment without Stripe has its own
    row; by credit the balance is less by as much, in the same commit, or nothing is written.
    """
    return await db.one(
        LOCKED + SAME_DUE + AS_OWN + _SPEND + DONE + _PAY_AND_CLOSE,
        InvoiceStatus,
        **held.token.params,
        remaining=held.remaining,
        statuses=[InvoiceStatus.OPEN],
        cause=Cause.DONE,
        canceled=True,
        act=ending.act,
        status=ending.status,
        reason=ending.reason,
        source=ending.source,
        reference=ending.reference,
        payment_id=only(db.new_ids(PAYMENT, 1)),
        entry_id=only(db.new_ids(CREDIT, 1)),
        rule=rule,
        actor=actor,
    )


_NOT_BELOW_PAID = """
, own AS MATERIALIZED (SELECT * FROM inv WHERE amount_paid <= %(amount_due)s)
"""

_CHANGE = """
, amended AS (
    UPDATE anchorhold.invoice i
       SET amount_due = %(amount_due)s,
           status = CASE WHEN %(amount_due)s = i.amount_paid THEN 'paid' ELSE i.status END,
           payment_status = CASE WHEN %(amount_due)s = i.amount_paid THEN 'succeeded'
                                 WHEN i.blocked_reason = 'setup' THEN 'pending'
                                 ELSE i.payment_status END,
           paid_at = CASE WHEN %(amount_due)s = i.amount_paid THEN anchorhold.now() END,
           closed_at = CASE WHEN %(amount_due)s = i.amount_paid THEN anchorhold.now() END,
           close_reason = CASE WHEN %(amount_due)s = i.amount_paid THEN %(reason)s END,
           blocked_reason = nullif(i.blocked_reason, 'setup'),
           last_error = CASE WHEN i.blocked_reason = 'setup' THEN NULL ELSE i.last_error END,
           intent_id = NULL, hold_until = NULL, hold_attempt = NULL, check_until = NULL,
           prepare_at = anchorhold.now()
      FROM own
     WHERE i.account_id = own.account_id AND i.livemode = own.livemode AND i.id = own.id
    RETURNING i.account_id, i.livemode, i.id, i.status, i.currency, i.amount_due,
              own.amount_due AS amount_before
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'invoice.amended', %(rule)s, %(attempt_id)s,
           jsonb_build_object('reason', %(reason)s::text, 'amount', amount_due,
                              'amount_before', amount_before, 'currency', currency)
      FROM amended
)
SELECT status FROM amended
"""


async def amend(
    db: Db, held: Held, *, amount_due: int, reason: str, rule: str, actor: str
) -> InvoiceStatus | None:
    """Another amount is due, in minor units, and the hold is released; nothing changed: None.

    Its intent was cancelled at Stripe before, so the next one is made for the new amount. When all
    of it was paid by then, the invoice is paid. A set-up fault is lifted: the amount has changed.
    """
    return await db.one(
        LOCKED + SAME_DUE + AS_OWN + _NOT_BELOW_PAID + DONE + _CHANGE,
        InvoiceStatus,
        **held.token.params,
        remaining=held.remaining,
        statuses=[InvoiceStatus.OPEN],
        cause=Cause.DONE,
        canceled=True,
        amount_due=amount_due,
        reason=reason,
        rule=rule,
        actor=actor,
    )
