-- Everything that a world left behind, without the times at which somebody only looked.
SELECT jsonb_build_object(
    'invoices', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', id, 'status', status, 'payment_status', payment_status, 'amount_due', amount_due,
            'amount_paid', amount_paid, 'closed_at', extract(epoch FROM closed_at), 'charge_seq', charge_seq, 'hold_attempt', hold_attempt,
            'intent_id', intent_id, 'followed_intent_id', followed_intent_id,
            'blocked_reason', blocked_reason, 'collection', collection) ORDER BY id), '[]')
          FROM anchorhold.invoice
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s),
    'attempts', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', id, 'invoice_id', invoice_id, 'seq', seq, 'kind', kind, 'state', state,
            'cause', cause, 'rule', rule, 'charge_id', charge_id) ORDER BY id), '[]')
          FROM anchorhold.attempt
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s),
    'intents', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'invoice_id', invoice_id, 'number', number, 'state', state,
            'stripe_intent_id', stripe_intent_id) ORDER BY invoice_id, number), '[]')
          FROM anchorhold.intent
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s),
    'payments', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'invoice_id', invoice_id, 'stripe_intent_id', stripe_intent_id, 'amount', amount,
            'currency', currency, 'attempt_id', attempt_id) ORDER BY stripe_intent_id), '[]')
          FROM anchorhold.payment
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s),
    'notices', (SELECT coalesce(jsonb_agg(jsonb_build_object(
            'code', code, 'invoice_id', invoice_id) ORDER BY code, invoice_id, subject), '[]')
          FROM anchorhold.notice
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s),
    'causes', (SELECT coalesce(jsonb_agg(DISTINCT detail->>'cause'), '[]')
          FROM anchorhold.journal
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND detail ? 'cause'),
    'rules', (SELECT coalesce(jsonb_agg(DISTINCT rule), '[]')
          FROM anchorhold.journal
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND rule IS NOT NULL))
