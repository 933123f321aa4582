"""Others are told of refunds, disputes and dunning too."""

from alembic import op

revision = "0016"
down_revision = "0015"

JOURNAL = """
DROP INDEX anchorhold.journal_untold;
CREATE INDEX journal_untold ON anchorhold.journal (account_id, livemode, entry)
    WHERE NOT told AND what IN (
        'attempt.failed', 'attempt.processing', 'collection.blocked', 'dispute.closed',
        'dispute.inquiry', 'dispute.lost', 'dispute.open', 'dispute.won', 'dunning.finished',
        'dunning.step', 'following.began', 'following.ended', 'invoice.amended',
        'invoice.opened', 'invoice.paid_elsewhere', 'invoice.void', 'invoice.write_off',
        'payment.duplicate', 'payment.overpaid', 'payment.paid', 'payment.short', 'payment.voided',
        'refund.canceled', 'refund.failed', 'refund.not_made', 'refund.refused',
        'refund.succeeded');
UPDATE anchorhold.journal SET told = true
 WHERE NOT told AND what IN (
        'dispute.closed', 'dispute.inquiry', 'dispute.lost', 'dispute.open', 'dispute.won',
        'dunning.finished', 'dunning.step', 'refund.canceled', 'refund.failed',
        'refund.not_made', 'refund.refused', 'refund.succeeded');
"""


def upgrade() -> None:
    """What was before is not told."""
    op.execute(JOURNAL)
