"""Closes: intents that an operator abandons, and what finds invoices that need no charge."""

from alembic import op

revision = "0004"
down_revision = "0003"

ABANDONED = """
ALTER TABLE anchorhold.intent
    DROP CONSTRAINT intent_state_check,
    ADD CONSTRAINT intent_state_check CHECK (state IN (
        'preparing', 'live', 'succeeded', 'canceled', 'used_up', 'abandoned'));
DROP INDEX anchorhold.intent_watched;
CREATE INDEX intent_watched ON anchorhold.intent (account_id, livemode, watch_at)
    WHERE state IN ('live', 'abandoned') AND watched_since IS NOT NULL;
"""

WITHOUT_STRIPE = """
CREATE INDEX invoice_nothing_due ON anchorhold.invoice (account_id, livemode, id)
    WHERE status = 'open' AND hold_until IS NULL AND amount_due <= amount_paid;
CREATE INDEX credit_available ON anchorhold.credit_balance (account_id, livemode, customer_id)
    WHERE balance > 0;
"""


def upgrade() -> None:
    """Rows stay as they are."""
    op.execute(ABANDONED)
    op.execute(WITHOUT_STRIPE)
