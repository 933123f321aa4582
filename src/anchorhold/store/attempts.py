"""What is written on an attempt alone."""

from anchorhold.domain.answer import Decline
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.outcome import End
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db
from anchorhold.store.written import words, written


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


async def decline_by_key(
    db: Db, scope: Scope, attempt_id: AttemptId, decline: Decline, *, rule: str, actor: str
) -> str | None:
    """The attempt whose key an event of a failed payment carries is declined, and counts as a try.

    Only one that was taken for superseded or not sent, and of which a request did leave (F6);
    invoice and hold stay as they are. None: it is proven, still runs (the sweep asks for this same
    event), or its number and so its key are another attempt's by now, to which the decline belongs.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id
              FROM anchorhold.attempt a
              JOIN anchorhold.invoice i
                ON i.account_id = a.account_id AND i.livemode = a.livemode
               AND i.id = a.invoice_id
             WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
               AND a.id = %(attempt_id)s
               FOR NO KEY UPDATE OF i
        ), declined AS (
            UPDATE anchorhold.attempt a
               SET state = 'failed', cause = 'answered', rule = %(rule)s,
                   decline = %(decline)s, ended_at = anchorhold.now()
              FROM inv
             WHERE a.account_id = inv.account_id AND a.livemode = inv.livemode
               AND a.id = %(attempt_id)s AND a.state IN ('superseded', 'not_sent')
               AND a.sent_at IS NOT NULL AND a.kind IN ('auto', 'dunning', 'collect')
               AND NOT EXISTS (
                   SELECT FROM anchorhold.attempt o
                    WHERE o.account_id = a.account_id AND o.livemode = a.livemode
                      AND o.invoice_id = a.invoice_id AND o.seq = a.seq AND o.id <> a.id
                      AND o.state <> 'not_sent' AND o.kind IN ('auto', 'dunning', 'collect'))
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
        **scope.params,
        attempt_id=attempt_id,
        decline=words(decline),
        rule=rule,
        actor=actor,
    )
