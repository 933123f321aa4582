-- What no committed state may show, with the invariant that it breaks: an attempt whose end is not
-- certain and whose hold is gone, an irreversible end while the hold is set, a payment twice.
SELECT 'I6' AS broken, 'a hold ended while its attempt was ' || a.state AS said
  FROM anchorhold.attempt a
  JOIN anchorhold.invoice i
    ON i.account_id = a.account_id AND i.livemode = a.livemode AND i.id = a.invoice_id
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
   AND a.state IN ('claimed', 'sending', 'unknown')
   AND i.hold_attempt IS DISTINCT FROM a.id
UNION ALL
SELECT 'I3', 'an invoice became ' || status || ' while its hold was set'
  FROM anchorhold.invoice
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s
   AND status = 'void' AND hold_until IS NOT NULL
