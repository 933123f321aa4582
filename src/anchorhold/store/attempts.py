"""What is written on an attempt alone."""

from anchorhold.domain.hold import Token
from anchorhold.domain.outcome import End
from anchorhold.store.db import Db
from anchorhold.store.written import written


async def late_decline(db: Db, token: Token, end: End, *, actor: str) -> str | None:
    """The attempt is declined although its hold has ended; None when its end was proven before.

    A decline that comes late counts as one; it touches neither the invoice's state nor its hold
    (F6). An attempt that ran until now moves the counter, as every end but `not_sent` does
    (section 1): the next claim's attempt would have the same number.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s
               FOR NO KEY UPDATE
        ), declined AS (
            UPDATE anchorhold.attempt a
               SET state = 'failed', cause = %(cause)s, rule = %(rule)s, decline = %(decline)s,
                   charge_id = %(charge_id)s, request_id = %(request_id)s,
                   ended_at = anchorhold.now()
              FROM inv
             WHERE a.account_id = inv.account_id AND a.livemode = inv.livemode
               AND a.id = %(attempt_id)s AND a.seq = %(seq)s
               AND a.state IN ('claimed', 'sending', 'unknown', 'superseded')
               AND a.sent_at IS NOT NULL
            RETURNING a.account_id, a.livemode, a.id, a.invoice_id, a.seq
        ), moved AS (
            UPDATE anchorhold.invoice i
               SET charge_seq = i.charge_seq + 1
              FROM declined d
             WHERE i.account_id = d.account_id AND i.livemode = d.livemode
               AND i.id = d.invoice_id AND i.charge_seq = d.seq
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'attempt.failed', %(rule)s, id,
                   jsonb_build_object('late', true, 'decline', %(decline)s::jsonb)
              FROM declined
        )
        SELECT id FROM declined
        """,
        str,
        **token.params,
        **written(end),
        actor=actor,
    )
