"""Prices, subscriptions, and the renewal's invoice as its anchor (protocol section 10)."""

from alembic import op

revision = "0014"
down_revision = "0013"

PRICES = """
CREATE TABLE anchorhold.price (
    account_id     text NOT NULL,
    livemode       boolean NOT NULL,
    id             text NOT NULL,
    reference      text NOT NULL,
    currency       text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    unit_amount    bigint NOT NULL CHECK (unit_amount >= 0),
    scheme         text NOT NULL CHECK (scheme IN ('flat', 'per_unit')),
    interval_unit  text NOT NULL CHECK (interval_unit IN ('week', 'month', 'year')),
    interval_count integer NOT NULL CHECK (interval_count BETWEEN 1 AND 120),
    billing        text NOT NULL CHECK (billing IN ('in_advance', 'in_arrears')),
    created_at     timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT price_reference UNIQUE (account_id, livemode, reference),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);
COMMENT ON TABLE anchorhold.price IS 'What a period costs. A row never changes.';
"""

SUBSCRIPTIONS = """
CREATE TABLE anchorhold.subscription (
    account_id     text NOT NULL,
    livemode       boolean NOT NULL,
    id             text NOT NULL,
    reference      text NOT NULL,
    customer_id    text NOT NULL,
    currency       text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    interval_unit  text NOT NULL CHECK (interval_unit IN ('week', 'month', 'year')),
    interval_count integer NOT NULL CHECK (interval_count BETWEEN 1 AND 120),
    billing        text NOT NULL CHECK (billing IN ('in_advance', 'in_arrears')),
    collection     text NOT NULL DEFAULT 'auto' CHECK (collection IN ('auto', 'manual')),
    net_days       integer NOT NULL DEFAULT 0 CHECK (net_days BETWEEN 0 AND 365),
    anchor         timestamp NOT NULL,
    anchor_day     integer NOT NULL CHECK (anchor_day BETWEEN 1 AND 31),
    zone_name      text NOT NULL,
    starts_at      timestamptz NOT NULL,
    ends_at        timestamptz,
    status         text NOT NULL DEFAULT 'active'
        CHECK (status IN ('active', 'paused', 'canceled')),
    pause_reason   text CHECK (pause_reason IN ('operator', 'behind')),
    next_number    integer NOT NULL,
    next_at        timestamptz,
    look_at        timestamptz,
    created_at     timestamptz NOT NULL DEFAULT anchorhold.now(),
    canceled_at    timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT subscription_reference UNIQUE (account_id, livemode, reference),
    FOREIGN KEY (account_id, livemode, customer_id) REFERENCES anchorhold.customer,
    CONSTRAINT paused_has_a_reason CHECK ((status = 'paused') = (pause_reason IS NOT NULL)),
    CONSTRAINT canceled_has_a_time CHECK ((status = 'canceled') = (canceled_at IS NOT NULL)),
    CONSTRAINT only_canceled_has_nothing_next
        CHECK ((status = 'canceled') = (next_at IS NULL)),
    CONSTRAINT only_active_is_looked_at CHECK ((status = 'active') = (look_at IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX subscription_due ON anchorhold.subscription (account_id, livemode, look_at)
    WHERE look_at IS NOT NULL;
CREATE INDEX subscription_customer ON anchorhold.subscription
    (account_id, livemode, customer_id, id);
COMMENT ON COLUMN anchorhold.subscription.anchor IS
    'A wall time in the zone: periods are counted from it, never from the one before.';
COMMENT ON COLUMN anchorhold.subscription.look_at IS
    'When a pass may look again: when the next period is due, or when another''s lease ends.';

CREATE TABLE anchorhold.subscription_item (
    account_id      text NOT NULL,
    livemode        boolean NOT NULL,
    subscription_id text NOT NULL,
    price_id        text NOT NULL,
    quantity        integer NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    PRIMARY KEY (account_id, livemode, subscription_id, price_id),
    FOREIGN KEY (account_id, livemode, subscription_id) REFERENCES anchorhold.subscription,
    FOREIGN KEY (account_id, livemode, price_id) REFERENCES anchorhold.price
);

CREATE TABLE anchorhold.subscription_entry (
    account_id      text NOT NULL,
    livemode        boolean NOT NULL,
    subscription_id text NOT NULL,
    entry           bigint GENERATED ALWAYS AS IDENTITY,
    at              timestamptz NOT NULL DEFAULT anchorhold.now(),
    actor           text NOT NULL,
    what            text NOT NULL,
    detail          jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, livemode, subscription_id, entry)
);
COMMENT ON TABLE anchorhold.subscription_entry IS
    'What happened to a subscription, written by the transaction that did it.';
"""

INVOICES = """
CREATE TABLE anchorhold.invoice_number (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    last       bigint NOT NULL,
    PRIMARY KEY (account_id, livemode),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);
COMMENT ON TABLE anchorhold.invoice_number IS
    'The last number given. It is taken by the commit that opens the invoice: there are no gaps.';

ALTER TABLE anchorhold.invoice
    ADD COLUMN number          bigint,
    ADD COLUMN subscription_id text,
    ADD COLUMN period_start    timestamptz,
    ADD COLUMN period_end      timestamptz,
    ADD FOREIGN KEY (account_id, livemode, subscription_id) REFERENCES anchorhold.subscription,
    ADD CONSTRAINT renewal_has_a_period CHECK (
        (subscription_id IS NULL AND period_start IS NULL AND period_end IS NULL)
        OR (subscription_id IS NOT NULL AND number IS NOT NULL AND period_start IS NOT NULL
            AND period_end IS NOT NULL AND period_start < period_end));
CREATE UNIQUE INDEX invoice_renewal ON anchorhold.invoice
    (account_id, livemode, subscription_id, period_start) WHERE subscription_id IS NOT NULL;
CREATE UNIQUE INDEX invoice_number_once ON anchorhold.invoice (account_id, livemode, number)
    WHERE number IS NOT NULL;
COMMENT ON INDEX anchorhold.invoice_renewal IS
    'The anchor: PostgreSQL itself refuses a second invoice of one period.';

CREATE TABLE anchorhold.invoice_line (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    invoice_id  text NOT NULL,
    n           integer NOT NULL CHECK (n > 0),
    price_id    text,
    description text NOT NULL,
    quantity    integer NOT NULL CHECK (quantity > 0),
    amount      bigint NOT NULL,
    PRIMARY KEY (account_id, livemode, invoice_id, n),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice,
    FOREIGN KEY (account_id, livemode, price_id) REFERENCES anchorhold.price
);
"""

PARTS = (PRICES, SUBSCRIPTIONS, INVOICES)


def upgrade() -> None:
    """New tables; an invoice can be of a subscription's period."""
    for part in PARTS:
        op.execute(part)
