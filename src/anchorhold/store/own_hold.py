"""What every write by the owner of a close begins with: parts of statements, in this order."""

# The owner's invoice, locked, with all that is compared. Whoever ends the attempt has locked the
# invoice first and ended its hold too, so that a state read before the lock is the state still.
LOCKED = """
WITH inv AS MATERIALIZED (
    SELECT i.*, i.amount_due - i.amount_paid AS remaining
      FROM anchorhold.invoice i
      JOIN anchorhold.attempt a
        ON a.account_id = i.account_id AND a.livemode = i.livemode AND a.id = i.hold_attempt
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.id = %(invoice_id)s AND i.hold_until = %(hold_until)s
       AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s
       AND i.status = ANY(%(statuses)s)
       AND a.state = 'claimed' AND a.kind IN ('close', 'amend', 'final_action')
"""
SAME_DUE = """
       AND i.amount_due - i.amount_paid = %(remaining)s
"""
AS_OWN = """
       FOR UPDATE OF i
)
"""

DONE = """
, ended AS (
    UPDATE anchorhold.attempt a
       SET state = 'not_sent', cause = %(cause)s, rule = %(rule)s, ended_at = anchorhold.now()
      FROM own
     WHERE a.account_id = own.account_id AND a.livemode = own.livemode AND a.id = %(attempt_id)s
), intent AS (
    UPDATE anchorhold.intent t
       SET state = 'canceled', ended_at = anchorhold.now()
      FROM own
     WHERE t.account_id = own.account_id AND t.livemode = own.livemode
       AND t.stripe_intent_id = own.intent_id AND t.state = 'live' AND %(canceled)s
)
"""
