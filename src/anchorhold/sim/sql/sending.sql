-- The committed trace of a request that is leaving now. Attempts that sent nothing share the key
-- of the next one, and an id may be older than its claim: the one that holds comes first. A direct
-- charge names no intent, because its own request makes it.
SELECT a.id, a.invoice_id, a.seq, a.state, i.hold_until > anchorhold.now() AS in_time,
       coalesce(i.hold_attempt = a.id AND i.hold_until = a.hold_until, false) AS held
  FROM anchorhold.attempt a
  JOIN anchorhold.invoice i
    ON i.account_id = a.account_id AND i.livemode = a.livemode AND i.id = a.invoice_id
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
   AND a.idempotency_key = %(key)s
   AND (a.intent_id = %(intent_id)s OR (%(intent_id)s = 'v1' AND a.charge_mode = 'direct'))
 ORDER BY held DESC, a.state = 'sending' DESC, a.id DESC
 LIMIT 1
