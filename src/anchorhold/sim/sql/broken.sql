-- What no committed state may show, with the invariant that it breaks: an attempt whose end is not
-- certain and whose hold is gone, an irreversible end while the hold is set. And what was only
-- presumed: whatever such an attempt still does is a residual that direct mode states.
SELECT 'I6' AS broken, 'a hold ended while its attempt was ' || a.state AS said, a.id AS attempt
  FROM anchorhold.attempt a
  JOIN anchorhold.invoice i
    ON i.account_id = a.account_id AND i.livemode = a.livemode AND i.id = a.invoice_id
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
   AND a.state IN ('claimed', 'sending', 'unknown')
   AND i.hold_attempt IS DISTINCT FROM a.id
UNION ALL
SELECT 'I3', 'an invoice became void while its hold was set', hold_attempt
  FROM anchorhold.invoice
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s
   AND status = 'void' AND hold_until IS NOT NULL
UNION ALL
SELECT 'presumed', state || ' ' || coalesce(cause, ''), id
  FROM anchorhold.attempt
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND charge_mode = 'direct'
   AND state IN ('presumed_none', 'superseded', 'not_sent', 'fenced')
