"""Our own news for others: endpoints, messages made from the journal, deliveries and their tries.

The journal is the outbox: what happened and what others are told of it are one row, written by the
transaction that did it. A row is `told` when its messages exist.
"""

from alembic import op

revision = "0009"
down_revision = "0008"

JOURNAL = """
ALTER TABLE anchorhold.journal ADD COLUMN told boolean NOT NULL DEFAULT true;
ALTER TABLE anchorhold.journal ALTER COLUMN told SET DEFAULT false;
CREATE INDEX journal_untold ON anchorhold.journal (account_id, livemode, entry)
    WHERE NOT told AND what IN (
        'attempt.failed', 'attempt.processing', 'collection.blocked', 'following.began',
        'following.ended', 'invoice.amended', 'invoice.opened', 'invoice.paid_elsewhere',
        'invoice.void', 'invoice.write_off', 'payment.duplicate', 'payment.overpaid',
        'payment.paid', 'payment.short', 'payment.voided');
COMMENT ON COLUMN anchorhold.journal.told IS 'Its messages exist; what was before is not told.';
"""

ENDPOINTS = """
CREATE TABLE anchorhold.webhook_endpoint (
    account_id       text NOT NULL,
    livemode         boolean NOT NULL,
    id               text NOT NULL,
    url              text NOT NULL CHECK (url ~ '^https?://'),
    types            text[] NOT NULL DEFAULT '{}',
    description      text NOT NULL DEFAULT '',
    secret           bytea NOT NULL,
    old_secret       bytea,
    old_secret_until timestamptz,
    disabled_at      timestamptz,
    disabled_reason  text,
    after_entry      bigint NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT anchorhold.now(),
    deleted_at       timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account,
    CONSTRAINT old_secret_ends CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
    CONSTRAINT disabled_has_a_reason CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);
CREATE UNIQUE INDEX webhook_endpoint_url ON anchorhold.webhook_endpoint
    (account_id, livemode, url) WHERE deleted_at IS NULL;
COMMENT ON COLUMN anchorhold.webhook_endpoint.after_entry IS
    'It hears of what the journal got after this row: of what happened since it was added.';
COMMENT ON COLUMN anchorhold.webhook_endpoint.types IS 'Only these types; all of them when empty.';
"""

MESSAGES = """
CREATE TABLE anchorhold.message (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    id         text NOT NULL,
    type       text NOT NULL,
    invoice_id text NOT NULL,
    sequence   bigint NOT NULL,
    data       jsonb NOT NULL,
    at         timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT message_once UNIQUE (account_id, livemode, sequence, type),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice
);
CREATE INDEX message_at ON anchorhold.message (account_id, livemode, at);
COMMENT ON COLUMN anchorhold.message.sequence IS
    'The journal row that it tells of: later for the same invoice is larger.';

CREATE TABLE anchorhold.webhook_delivery (
    account_id   text NOT NULL,
    livemode     boolean NOT NULL,
    id           text NOT NULL,
    endpoint_id  text NOT NULL,
    message_id   text NOT NULL,
    state        text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
    tries        integer NOT NULL DEFAULT 0,
    tries_before integer NOT NULL DEFAULT 0,
    next_try_at  timestamptz NOT NULL DEFAULT anchorhold.now(),
    last_said    text,
    created_at   timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at     timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id, livemode, endpoint_id) REFERENCES anchorhold.webhook_endpoint,
    FOREIGN KEY (account_id, livemode, message_id) REFERENCES anchorhold.message,
    CONSTRAINT resent_after_its_tries CHECK (tries_before BETWEEN 0 AND tries),
    CONSTRAINT delivery_ends_once CHECK ((state = 'waiting') = (ended_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX webhook_delivery_due ON anchorhold.webhook_delivery
    (account_id, livemode, next_try_at) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_endpoint ON anchorhold.webhook_delivery
    (account_id, livemode, endpoint_id, id);
CREATE INDEX webhook_delivery_message ON anchorhold.webhook_delivery
    (account_id, livemode, message_id);

COMMENT ON COLUMN anchorhold.webhook_delivery.tries_before IS
    'Tries before it was sent again by hand: the waits begin anew.';

CREATE TABLE anchorhold.webhook_try (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    delivery_id text NOT NULL,
    number      integer NOT NULL,
    at          timestamptz NOT NULL DEFAULT anchorhold.now(),
    said        text NOT NULL,
    rule        text NOT NULL,
    took_ms     integer NOT NULL,
    excerpt     text NOT NULL,
    PRIMARY KEY (account_id, livemode, delivery_id, number),
    FOREIGN KEY (account_id, livemode, delivery_id) REFERENCES anchorhold.webhook_delivery
);
"""

PARTS = (JOURNAL, ENDPOINTS, MESSAGES)


def upgrade() -> None:
    """New tables; what the journal holds already is told to nobody."""
    for part in PARTS:
        op.execute(part)
