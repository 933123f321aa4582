"""News from Stripe: events and their cursor, refunds, disputes, notices that end (section 9)."""

from alembic import op

revision = "0005"
down_revision = "0004"

EVENTS = """
CREATE TABLE anchorhold.event (
    account_id      text NOT NULL,
    livemode        boolean NOT NULL,
    id              text NOT NULL,
    stripe_account  text NOT NULL,
    type            text NOT NULL,
    created         timestamptz NOT NULL,
    object_id       text NOT NULL,
    intent_id       text,
    named_invoice   text,
    idempotency_key text,
    summary         jsonb NOT NULL,
    source          text NOT NULL CHECK (source IN ('catch_up', 'webhook')),
    state           text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'unmatched', 'done', 'given_up')),
    invoice_id      text,
    rule            text,
    taken_at        timestamptz NOT NULL DEFAULT anchorhold.now(),
    look_at         timestamptz NOT NULL DEFAULT anchorhold.now(),
    done_at         timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT event_done_has_a_time
        CHECK ((state IN ('done', 'given_up')) = (done_at IS NOT NULL))
) WITH (fillfactor = 85);
CREATE INDEX event_waiting ON anchorhold.event (account_id, livemode, look_at)
    WHERE state IN ('waiting', 'unmatched');
CREATE INDEX event_unmatched ON anchorhold.event (account_id, livemode, intent_id)
    WHERE state = 'unmatched';
CREATE INDEX event_created ON anchorhold.event (account_id, livemode, created, id);
CREATE INDEX event_invoice ON anchorhold.event (account_id, livemode, invoice_id, created)
    WHERE invoice_id IS NOT NULL;
COMMENT ON TABLE anchorhold.event IS
    'What Stripe told: verified or read from it, each once; safe fields, never the payload.';

CREATE TABLE anchorhold.event_cursor (
    account_id     text NOT NULL,
    livemode       boolean NOT NULL,
    stripe_account text NOT NULL,
    read_to        timestamptz NOT NULL,
    read_at        timestamptz,
    PRIMARY KEY (account_id, livemode, stripe_account),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account
);
COMMENT ON COLUMN anchorhold.event_cursor.read_to IS
    'All events that Stripe had made by then are rows of ours; less an hour, where reading begins.';
"""

LADDER = """
CREATE FUNCTION anchorhold.wait_of(age interval, after_s float8[], wait_s float8[])
RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT make_interval(secs => coalesce(
        (SELECT w FROM unnest(after_s, wait_s) AS rung (a, w)
          WHERE a <= extract(epoch FROM age) ORDER BY a DESC LIMIT 1), wait_s[1]))
$$;
COMMENT ON FUNCTION anchorhold.wait_of IS
    'The wait after a look at this age; the rungs come from domain/ladder.py.';
"""

PAYMENTS = """
ALTER TABLE anchorhold.payment
    ADD COLUMN amount_applied bigint NOT NULL DEFAULT 0,
    ADD COLUMN refund_seq integer NOT NULL DEFAULT 0,
    ADD COLUMN dispute_id text,
    ADD COLUMN dispute text CONSTRAINT payment_dispute_check
        CHECK (dispute IN ('inquiry', 'open', 'won', 'lost', 'closed')),
    ADD CONSTRAINT dispute_has_an_id CHECK ((dispute IS NULL) = (dispute_id IS NULL)),
    ADD CONSTRAINT payment_applied_within CHECK (amount_applied BETWEEN 0 AND amount);
COMMENT ON COLUMN anchorhold.payment.amount_applied IS
    'How much of it counts towards the invoice: what a lost dispute takes back.';

CREATE TABLE anchorhold.refund (
    account_id       text NOT NULL,
    livemode         boolean NOT NULL,
    id               text NOT NULL,
    payment_id       text NOT NULL,
    invoice_id       text NOT NULL,
    stripe_intent_id text NOT NULL,
    stripe_refund_id text,
    amount           bigint NOT NULL CHECK (amount > 0),
    currency         text NOT NULL,
    state            text NOT NULL CHECK (state IN (
        'requested', 'refused', 'not_made', 'pending', 'requires_action', 'succeeded', 'failed',
        'canceled')),
    actor            text NOT NULL,
    reason           text NOT NULL DEFAULT '',
    idempotency_key  text,
    params           json,
    error            text,
    created_at       timestamptz NOT NULL DEFAULT anchorhold.now(),
    look_at          timestamptz NOT NULL DEFAULT anchorhold.now(),
    ended_at         timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    CONSTRAINT refund_id_once UNIQUE (account_id, livemode, stripe_refund_id),
    CONSTRAINT refund_key_once UNIQUE (account_id, livemode, idempotency_key),
    FOREIGN KEY (account_id, livemode, payment_id) REFERENCES anchorhold.payment,
    CONSTRAINT refund_has_a_trace CHECK (stripe_refund_id IS NOT NULL
        OR (idempotency_key IS NOT NULL AND params IS NOT NULL)),
    CONSTRAINT refund_at_stripe_has_an_id
        CHECK (state IN ('requested', 'refused', 'not_made') OR stripe_refund_id IS NOT NULL)
);
CREATE UNIQUE INDEX refund_one_request ON anchorhold.refund (account_id, livemode, payment_id)
    WHERE state = 'requested';
CREATE INDEX refund_payment ON anchorhold.refund (account_id, livemode, payment_id, id);
CREATE INDEX refund_unfinished ON anchorhold.refund (account_id, livemode, look_at)
    WHERE state = 'requested';
COMMENT ON TABLE anchorhold.refund IS
    'Money given back: ours are committed before they are sent; Stripe''s are read from it.';
"""

NOTICES = """
CREATE FUNCTION anchorhold.notice_id(source text, code text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'ntc_' || substr(source, 5, 16) || upper(left(md5(source || code), 10))
$$;
COMMENT ON FUNCTION anchorhold.notice_id IS
    'An id for the notice of this code about this attempt or invoice, sorted by its time.';

CREATE FUNCTION anchorhold.tell_of_park() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.payment_status = 'unknown' AND NEW.intent_id IS NULL
       AND NEW.followed_intent_id IS NULL THEN
        INSERT INTO anchorhold.notice
               (account_id, livemode, id, code, invoice_id, subject, evidence)
        VALUES (NEW.account_id, NEW.livemode,
                anchorhold.notice_id(NEW.hold_attempt, 'charge.unidentifiable'),
                'charge.unidentifiable', NEW.id, NEW.hold_attempt,
                jsonb_build_object('attempt_id', NEW.hold_attempt,
                                   'amount', NEW.amount_due - NEW.amount_paid,
                                   'currency', NEW.currency, 'hold_until', NEW.hold_until))
        ON CONFLICT DO NOTHING;
    ELSE
        UPDATE anchorhold.notice
           SET resolved_at = anchorhold.now(), resolved_by = 'anchorhold',
               resolution = 'Stripe''s answer is known, or the wait is over'
         WHERE account_id = NEW.account_id AND livemode = NEW.livemode
           AND code = 'charge.unidentifiable' AND invoice_id = NEW.id
           AND resolved_at IS NULL;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER invoice_park AFTER UPDATE ON anchorhold.invoice FOR EACH ROW
    WHEN ((NEW.payment_status = 'unknown' AND NEW.intent_id IS NULL
           AND NEW.followed_intent_id IS NULL)
          IS DISTINCT FROM
          (OLD.payment_status = 'unknown' AND OLD.intent_id IS NULL
           AND OLD.followed_intent_id IS NULL))
    EXECUTE FUNCTION anchorhold.tell_of_park();
COMMENT ON FUNCTION anchorhold.tell_of_park IS
    'A parked charge is told as a warning, in the transaction that parks it, until it ends.';
"""

CUSTOMERS = """
CREATE INDEX stripe_customer_refused ON anchorhold.stripe_customer
    (account_id, livemode, stripe_account) WHERE refused_code IS NOT NULL;
"""

PARTS = (EVENTS, LADDER, PAYMENTS, NOTICES, CUSTOMERS)


def upgrade() -> None:
    """New tables and columns; rows of the base schema stay as they are."""
    for part in PARTS:
        op.execute(part)
