-- Attempts whose end is not certain and whose hold is gone: no committed state may show one.
SELECT a.id, a.state
  FROM anchorhold.attempt a
  JOIN anchorhold.invoice i
    ON i.account_id = a.account_id AND i.livemode = a.livemode AND i.id = a.invoice_id
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
   AND a.state IN ('claimed', 'sending', 'unknown')
   AND i.hold_attempt IS DISTINCT FROM a.id
