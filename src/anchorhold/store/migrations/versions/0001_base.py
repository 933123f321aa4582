"""The base schema: accounts, customers, invoices, intents, attempts, payments, journal.

Every key begins with (account_id, livemode), so that tenants and modes never mix and a tenant can
be moved. CHECK constraints state the legal combinations (protocol section 1).
"""

from alembic import op

revision = "0001"
down_revision = None

CLOCK = """
CREATE FUNCTION anchorhold.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT clock_timestamp()
         + coalesce(nullif(current_setting('anchorhold.clock_shift', true), ''), '0')::interval
$$;
COMMENT ON FUNCTION anchorhold.now() IS
    'The one clock. Never now(): a claim that waited for a lock would write a hold partly used.';
"""

ACCOUNTS = """
CREATE TABLE anchorhold.account (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    charge_mode text NOT NULL DEFAULT 'prepared' CHECK (charge_mode IN ('prepared')),
    created_at  timestamptz NOT NULL DEFAULT anchorhold.now()
);

CREATE TABLE anchorhold.connection (
    account_id           text NOT NULL REFERENCES anchorhold.account,
    livemode             boolean NOT NULL,
    stripe_account       text NOT NULL,
    secret_key           bytea NOT NULL,
    key_last4            text NOT NULL,
    key_fingerprint      text NOT NULL,
    payment_method_types text[] NOT NULL DEFAULT '{card}',
    refused_at           timestamptz,
    refused_reason       text,
    checked_at           timestamptz,
    connected_at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode),
    CONSTRAINT refusal_has_a_reason CHECK ((refused_at IS NULL) = (refused_reason IS NULL))
);
COMMENT ON COLUMN anchorhold.connection.secret_key IS
    'AES-GCM, bound to table, column and row; the key is ANCHORHOLD_SECRET_KEY.';
"""

CUSTOMERS = """
CREATE TABLE anchorhold.customer (
    account_id     text NOT NULL,
    livemode       boolean NOT NULL,
    id             text NOT NULL,
    reference      text NOT NULL,
    email          text,
    payment_method text,
    created_at     timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT customer_reference UNIQUE (account_id, livemode, reference),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);

CREATE TABLE anchorhold.stripe_customer (
    account_id         text NOT NULL,
    livemode           boolean NOT NULL,
    customer_id        text NOT NULL,
    stripe_account     text NOT NULL,
    params             json NOT NULL,
    stripe_customer_id text,
    requested_method   text,
    key_number         integer NOT NULL DEFAULT 1,
    payment_method     text,
    refused_code       text,
    refused_message    text,
    look_at            timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, customer_id, stripe_account),
    CONSTRAINT stripe_customer_once
        UNIQUE (account_id, livemode, stripe_account, stripe_customer_id),
    FOREIGN KEY (account_id, livemode, customer_id) REFERENCES anchorhold.customer,
    CONSTRAINT method_needs_a_customer
        CHECK (payment_method IS NULL OR stripe_customer_id IS NOT NULL)
);
COMMENT ON TABLE anchorhold.stripe_customer IS
    'A customer at one Stripe account. The Stripe id is set once and never overwritten.';
CREATE INDEX stripe_customer_unready ON anchorhold.stripe_customer
    (account_id, livemode, look_at)
    WHERE payment_method IS NULL AND refused_code IS NULL;
"""

INVOICES = """
CREATE TABLE anchorhold.invoice (
    account_id         text NOT NULL,
    livemode           boolean NOT NULL,
    id                 text NOT NULL,
    customer_id        text NOT NULL,
    reference          text NOT NULL,
    currency           text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    amount_due         bigint NOT NULL CHECK (amount_due >= 0),
    amount_paid        bigint NOT NULL DEFAULT 0 CHECK (amount_paid >= 0),
    status             text NOT NULL
        CHECK (status IN ('draft', 'open', 'paid', 'void', 'uncollectible')),
    payment_status     text NOT NULL DEFAULT 'pending'
        CHECK (payment_status IN ('pending', 'processing', 'unknown', 'failed', 'succeeded')),
    collection         text NOT NULL DEFAULT 'auto' CHECK (collection IN ('auto', 'manual')),
    blocked_reason     text CHECK (blocked_reason IN ('setup', 'customer_action')),
    last_error         jsonb,
    charge_seq         integer NOT NULL DEFAULT 0 CHECK (charge_seq >= 0),
    hold_until         timestamptz,
    hold_attempt       text,
    intent_id          text,
    followed_intent_id text,
    followed_at        timestamptz,
    due_at             timestamptz NOT NULL,
    next_attempt_at    timestamptz NOT NULL,
    prepare_at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    check_until        timestamptz,
    checked_at         timestamptz,
    provider_synced_at timestamptz,
    created_at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    paid_at            timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT invoice_reference UNIQUE (account_id, livemode, reference),
    FOREIGN KEY (account_id, livemode, customer_id) REFERENCES anchorhold.customer,
    CONSTRAINT hold_names_its_attempt CHECK ((hold_until IS NULL) = (hold_attempt IS NULL)),
    CONSTRAINT paid_is_succeeded CHECK ((status = 'paid') = (payment_status = 'succeeded')),
    CONSTRAINT paid_has_a_time CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CONSTRAINT processing_is_followed
        CHECK (payment_status <> 'processing' OR followed_intent_id IS NOT NULL),
    CONSTRAINT only_unclear_is_followed
        CHECK (followed_intent_id IS NULL OR payment_status IN ('processing', 'unknown')),
    CONSTRAINT unknown_is_held_or_followed CHECK (
        payment_status <> 'unknown' OR hold_until IS NOT NULL OR followed_intent_id IS NOT NULL),
    CONSTRAINT void_is_free CHECK (status <> 'void' OR hold_until IS NULL),
    CONSTRAINT draft_is_untouched CHECK (status <> 'draft'
        OR (hold_until IS NULL AND intent_id IS NULL AND payment_status = 'pending'))
) WITH (fillfactor = 80);
CREATE INDEX invoice_due ON anchorhold.invoice (account_id, livemode, next_attempt_at, id)
    WHERE status = 'open' AND payment_status = 'pending' AND hold_until IS NULL
      AND collection = 'auto' AND blocked_reason IS NULL AND intent_id IS NOT NULL;
CREATE INDEX invoice_unprepared ON anchorhold.invoice (account_id, livemode, prepare_at)
    WHERE status = 'open' AND payment_status IN ('pending', 'failed') AND hold_until IS NULL
      AND blocked_reason IS DISTINCT FROM 'setup' AND intent_id IS NULL;
CREATE INDEX invoice_hold ON anchorhold.invoice (account_id, livemode, hold_until)
    WHERE hold_until IS NOT NULL;
CREATE INDEX invoice_followed ON anchorhold.invoice
    (account_id, livemode, provider_synced_at NULLS FIRST)
    WHERE followed_intent_id IS NOT NULL;
CREATE INDEX invoice_customer ON anchorhold.invoice (account_id, livemode, customer_id, id);
"""

INTENTS = """
CREATE TABLE anchorhold.intent (
    account_id       text NOT NULL,
    livemode         boolean NOT NULL,
    invoice_id       text NOT NULL,
    number           integer NOT NULL CHECK (number > 0),
    stripe_intent_id text,
    idempotency_key  text NOT NULL,
    params           json NOT NULL,
    amount           bigint NOT NULL CHECK (amount > 0),
    currency         text NOT NULL,
    stripe_account   text NOT NULL,
    state            text NOT NULL DEFAULT 'preparing'
        CHECK (state IN ('preparing', 'live', 'succeeded', 'canceled', 'used_up')),
    action_since     timestamptz,
    watched_since    timestamptz,
    watch_at         timestamptz,
    created_at       timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at         timestamptz,
    PRIMARY KEY (account_id, livemode, invoice_id, number),
    CONSTRAINT intent_id_once UNIQUE (account_id, livemode, stripe_intent_id),
    CONSTRAINT intent_key_once UNIQUE (account_id, livemode, idempotency_key),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice,
    CONSTRAINT live_has_an_id CHECK (state NOT IN ('live', 'succeeded', 'canceled')
        OR stripe_intent_id IS NOT NULL)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX intent_one_live ON anchorhold.intent (account_id, livemode, invoice_id)
    WHERE state IN ('preparing', 'live');
CREATE INDEX intent_watched ON anchorhold.intent (account_id, livemode, watch_at)
    WHERE state = 'live' AND watched_since IS NOT NULL;
COMMENT ON COLUMN anchorhold.intent.watched_since IS
    'Since an attempt on it was superseded: its charge may still come, and is looked for by id.';
"""

ATTEMPTS = """
CREATE TABLE anchorhold.attempt (
    account_id         text NOT NULL,
    livemode           boolean NOT NULL,
    id                 text NOT NULL,
    invoice_id         text NOT NULL,
    seq                integer NOT NULL,
    kind               text NOT NULL CHECK (
        kind IN ('auto', 'dunning', 'collect', 'close', 'amend', 'final_action')),
    actor              text NOT NULL,
    state              text NOT NULL DEFAULT 'claimed' CHECK (state IN (
        'claimed', 'sending', 'succeeded', 'failed', 'processing', 'unknown', 'not_sent',
        'superseded')),
    cause              text CHECK (cause IN (
        'answered', 'breaker_open', 'connect_failed', 'deadline_passed', 'credentials_unreadable',
        'recheck_refused', 'account_refused', 'rate_limited', 'another_request', 'connection_lost',
        'deadline', 'unreadable_answer', 'server_error', 'key_reused', 'intent_not_shown',
        'intent_canceled', 'customer_is_paying', 'intent_succeeded', 'no_trace')),
    found_status       text NOT NULL CHECK (found_status IN ('pending', 'failed')),
    amount             bigint NOT NULL,
    currency           text NOT NULL,
    stripe_account     text NOT NULL,
    stripe_customer_id text NOT NULL,
    payment_method     text,
    intent_id          text,
    idempotency_key    text,
    params             json,
    hold_until         timestamptz NOT NULL,
    claimed_at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    sent_at            timestamptz,
    ended_at           timestamptz,
    decline            jsonb,
    charge_id          text,
    request_id         text,
    rule               text,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice,
    CONSTRAINT sent_is_whole CHECK (state IN ('claimed', 'not_sent', 'superseded')
        OR (sent_at IS NOT NULL AND idempotency_key IS NOT NULL AND params IS NOT NULL)
        OR kind NOT IN ('auto', 'dunning', 'collect'))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX attempt_one_charge ON anchorhold.attempt
    (account_id, livemode, invoice_id, seq)
    WHERE state <> 'not_sent' AND kind IN ('auto', 'dunning', 'collect');
CREATE INDEX attempt_invoice ON anchorhold.attempt (account_id, livemode, invoice_id, id);
"""

PAYMENTS = """
CREATE TABLE anchorhold.payment (
    account_id       text NOT NULL,
    livemode         boolean NOT NULL,
    id               text NOT NULL,
    invoice_id       text NOT NULL,
    attempt_id       text,
    stripe_intent_id text NOT NULL,
    stripe_account   text NOT NULL,
    charge_id        text,
    amount           bigint NOT NULL CHECK (amount > 0),
    amount_refunded  bigint NOT NULL DEFAULT 0,
    currency         text NOT NULL,
    source           text NOT NULL
        CHECK (source IN ('answer', 'sweep', 'follower', 'prepare', 'watch')),
    created_at       timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT payment_once UNIQUE (account_id, livemode, stripe_intent_id),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice,
    CONSTRAINT refund_within_payment CHECK (amount_refunded BETWEEN 0 AND amount)
);
CREATE INDEX payment_invoice ON anchorhold.payment (account_id, livemode, invoice_id);

CREATE TABLE anchorhold.notice (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    id          text NOT NULL,
    code        text NOT NULL,
    invoice_id  text NOT NULL,
    subject     text NOT NULL,
    evidence    jsonb NOT NULL,
    opened_at   timestamptz NOT NULL DEFAULT anchorhold.now(),
    resolved_at timestamptz,
    resolved_by text,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT notice_once UNIQUE (account_id, livemode, code, invoice_id, subject),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice
);
CREATE INDEX notice_open ON anchorhold.notice (account_id, livemode, opened_at)
    WHERE resolved_at IS NULL;
COMMENT ON TABLE anchorhold.notice IS 'What needs a person: one row a fact, with its evidence.';
"""

JOURNAL = """
CREATE TABLE anchorhold.journal (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    invoice_id text NOT NULL,
    entry      bigint GENERATED ALWAYS AS IDENTITY,
    at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    actor      text NOT NULL,
    what       text NOT NULL,
    rule       text,
    attempt_id text,
    detail     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, livemode, invoice_id, entry)
);
COMMENT ON TABLE anchorhold.journal IS
    'What happened to an invoice, written by the transaction that did it.';

CREATE TABLE anchorhold.tick (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    id         text NOT NULL,
    worker     text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at   timestamptz,
    counts     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, livemode, id)
);
"""

PARTS = (CLOCK, ACCOUNTS, CUSTOMERS, INVOICES, INTENTS, ATTEMPTS, PAYMENTS, JOURNAL)


def upgrade() -> None:
    """The base tables exist in the schema `anchorhold`, which the migrator made."""
    for part in PARTS:
        op.execute(part)
