-- What handing out a client secret does: the intent is looked at by its id until it ends.
UPDATE anchorhold.intent
   SET watched_since = coalesce(watched_since, anchorhold.now()), watch_at = anchorhold.now()
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND invoice_id = %(invoice_id)s
   AND state = 'live'
RETURNING stripe_intent_id
