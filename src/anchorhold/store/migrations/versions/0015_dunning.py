"""Dunning: policies and who has which, runs and their steps (protocol section 10).

A run ends in the transaction that closes its invoice, and comes due in the one that gives its
customer another payment method: whoever does either, nothing has to be told.
"""

from alembic import op

revision = "0015"
down_revision = "0014"

POLICIES = """
CREATE TABLE anchorhold.dunning_policy (
    account_id   text NOT NULL,
    livemode     boolean NOT NULL,
    id           text NOT NULL,
    name         text NOT NULL,
    waits_hours  integer[] NOT NULL
        CONSTRAINT dunning_policy_waits CHECK (cardinality(waits_hours) BETWEEN 1 AND 7
                                               AND 0 < ALL (waits_hours)),
    at           time,
    zone         text NOT NULL,
    final_action text NOT NULL
        CHECK (final_action IN ('cancel', 'mark_uncollectible', 'pause', 'leave')),
    created_at   timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT dunning_policy_name UNIQUE (account_id, livemode, name),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);
COMMENT ON TABLE anchorhold.dunning_policy IS
    'Never changed: a run keeps the policy that it began with.';

CREATE TABLE anchorhold.dunning_assignment (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    customer_id text,
    policy_id   text NOT NULL,
    CONSTRAINT dunning_assignment_once
        UNIQUE NULLS NOT DISTINCT (account_id, livemode, customer_id),
    FOREIGN KEY (account_id, livemode, customer_id) REFERENCES anchorhold.customer,
    FOREIGN KEY (account_id, livemode, policy_id) REFERENCES anchorhold.dunning_policy
);
COMMENT ON COLUMN anchorhold.dunning_assignment.customer_id IS
    'NULL: for every customer that has none of its own.';
"""

RUNS = """
CREATE TABLE anchorhold.dunning_run (
    account_id    text NOT NULL,
    livemode      boolean NOT NULL,
    id            text NOT NULL,
    invoice_id    text NOT NULL,
    customer_id   text NOT NULL,
    policy_id     text NOT NULL,
    step          integer NOT NULL DEFAULT 0 CHECK (step >= 0),
    next_at       timestamptz NOT NULL DEFAULT anchorhold.now(),
    next_step     text CHECK (next_step IN ('retry', 'final')),
    rule          text,
    paused_at     timestamptz,
    paused_reason text,
    outcome       text CHECK (
        outcome IN ('recovered', 'voided', 'written_off', 'set_aside', 'left')),
    opened_at     timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at      timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT dunning_run_once UNIQUE (account_id, livemode, invoice_id),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice,
    FOREIGN KEY (account_id, livemode, policy_id) REFERENCES anchorhold.dunning_policy,
    CONSTRAINT run_ends_with_an_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT run_is_paused_with_a_reason
        CHECK ((paused_at IS NULL) = (paused_reason IS NULL)),
    CONSTRAINT run_knows_its_rule CHECK ((next_step IS NULL) = (rule IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX dunning_run_due ON anchorhold.dunning_run (account_id, livemode, next_at, id)
    WHERE ended_at IS NULL AND paused_at IS NULL;
CREATE INDEX dunning_run_open ON anchorhold.dunning_run (account_id, livemode, id)
    WHERE ended_at IS NULL;
CREATE INDEX dunning_run_customer ON anchorhold.dunning_run (account_id, livemode, customer_id)
    WHERE ended_at IS NULL;
COMMENT ON COLUMN anchorhold.dunning_run.step IS
    'How many steps were begun; who begins one compares it.';

CREATE TABLE anchorhold.dunning_step (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    run_id     text NOT NULL,
    number     integer NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('retry', 'final')),
    state      text NOT NULL DEFAULT 'claimed' CHECK (state IN (
        'claimed', 'paid', 'declined', 'unclear', 'not_sent', 'skipped', 'done',
        'refused')),
    rule       text NOT NULL,
    said       text NOT NULL DEFAULT '',
    actor      text NOT NULL,
    begun_at   timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at   timestamptz,
    PRIMARY KEY (account_id, livemode, run_id, number),
    FOREIGN KEY (account_id, livemode, run_id) REFERENCES anchorhold.dunning_run,
    CONSTRAINT step_ends_once CHECK ((state = 'claimed') = (ended_at IS NULL))
);
"""

LOOKS = """
CREATE INDEX invoice_failed ON anchorhold.invoice (account_id, livemode, id)
    WHERE status = 'open' AND payment_status = 'failed' AND hold_until IS NULL
      AND collection = 'auto' AND blocked_reason IS DISTINCT FROM 'setup';
CREATE INDEX attempt_declined ON anchorhold.attempt
    (account_id, livemode, payment_method, ended_at) WHERE state = 'failed';
"""

TRIGGERS = """
CREATE FUNCTION anchorhold.end_dunning() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH ended AS (
        UPDATE anchorhold.dunning_run r
           SET ended_at = anchorhold.now(),
               outcome = CASE NEW.status WHEN 'paid' THEN 'recovered' WHEN 'void' THEN 'voided'
                                         ELSE 'written_off' END
         WHERE r.account_id = NEW.account_id AND r.livemode = NEW.livemode
           AND r.invoice_id = NEW.id AND r.ended_at IS NULL
        RETURNING r.account_id, r.livemode, r.id, r.invoice_id, r.outcome
    )
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT account_id, livemode, invoice_id, 'anchorhold', 'dunning.finished',
           jsonb_build_object('run_id', id, 'outcome', outcome)
      FROM ended;
    RETURN NULL;
END $$;
CREATE TRIGGER invoice_dunning AFTER UPDATE ON anchorhold.invoice FOR EACH ROW
    WHEN (OLD.status = 'open' AND NEW.status IN ('paid', 'void', 'uncollectible'))
    EXECUTE FUNCTION anchorhold.end_dunning();
COMMENT ON FUNCTION anchorhold.end_dunning IS
    'The run of an invoice ends in the transaction that closes the invoice, whoever does.';

CREATE FUNCTION anchorhold.dun_new_method() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE anchorhold.dunning_run r
       SET next_at = least(r.next_at, anchorhold.now())
     WHERE r.account_id = NEW.account_id AND r.livemode = NEW.livemode
       AND r.customer_id = NEW.customer_id AND r.ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER stripe_customer_dunning
    AFTER UPDATE OF payment_method ON anchorhold.stripe_customer FOR EACH ROW
    WHEN (NEW.payment_method IS NOT NULL
          AND NEW.payment_method IS DISTINCT FROM OLD.payment_method)
    EXECUTE FUNCTION anchorhold.dun_new_method();
COMMENT ON FUNCTION anchorhold.dun_new_method IS
    'A customer''s runs are looked at again once another payment method can be charged.';
"""

PARTS = (POLICIES, RUNS, LOOKS, TRIGGERS)


def upgrade() -> None:
    """New tables and indexes; nothing is dunned before a policy is assigned."""
    for part in PARTS:
        op.execute(part)
