"""The whole protocol: direct mode, every close, credit, and how a notice ends (sections 2 to 8)."""

from alembic import op

revision = "0003"
down_revision = "0002"

ACCOUNTS = """
ALTER TABLE anchorhold.account
    DROP CONSTRAINT account_charge_mode_check,
    ADD CONSTRAINT account_charge_mode_check CHECK (charge_mode IN ('prepared', 'direct')),
    ADD COLUMN sweep_mode text NOT NULL DEFAULT 'fence'
        CONSTRAINT account_sweep_mode_check CHECK (sweep_mode IN ('fence', 'adr')),
    ADD COLUMN after_presumed_none text NOT NULL DEFAULT 'recharge'
        CONSTRAINT account_after_presumed_none_check
        CHECK (after_presumed_none IN ('recharge', 'operator'));
COMMENT ON COLUMN anchorhold.account.sweep_mode IS
    'Direct mode only: fence proves that a charge never ran; adr waits and presumes.';
"""

ATTEMPTS = """
ALTER TABLE anchorhold.attempt
    ALTER COLUMN stripe_account DROP NOT NULL,
    ALTER COLUMN stripe_customer_id DROP NOT NULL,
    DROP CONSTRAINT attempt_state_check,
    ADD CONSTRAINT attempt_state_check CHECK (state IN (
        'claimed', 'sending', 'succeeded', 'failed', 'processing', 'unknown', 'not_sent',
        'superseded', 'fenced', 'presumed_none')),
    DROP CONSTRAINT attempt_cause_check,
    ADD CONSTRAINT attempt_cause_check CHECK (cause IN (
        'answered', 'breaker_open', 'connect_failed', 'deadline_passed', 'credentials_unreadable',
        'recheck_refused', 'account_refused', 'rate_limited', 'another_request', 'connection_lost',
        'deadline', 'unreadable_answer', 'server_error', 'key_reused', 'intent_not_shown',
        'intent_canceled', 'customer_is_paying', 'intent_succeeded', 'no_trace',
        'caller_cancelled', 'never_ran', 'nothing_after_a_day', 'done', 'refused',
        'owner_gone')),
    ADD CONSTRAINT charge_has_a_customer CHECK (kind NOT IN ('auto', 'dunning', 'collect')
        OR (stripe_account IS NOT NULL AND stripe_customer_id IS NOT NULL));
"""

INVOICES = """
ALTER TABLE anchorhold.invoice
    ADD COLUMN closed_at timestamptz,
    ADD COLUMN close_reason text,
    ADD CONSTRAINT only_closed_has_a_time
        CHECK (closed_at IS NULL OR status IN ('void', 'uncollectible', 'paid'));
COMMENT ON COLUMN anchorhold.invoice.close_reason IS
    'Why a person or a policy ended it, in their words.';
"""

PAYMENTS = """
ALTER TABLE anchorhold.payment
    ALTER COLUMN stripe_intent_id DROP NOT NULL,
    ALTER COLUMN stripe_account DROP NOT NULL,
    DROP CONSTRAINT payment_source_check,
    ADD CONSTRAINT payment_source_check CHECK (source IN (
        'answer', 'sweep', 'follower', 'prepare', 'watch', 'close', 'audit', 'recover', 'page',
        'webhook', 'elsewhere', 'credit')),
    ADD COLUMN elsewhere text,
    ADD CONSTRAINT only_ours_has_no_intent
        CHECK ((stripe_intent_id IS NULL) = (source IN ('elsewhere', 'credit'))),
    ADD CONSTRAINT stripe_payment_has_an_account
        CHECK (stripe_intent_id IS NULL OR stripe_account IS NOT NULL);
COMMENT ON COLUMN anchorhold.payment.elsewhere IS
    'How an offline payment was made, for people: "bank transfer 2026-11-30".';
"""

CREDIT = """
CREATE TABLE anchorhold.credit_balance (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    customer_id text NOT NULL,
    currency    text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    balance     bigint NOT NULL CONSTRAINT credit_is_never_negative CHECK (balance >= 0),
    PRIMARY KEY (account_id, livemode, customer_id, currency),
    FOREIGN KEY (account_id, livemode, customer_id) REFERENCES anchorhold.customer
);

CREATE TABLE anchorhold.credit_entry (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    id          text NOT NULL,
    customer_id text NOT NULL,
    currency    text NOT NULL,
    amount      bigint NOT NULL CHECK (amount <> 0),
    balance     bigint NOT NULL CHECK (balance >= 0),
    invoice_id  text,
    reason      text NOT NULL,
    actor       text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id, livemode, customer_id, currency)
        REFERENCES anchorhold.credit_balance,
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice
);
CREATE INDEX credit_entry_customer ON anchorhold.credit_entry
    (account_id, livemode, customer_id, id);
COMMENT ON TABLE anchorhold.credit_entry IS
    'What changed a credit balance, append-only: given above zero, applied below.';
"""

NOTICES = """
ALTER TABLE anchorhold.notice
    ALTER COLUMN invoice_id DROP NOT NULL,
    ADD COLUMN resolution text,
    ADD CONSTRAINT resolved_says_how
        CHECK ((resolved_at IS NULL) = (resolution IS NULL)
           AND (resolved_at IS NULL) = (resolved_by IS NULL));
"""

PARTS = (ACCOUNTS, ATTEMPTS, INVOICES, PAYMENTS, CREDIT, NOTICES)


def upgrade() -> None:
    """Rows of the base schema stay as they are; the new columns have their defaults."""
    for part in PARTS:
        op.execute(part)
