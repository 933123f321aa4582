"""The statement that ends an attempt: outcome, counter and release in one commit (section 3.5)."""

from typing import Final, LiteralString

END: Final[LiteralString] = """
WITH inv AS MATERIALIZED (
    SELECT i.account_id, i.livemode, i.id, i.hold_until, i.intent_id
      FROM anchorhold.invoice i
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.id = %(invoice_id)s AND i.hold_until = %(hold_until)s
       AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s
       AND i.status = ANY(%(statuses)s)
       FOR UPDATE
), ended AS (
    UPDATE anchorhold.attempt a
       SET state = %(state)s, cause = coalesce(%(cause)s, a.cause), rule = %(rule)s,
           decline = coalesce(%(decline)s, a.decline),
           charge_id = coalesce(%(charge_id)s, a.charge_id),
           request_id = coalesce(%(request_id)s, a.request_id),
           intent_id = coalesce(a.intent_id, %(own_intent)s),
           ended_at = CASE WHEN %(clears)s THEN anchorhold.now() END
      FROM inv
     WHERE a.account_id = inv.account_id AND a.livemode = inv.livemode
       AND a.id = %(attempt_id)s AND a.state = ANY(%(states)s)
       AND (a.sent_at IS NOT NULL OR %(state)s IN ('claimed', 'not_sent', 'superseded'))
    RETURNING a.account_id, a.livemode, a.id, a.invoice_id, a.seq, a.found_status,
              a.kind, a.intent_id
), before AS (
    SELECT p.state = 'superseded' AND p.cause = 'no_trace' AS superseded
      FROM ended e
      JOIN anchorhold.attempt p
        ON p.account_id = e.account_id AND p.livemode = e.livemode
       AND p.invoice_id = e.invoice_id AND p.seq < e.seq
     WHERE p.state <> 'not_sent' AND p.kind IN ('auto', 'dunning', 'collect')
     ORDER BY p.seq DESC
     LIMIT 1
), intent AS (
    UPDATE anchorhold.intent t
       SET state = coalesce(%(intent_state)s, t.state),
           ended_at = CASE WHEN %(intent_state)s::text IS NOT NULL
                           THEN anchorhold.now() END,
           action_since = CASE WHEN %(customer_acts)s
                               THEN coalesce(t.action_since, anchorhold.now()) END,
           watched_since = CASE WHEN %(state)s = 'superseded'
                                THEN coalesce(t.watched_since, anchorhold.now())
                                ELSE t.watched_since END,
           watch_at = CASE WHEN %(state)s = 'superseded' THEN anchorhold.now()
                           ELSE t.watch_at END
      FROM ended e
     WHERE t.account_id = e.account_id AND t.livemode = e.livemode
       AND t.stripe_intent_id = e.intent_id AND t.state = 'live'
       AND (%(customer_acts)s OR %(intent_state)s::text IS NOT NULL
            OR %(state)s = 'superseded'
            OR (t.action_since IS NOT NULL AND %(state)s IN ('failed', 'processing')))
), left_behind AS (
    UPDATE anchorhold.invoice i
       SET payment_status = CASE
               WHEN i.status = 'paid' THEN i.payment_status
               WHEN %(fails_twice)s AND coalesce((SELECT superseded FROM before), false)
                   THEN 'failed'
               WHEN %(payment_status)s::text IS NOT NULL THEN %(payment_status)s
               WHEN %(clears)s AND NOT %(keeps_following)s
                    AND i.payment_status IN ('unknown', 'processing') THEN e.found_status
               ELSE i.payment_status
           END,
           followed_intent_id = CASE WHEN %(followed_intent)s::text IS NOT NULL
                                         THEN %(followed_intent)s
                                     WHEN %(clears)s AND NOT %(keeps_following)s THEN NULL
                                     ELSE i.followed_intent_id END,
           followed_at = CASE WHEN %(followed_intent)s::text IS NOT NULL
                              THEN anchorhold.now() ELSE i.followed_at END,
           charge_seq = i.charge_seq + %(moves_seq)s::int,
           hold_until = CASE WHEN %(clears)s THEN NULL ELSE i.hold_until END,
           hold_attempt = CASE WHEN %(clears)s THEN NULL ELSE i.hold_attempt END,
           check_until = NULL,
           blocked_reason = coalesce(
               %(blocked)s, CASE WHEN %(state)s = 'failed'
                                 THEN nullif(i.blocked_reason, 'customer_action')
                                 ELSE i.blocked_reason END),
           collection = CASE WHEN %(manual)s THEN 'manual' ELSE i.collection END,
           last_error = CASE WHEN %(state)s = 'presumed_none' THEN NULL
                             WHEN %(clears)s AND %(state)s <> 'not_sent' THEN %(decline)s
                             ELSE coalesce(%(decline)s, i.last_error) END,
           intent_id = CASE WHEN %(intent_state)s::text IS NOT NULL
                             AND i.intent_id = e.intent_id
                            THEN NULL ELSE i.intent_id END,
           next_attempt_at = CASE WHEN %(pause_s)s > 0
               THEN greatest(i.next_attempt_at,
                             anchorhold.now() + make_interval(secs => %(pause_s)s))
               ELSE i.next_attempt_at END
      FROM ended e
     WHERE i.account_id = e.account_id AND i.livemode = e.livemode
       AND i.id = e.invoice_id
    RETURNING i.*, e.id AS attempt_id
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT account_id, livemode, 'ntc_' || substr(attempt_id, 5),
           CASE WHEN %(manual)s THEN 'charge.presumed_none' ELSE 'collection.blocked' END,
           id, attempt_id, coalesce(%(decline)s, '{}'::jsonb)
      FROM left_behind
     WHERE %(blocked)s = 'setup' OR %(manual)s
    ON CONFLICT DO NOTHING
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'attempt.' || %(state)s, %(rule)s,
           attempt_id,
           jsonb_strip_nulls(jsonb_build_object(
               'cause', %(cause)s::text, 'source', %(source)s::text,
               'decline', %(decline)s::jsonb, 'payment_status', payment_status,
               'held', hold_until IS NOT NULL))
      FROM left_behind
)
SELECT status, hold_until IS NULL AS cleared FROM left_behind
"""
