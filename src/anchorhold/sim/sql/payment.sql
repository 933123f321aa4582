SELECT id FROM anchorhold.payment
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND invoice_id = %(invoice_id)s
   AND stripe_intent_id IS NOT NULL
 ORDER BY id
 LIMIT 1
