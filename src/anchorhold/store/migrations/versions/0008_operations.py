"""Operations: the sweep reads holds in its own order, alarms find their rows, a missing right."""

from alembic import op

revision = "0008"
down_revision = "0007"

HOLDS = """
DROP INDEX anchorhold.invoice_hold;
CREATE INDEX invoice_hold ON anchorhold.invoice
    (account_id, livemode, (status = 'open') DESC, provider_synced_at NULLS FIRST, hold_until, id)
    WHERE hold_until IS NOT NULL;
CREATE INDEX invoice_park_unheld ON anchorhold.invoice (account_id, livemode, id)
    WHERE payment_status = 'unknown' AND hold_until IS NULL AND followed_intent_id IS NULL;
COMMENT ON INDEX anchorhold.invoice_hold IS
    'In the order of the sweep, so that a check is taken without sorting all stale holds.';
COMMENT ON INDEX anchorhold.invoice_park_unheld IS
    'Empty while the constraint unknown_is_held_or_followed stands; an alarm reads it.';
"""

FLAGS = """
ALTER TABLE anchorhold.connection
    ADD COLUMN right_missing boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT only_refused_lacks_a_right CHECK (NOT right_missing OR refused_at IS NOT NULL);
COMMENT ON COLUMN anchorhold.connection.right_missing IS
    'Refused with 403: reading the account proves nothing, so that only an operator lifts it.';
"""


def upgrade() -> None:
    """Rows stay as they are."""
    op.execute(HOLDS)
    op.execute(FLAGS)
