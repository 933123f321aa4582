-- Charges that this one sent and of which nothing was saved.
SELECT id
  FROM anchorhold.attempt
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND actor = %(actor)s
   AND state = 'sending' AND rule IS NULL
