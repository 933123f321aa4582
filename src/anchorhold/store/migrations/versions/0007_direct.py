"""Direct mode: how an attempt asked for money, and what a claim without an intent reads by."""

from alembic import op

revision = "0007"
down_revision = "0006"


ATTEMPTS = """
ALTER TABLE anchorhold.attempt
    ADD COLUMN charge_mode text NOT NULL DEFAULT 'prepared'
        CONSTRAINT attempt_charge_mode_check CHECK (charge_mode IN ('prepared', 'direct'));
COMMENT ON COLUMN anchorhold.attempt.charge_mode IS
    'How this attempt asked for money, whatever its account does by now.';
CREATE INDEX attempt_presumed ON anchorhold.attempt (account_id, livemode, invoice_id)
    WHERE state = 'presumed_none';
"""

INVOICES = """
CREATE INDEX invoice_due_direct ON anchorhold.invoice (account_id, livemode, next_attempt_at, id)
    WHERE status = 'open' AND payment_status = 'pending' AND hold_until IS NULL
      AND collection = 'auto' AND blocked_reason IS NULL AND intent_id IS NULL;
"""

ACCOUNTS = """
ALTER TABLE anchorhold.account
    ADD CONSTRAINT only_direct_presumes
        CHECK (charge_mode = 'direct' OR sweep_mode = 'fence');
"""


def upgrade() -> None:
    """Every attempt until now was prepared, which is the default."""
    for part in (ATTEMPTS, INVOICES, ACCOUNTS):
        op.execute(part)
