-- One line an invoice: its rows as the model has them. Ids may be older than their claims.
SELECT i.id, i.status, i.payment_status, i.hold_until, i.hold_attempt, i.charge_seq, i.intent_id,
       i.followed_intent_id,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(a.id, a.kind, a.state, a.seq, a.found_status,
                                                    a.intent_id) ORDER BY a.claimed_at, a.id), '[]')
          FROM anchorhold.attempt a
         WHERE a.account_id = i.account_id AND a.livemode = i.livemode AND a.invoice_id = i.id),
       (SELECT coalesce(jsonb_agg(p.stripe_intent_id), '[]')
          FROM anchorhold.payment p
         WHERE p.account_id = i.account_id AND p.livemode = i.livemode AND p.invoice_id = i.id
           AND p.stripe_intent_id IS NOT NULL)
  FROM anchorhold.invoice i
 WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
