"""The intake of Stripe's webhooks: signing secrets, every delivery with its verdict (section 9).

A delivery is never unique and never believed; what a verified one brings is a row of `event`.
"""

from alembic import op

revision = "0010"
down_revision = "0009"

SECRETS = """
CREATE TABLE anchorhold.signing_secret (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    id         text NOT NULL,
    secret     bytea NOT NULL,
    last4      text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT anchorhold.now(),
    ends_at    timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);
COMMENT ON TABLE anchorhold.signing_secret IS
    'What Stripe signs an endpoint''s deliveries with; two of them while one is rolled.';
"""

DELIVERIES = """
CREATE TABLE anchorhold.event_delivery (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    id          text NOT NULL,
    verdict     text NOT NULL CHECK (verdict IN (
        'good', 'repeat', 'stale', 'future', 'forged', 'unsigned', 'malformed', 'wrong_mode',
        'wrong_account', 'unknown_account', 'closed', 'too_large')),
    signature   text NOT NULL
        CHECK (signature IN ('valid', 'forged', 'missing', 'unreadable', 'closed')),
    secret_id   text,
    age_s       bigint,
    event_id    text,
    event_type  text,
    api_version text,
    bytes       integer NOT NULL,
    source      text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT only_signed_is_believed CHECK (verdict NOT IN ('good', 'repeat')
        OR (signature = 'valid' AND secret_id IS NOT NULL AND event_id IS NOT NULL)),
    CONSTRAINT unsigned_names_nothing CHECK (signature = 'valid'
        OR (event_id IS NULL AND event_type IS NULL AND secret_id IS NULL))
);
CREATE INDEX event_delivery_stranger ON anchorhold.event_delivery
    (account_id, livemode, received_at) WHERE verdict NOT IN ('good', 'repeat');
CREATE INDEX event_delivery_received ON anchorhold.event_delivery
    (account_id, livemode, received_at);
CREATE INDEX event_delivery_event ON anchorhold.event_delivery (account_id, livemode, event_id)
    WHERE event_id IS NOT NULL;
COMMENT ON TABLE anchorhold.event_delivery IS
    'Every delivery with its verdict: no payload, and of a body that is not signed not one word.';
"""

PARTS = (SECRETS, DELIVERIES)


def upgrade() -> None:
    """New tables."""
    for part in PARTS:
        op.execute(part)
