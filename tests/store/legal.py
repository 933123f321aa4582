"""What must be so whatever two writes came to: each is a query for the rows that break it."""

from tests.store.scene import Scene

CHARGES = "('auto', 'dunning', 'collect')"
RUNNING = "('claimed', 'sending', 'unknown')"

LEGAL = {
    "a hold ends only with its attempt (H7)": f"""
        SELECT i.account_id, i.id FROM anchorhold.invoice i JOIN anchorhold.attempt a
            ON (a.account_id, a.livemode, a.invoice_id) = (i.account_id, i.livemode, i.id)
         WHERE i.hold_until IS NULL AND a.state IN {RUNNING}""",
    "a hold is the one that its attempt wrote": """
        SELECT i.account_id, i.id FROM anchorhold.invoice i LEFT JOIN anchorhold.attempt a
            ON (a.account_id, a.livemode, a.id) = (i.account_id, i.livemode, i.hold_attempt)
         WHERE i.hold_until IS NOT NULL AND a.hold_until IS DISTINCT FROM i.hold_until""",
    "at most one attempt runs": f"""
        SELECT account_id, invoice_id FROM anchorhold.attempt WHERE state IN {RUNNING}
         GROUP BY account_id, livemode, invoice_id HAVING count(*) > 1""",
    "an attempt that ended moved the counter": f"""
        SELECT i.account_id, i.id FROM anchorhold.invoice i JOIN anchorhold.attempt a
            ON (a.account_id, a.livemode, a.invoice_id) = (i.account_id, i.livemode, i.id)
         WHERE a.kind IN {CHARGES} AND a.state NOT IN {RUNNING} AND a.state <> 'not_sent'
           AND a.seq >= i.charge_seq""",
    "an attempt that runs has the counter": f"""
        SELECT i.account_id, i.id FROM anchorhold.invoice i JOIN anchorhold.attempt a
            ON (a.account_id, a.livemode, a.invoice_id) = (i.account_id, i.livemode, i.id)
         WHERE a.kind IN {CHARGES} AND a.state IN {RUNNING} AND a.seq <> i.charge_seq""",
    "an invoice has the intent that is live": """
        SELECT i.account_id, i.id FROM anchorhold.invoice i LEFT JOIN anchorhold.intent t
            ON (t.account_id, t.livemode, t.invoice_id) = (i.account_id, i.livemode, i.id)
           AND t.state = 'live'
         WHERE i.intent_id IS DISTINCT FROM t.stripe_intent_id""",
    "a paid invoice has its money": """
        SELECT i.account_id, i.id FROM anchorhold.invoice i
         WHERE (i.status = 'paid') <> (i.amount_paid >= i.amount_due)
            OR i.amount_paid > coalesce((
               SELECT sum(CASE WHEN p.stripe_intent_id IS NULL THEN p.amount
                               ELSE p.amount_applied END) FROM anchorhold.payment p
                WHERE (p.account_id, p.livemode, p.invoice_id)
                    = (i.account_id, i.livemode, i.id)), 0)""",
    "each payment is told once": """
        SELECT p.account_id, p.invoice_id FROM anchorhold.payment p WHERE 1 <> (
            SELECT count(*) FROM anchorhold.journal j
             WHERE (j.account_id, j.livemode, j.invoice_id)
                 = (p.account_id, p.livemode, p.invoice_id)
               AND ((j.what LIKE 'payment.%' AND j.what <> 'payment.known'
                     AND j.detail->>'stripe_intent_id' = p.stripe_intent_id)
                    OR (j.what = 'invoice.' || CASE p.source WHEN 'elsewhere'
                                                   THEN 'paid_elsewhere' ELSE p.source END
                        AND p.stripe_intent_id IS NULL)))""",
    "each attempt that was made is told once": """
        SELECT a.account_id, a.invoice_id FROM anchorhold.attempt a WHERE 1 <> (
            SELECT count(*) FROM anchorhold.journal j
             WHERE (j.account_id, j.livemode, j.attempt_id) = (a.account_id, a.livemode, a.id)
               AND j.what = 'attempt.claimed')""",
}
"""By sentence; beside the constraints of the schema, which PostgreSQL itself holds."""


ALL = " UNION ALL ".join(
    f"SELECT '{sentence}', account_id, min(id) FROM ({query}) AS broken (account_id, id)"
    " GROUP BY account_id"
    for sentence, query in LEGAL.items()
)


def broken(scene: Scene) -> list[str]:
    """The sentences that the rows break, each with an account and an invoice that does."""
    return [f"{sentence}: {account} {invoice}" for sentence, account, invoice in scene.any_sql(ALL)]
