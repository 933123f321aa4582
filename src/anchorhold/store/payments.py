"""Settling: one statement records a success, whoever brought the news (protocol section 8)."""

from anchorhold.domain.hold import Token
from anchorhold.domain.ids import NOTICE, PAYMENT, InvoiceId
from anchorhold.domain.payment import Settled, Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only

_SETTLE = """
WITH inv AS MATERIALIZED (
    SELECT i.*, coalesce(t.stripe_account, c.stripe_account) AS stripe_account,
           i.amount_due - i.amount_paid AS remaining
      FROM anchorhold.invoice i
      JOIN anchorhold.connection c USING (account_id, livemode)
      LEFT JOIN anchorhold.intent t
        ON t.account_id = i.account_id AND t.livemode = i.livemode
       AND t.stripe_intent_id = %(intent_id)s
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.id = %(invoice_id)s
       FOR UPDATE OF i
), paid AS (
    INSERT INTO anchorhold.payment
           (account_id, livemode, id, invoice_id, attempt_id, stripe_intent_id,
            stripe_account, charge_id, amount, amount_refunded, amount_applied, currency,
            source)
    SELECT account_id, livemode, %(payment_id)s, id, %(attempt_id)s, %(intent_id)s,
           stripe_account, %(charge_id)s, %(amount)s, %(amount_refunded)s,
           CASE WHEN status IN ('paid', 'void') OR currency <> %(currency)s
                     OR %(amount_refunded)s::bigint >= %(amount)s::bigint THEN 0
                ELSE least(%(amount)s::bigint, greatest(remaining, 0)) END,
           %(currency)s, %(source)s
      FROM inv
    ON CONFLICT (account_id, livemode, stripe_intent_id) DO NOTHING
    RETURNING id
), judged AS MATERIALIZED (
    SELECT inv.*, CASE
           WHEN NOT EXISTS (SELECT FROM paid) THEN 'known'
           WHEN %(amount_refunded)s >= %(amount)s THEN 'refunded'
           WHEN inv.status = 'void' THEN 'voided'
           WHEN inv.status = 'paid' THEN 'duplicate'
           WHEN inv.currency <> %(currency)s OR %(amount)s < inv.remaining THEN 'short'
           WHEN %(amount)s > inv.remaining THEN 'overpaid'
           ELSE 'paid' END AS verdict
      FROM inv
), proven AS (
    UPDATE anchorhold.attempt a
       SET (state, cause, charge_id) = (
               SELECT CASE WHEN made THEN 'succeeded' ELSE 'superseded' END,
                      CASE WHEN made THEN 'answered' ELSE 'intent_succeeded' END,
                      CASE WHEN made THEN %(charge_id)s ELSE a.charge_id END
                 FROM (SELECT a.sent_at IS NOT NULL AND a.id = coalesce(
                                  %(attempt_id)s, CASE a.state WHEN 'processing' THEN a.id END)
                      ) AS it (made)),
           rule = coalesce(%(rule)s, a.rule), ended_at = anchorhold.now(),
           intent_id = coalesce(a.intent_id, %(intent_id)s)
      FROM judged j
     WHERE a.account_id = j.account_id AND a.livemode = j.livemode
       AND a.invoice_id = j.id
       AND (a.intent_id = %(intent_id)s
            OR (a.intent_id IS NULL AND a.charge_mode = 'direct' AND a.id = %(attempt_id)s))
       AND a.kind IN ('auto', 'dunning', 'collect')
       AND (a.state IN ('claimed', 'sending', 'unknown', 'processing')
            OR (a.state IN ('superseded', 'presumed_none') AND a.id = %(attempt_id)s))
    RETURNING a.id, a.seq
), intent AS (
    UPDATE anchorhold.intent t
       SET state = 'succeeded', ended_at = anchorhold.now()
      FROM judged j
     WHERE t.account_id = j.account_id AND t.livemode = j.livemode
       AND t.stripe_intent_id = %(intent_id)s AND t.state = 'live'
), settled AS (
    UPDATE anchorhold.invoice i
       SET status = CASE WHEN j.verdict IN ('paid', 'overpaid') THEN 'paid'
                         ELSE i.status END,
           payment_status = CASE
               WHEN j.verdict IN ('paid', 'overpaid') THEN 'succeeded'
               WHEN i.status = 'paid' THEN i.payment_status
               WHEN j.verdict IN ('short', 'refunded', 'voided')
                    OR i.followed_intent_id = %(intent_id)s
                    OR (i.payment_status = 'unknown' AND i.intent_id = %(intent_id)s)
                   THEN 'failed'
               ELSE i.payment_status END,
           paid_at = CASE WHEN j.verdict IN ('paid', 'overpaid') THEN anchorhold.now()
                          ELSE i.paid_at END,
           amount_paid = i.amount_paid + CASE
               WHEN j.verdict IN ('paid', 'overpaid', 'short')
                    AND i.currency = %(currency)s
                   THEN least(%(amount)s, j.remaining) ELSE 0 END,
           collection = CASE WHEN j.verdict IN ('short', 'refunded') THEN 'manual'
                             ELSE i.collection END,
           last_error = CASE WHEN j.verdict IN ('paid', 'overpaid') THEN NULL
                             ELSE i.last_error END,
           followed_intent_id = CASE
               WHEN j.verdict IN ('paid', 'overpaid', 'short', 'refunded', 'voided')
                    OR i.followed_intent_id = %(intent_id)s THEN NULL
               ELSE i.followed_intent_id END,
           intent_id = nullif(i.intent_id, %(intent_id)s),
           charge_seq = i.charge_seq
                      + CASE WHEN i.charge_seq = ANY((SELECT array_agg(seq) FROM proven)::int[])
                             THEN 1 ELSE 0 END,
           hold_until = CASE WHEN i.hold_until = %(hold_until)s
                                  AND i.hold_attempt = %(hold_attempt)s
                             THEN NULL ELSE i.hold_until END,
           hold_attempt = CASE WHEN i.hold_until = %(hold_until)s
                                    AND i.hold_attempt = %(hold_attempt)s
                               THEN NULL ELSE i.hold_attempt END,
           check_until = NULL
      FROM judged j
     WHERE i.account_id = j.account_id AND i.livemode = j.livemode AND i.id = j.id
    RETURNING i.account_id, i.livemode, i.id, i.status, j.verdict,
              i.hold_until IS NOT NULL AS held
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT account_id, livemode, %(notice_id)s, notice.code, id, %(intent_id)s,
           jsonb_build_object(
               'stripe_intent_id', %(intent_id)s::text, 'amount', %(amount)s::bigint,
               'currency', %(currency)s::text, 'charge_id', %(charge_id)s::text)
      FROM settled
      JOIN (VALUES ('overpaid', 'payment.amount_mismatch'),
                   ('short', 'payment.amount_mismatch'),
                   ('duplicate', 'payment.duplicate_charge'),
                   ('voided', 'payment.received_on_voided_invoice'),
                   ('refunded', 'payment.found_refunded'))
           AS notice (verdict, code) USING (verdict)
    ON CONFLICT DO NOTHING
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'payment.' || verdict, %(rule)s,
           %(attempt_id)s,
           jsonb_build_object(
               'source', %(source)s::text, 'stripe_intent_id', %(intent_id)s::text,
               'amount', %(amount)s::bigint, 'currency', %(currency)s::text,
               'held', held)
      FROM settled
     WHERE verdict <> 'known' OR EXISTS (SELECT FROM proven)
        OR %(hold_until)s::timestamptz IS NOT NULL
)
SELECT verdict, status, held FROM settled
"""


async def settle(
    db: Db,
    scope: Scope,
    invoice_id: InvoiceId,
    success: Success,
    source: Source,
    *,
    actor: str,
    rule: str | None = None,
    clears: Token | None = None,
) -> Settled | None:
    """The payment has its one row and the invoice says so; None when there is no such invoice.

    The row count of the payment's INSERT decides whether this is news. A success proves every
    attempt on its intent and moves the counter if it ended one. It was made by the attempt that is
    named, else by the one that is processing; but by none whose mark `sending` was lost with the
    tail of the database. The hold stays unless `clears` names it: only the owner's own save and
    the sweep pass it, a webhook never does.
    """
    return await db.one(
        _SETTLE,
        Settled,
        **scope.params,
        invoice_id=invoice_id,
        payment_id=only(db.new_ids(PAYMENT, 1)),
        notice_id=only(db.new_ids(NOTICE, 1)),
        intent_id=success.intent_id,
        amount=success.amount,
        amount_refunded=success.amount_refunded,
        currency=success.currency,
        charge_id=success.charge_id,
        attempt_id=success.attempt_id,
        source=source,
        rule=rule,
        hold_until=clears.hold_until if clears else None,
        hold_attempt=clears.attempt_id if clears else None,
        actor=actor,
    )
