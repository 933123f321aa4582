"""Invoices that follow a PaymentIntent: whose turn it is, and how the following ends."""

from dataclasses import dataclass

from anchorhold.domain import ladder
from anchorhold.domain.answer import Decline
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db
from anchorhold.store.written import words


@dataclass(frozen=True, slots=True)
class Followed:
    """A followed invoice as it was read; the end of the following compares all of it."""

    invoice_id: InvoiceId
    intent_id: str
    seq: int
    status: InvoiceStatus
    payment_status: PaymentStatus
    own: bool = True
    """The followed intent is the invoice's own live one."""


_FOLLOWED = """
WITH picked AS MATERIALIZED (
    SELECT i.account_id, i.livemode, i.id
      FROM anchorhold.invoice i
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.followed_intent_id IS NOT NULL AND i.hold_until IS NULL
"""

_TURN = """
       AND coalesce(i.provider_synced_at, i.followed_at)
           < (SELECT anchorhold.now()) - CASE
               WHEN %(invoice_id)s::text IS NOT NULL THEN interval '60 seconds'
               ELSE anchorhold.wait_of(i.provider_synced_at - i.followed_at,
                                       %(after_s)s, %(wait_s)s) END
     ORDER BY i.provider_synced_at NULLS FIRST
     LIMIT %(limit)s
       FOR UPDATE SKIP LOCKED
)
UPDATE anchorhold.invoice i
   SET provider_synced_at = anchorhold.now()
  FROM picked p
 WHERE i.account_id = p.account_id AND i.livemode = p.livemode AND i.id = p.id
RETURNING i.id AS invoice_id, i.followed_intent_id AS intent_id, i.charge_seq AS seq,
          i.status, i.payment_status,
          coalesce(i.intent_id = i.followed_intent_id, false) AS own
"""


async def take(
    db: Db, scope: Scope, *, limit: int, invoice_id: InvoiceId | None = None
) -> list[Followed]:
    """Up to `limit` followed invoices whose turn it is; others skip them until their next turn.

    The ladder is `domain/ladder.py`: minutes, then hours, then daily. With `invoice_id` only that
    one, if nobody looked at it in the last minute. Holds come first: an invoice with a hold
    belongs to the sweep.
    """
    return await db.all(
        _FOLLOWED + given((invoice_id, " AND i.id = %(invoice_id)s")) + _TURN,
        Followed,
        **scope.params,
        **ladder.PARAMS,
        invoice_id=invoice_id,
        limit=limit,
    )


_END = """
WITH ended AS (
    UPDATE anchorhold.invoice i
       SET payment_status = 'failed', followed_intent_id = NULL, followed_at = NULL,
           charge_seq = i.charge_seq + 1, last_error = %(decline)s,
           blocked_reason = nullif(i.blocked_reason, 'customer_action'),
           intent_id = CASE WHEN %(canceled)s THEN nullif(i.intent_id, %(intent_id)s)
                            ELSE i.intent_id END
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.id = %(invoice_id)s AND i.payment_status = %(payment_status)s
       AND i.followed_intent_id = %(intent_id)s AND i.charge_seq = %(seq)s
       AND i.hold_until IS NULL
    RETURNING i.account_id, i.livemode, i.id
), declined AS (
    UPDATE anchorhold.attempt a
       SET state = 'failed', decline = %(decline)s, rule = %(rule)s,
           ended_at = anchorhold.now()
      FROM ended e
     WHERE a.account_id = e.account_id AND a.livemode = e.livemode
       AND a.invoice_id = e.id AND a.intent_id = %(intent_id)s
       AND (a.state = 'processing'
            OR (a.state IN ('unknown', 'superseded') AND a.sent_at IS NOT NULL
                AND %(payment_status)s = 'unknown'))
    RETURNING a.id
), intent AS (
    UPDATE anchorhold.intent t
       SET state = 'canceled', ended_at = anchorhold.now()
      FROM ended e
     WHERE t.account_id = e.account_id AND t.livemode = e.livemode
       AND t.stripe_intent_id = %(intent_id)s AND t.state = 'live' AND %(canceled)s
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'following.ended', %(rule)s,
           (SELECT max(id) FROM declined),
           jsonb_strip_nulls(jsonb_build_object('decline', %(decline)s::jsonb))
      FROM ended
)
SELECT id FROM ended
"""


async def one(db: Db, scope: Scope, invoice_id: InvoiceId, intent_id: str) -> Followed | None:
    """The invoice as a follower reads it, if it follows this intent and has no hold now."""
    return await db.one(
        """
        SELECT i.id AS invoice_id, i.followed_intent_id AS intent_id, i.charge_seq AS seq,
               i.status, i.payment_status,
               coalesce(i.intent_id = i.followed_intent_id, false) AS own
          FROM anchorhold.invoice i
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s AND i.followed_intent_id = %(intent_id)s
           AND i.hold_until IS NULL
        """,
        Followed,
        **scope.params,
        invoice_id=invoice_id,
        intent_id=intent_id,
    )


async def end(
    db: Db,
    scope: Scope,
    followed: Followed,
    *,
    decline: Decline | None,
    canceled: bool,
    rule: str,
    actor: str,
) -> str | None:
    """The following ended as a decline of the followed attempt; None when something moved (F5).

    Compares payment status, followed intent and counter, so that a late look at one attempt's
    debit never declines the next one's (P7). No attempt is declined when the page made it. Where
    the answer was unclear and named the intent, the attempt that was taken for superseded is it.
    """
    return await db.one(
        _END,
        str,
        **scope.params,
        invoice_id=followed.invoice_id,
        intent_id=followed.intent_id,
        payment_status=followed.payment_status,
        seq=followed.seq,
        decline=words(decline),
        canceled=canceled,
        rule=rule,
        actor=actor,
    )
