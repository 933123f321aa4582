"""What Stripe told us, kept for as long as it is of use.

Deliveries are read and pruned by their ids, which grow with time, so that a good one costs one
index less; those that were not believed are few, and found by their verdict.
An event that has had its effect wakes all that wait for the same intent: a dispute that comes
before its payment, say.
"""

from alembic import op

revision = "0011"
down_revision = "0010"

EVENTS = """
DROP INDEX anchorhold.event_unmatched;
CREATE INDEX event_waiting_intent ON anchorhold.event (account_id, livemode, intent_id)
    WHERE state IN ('waiting', 'unmatched');
"""

DELIVERIES = """
DROP INDEX anchorhold.event_delivery_received;
CREATE INDEX event_delivery_verdict ON anchorhold.event_delivery
    (account_id, livemode, verdict, id) WHERE verdict NOT IN ('good', 'repeat');
"""


def upgrade() -> None:
    """Indexes only."""
    for part in (EVENTS, DELIVERIES):
        op.execute(part)
