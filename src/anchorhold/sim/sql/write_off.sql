-- What an operator's write-off does where it needs no request to Stripe: on a stale hold, which it
-- leaves, and while an intent is followed, which stays followed (protocol section 5).
UPDATE anchorhold.invoice
   SET status = 'uncollectible'
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(invoice_id)s
   AND status = 'open'
   AND (hold_until < anchorhold.now() OR (hold_until IS NULL AND followed_intent_id IS NOT NULL))
RETURNING id
