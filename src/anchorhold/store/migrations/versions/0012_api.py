"""Keys of our API, and the answers that are kept for a repeated request."""

from alembic import op

revision = "0012"
down_revision = "0011"

KEYS = """
CREATE TABLE anchorhold.api_key (
    account_id   text NOT NULL,
    livemode     boolean NOT NULL,
    id           text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('secret', 'restricted')),
    name         text NOT NULL,
    prefix       text NOT NULL,
    last4        text NOT NULL,
    digest       bytea NOT NULL CHECK (length(digest) = 32),
    grants       text[] NOT NULL DEFAULT '{}',
    version      text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT anchorhold.now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account,
    CONSTRAINT only_a_restricted_key_has_grants
        CHECK ((kind = 'restricted') = (cardinality(grants) > 0))
);
CREATE UNIQUE INDEX api_key_prefix ON anchorhold.api_key (prefix);
COMMENT ON TABLE anchorhold.api_key IS
    'Keys of our API: of the key itself only its beginning, its end and its SHA-256.';
"""

REQUESTS = """
CREATE TABLE anchorhold.idempotent_request (
    account_id      text NOT NULL,
    livemode        boolean NOT NULL,
    idempotency_key text NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    digest          bytea NOT NULL CHECK (length(digest) = 32),
    request_id      text NOT NULL,
    lease_until     timestamptz NOT NULL,
    status          integer,
    body            bytea,
    created_at      timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, idempotency_key),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account,
    CONSTRAINT an_answer_is_whole CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX idempotent_request_created ON anchorhold.idempotent_request
    (account_id, livemode, created_at);
COMMENT ON TABLE anchorhold.idempotent_request IS
    'POSTs by their Idempotency-Key: whose turn it is, and the encrypted answer once there is one.';
"""

PARTS = (KEYS, REQUESTS)


def upgrade() -> None:
    """New tables."""
    for part in PARTS:
        op.execute(part)
