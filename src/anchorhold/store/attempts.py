"""What is written on an attempt alone."""

from anchorhold.domain.hold import Token
from anchorhold.domain.outcome import End
from anchorhold.store.db import Db
from anchorhold.store.holds import written


async def late_decline(db: Db, token: Token, end: End, *, actor: str) -> str | None:
    """The attempt is declined although its hold has ended; None when its end was proven before.

    A decline that comes late counts as one; it touches neither invoice nor hold (F6).
    """
    return await db.one(
        """
        WITH declined AS (
            UPDATE anchorhold.attempt
               SET state = 'failed', cause = %(cause)s, rule = %(rule)s, decline = %(decline)s,
                   charge_id = %(charge_id)s, request_id = %(request_id)s,
                   ended_at = anchorhold.now()
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(attempt_id)s AND seq = %(seq)s
               AND state IN ('claimed', 'sending', 'unknown', 'superseded')
               AND sent_at IS NOT NULL
            RETURNING account_id, livemode, id, invoice_id
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
        **token.scope.params,
        **written(end),
        attempt_id=token.attempt_id,
        seq=token.seq,
        actor=actor,
    )
