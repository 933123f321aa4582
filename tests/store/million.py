"""A database with a million invoices, as one looks after some years."""

import psycopg
from psycopg.rows import TupleRow

COUNTS = {"due": 20_000, "stale": 500, "held": 200, "followed": 3_000, "watched": 3_000,
          "unprepared": 3_000, "blocked": 5_000, "failed": 20_000, "later": 30_000,
          "void": 20_000, "uncollectible": 20_000, "draft": 5_000}  # fmt: skip
INVOICES = 1_000_000
CUSTOMERS = 100_000
BIG = ("invoice", "intent", "attempt", "payment", "customer", "stripe_customer", "journal",
       "message", "webhook_delivery", "event_delivery", "dunning_run", "dunning_step",
       "subscription", "subscription_item",
       "subscription_entry", "invoice_line")  # fmt: skip

# Every fourth of the paid ones still has its intent, attempt, payment and journal here.
KEPT = "(kind <> 'paid' OR n %% 4 = 0)"

# A number times a prime, modulo a million, mixes the kinds as years do.
PRIME = 7919
NUMBERED = """
    CREATE TEMP TABLE numbered AS
    SELECT n, lpad(n::text, 26, '0') AS id, lpad((n %% {customers})::text, 26, '0') AS customer,
           CASE {cases} ELSE 'paid' END AS kind, now() AS at
      FROM (SELECT n, n::bigint * {prime} %% {invoices} AS mixed
              FROM generate_series(0, {invoices} - 1) n) AS n
"""
LOADS = (
    """
    INSERT INTO anchorhold.account (id, name) VALUES ('acc_ours', 'ours')
    """,
    """
    INSERT INTO anchorhold.connection
           (account_id, livemode, stripe_account, secret_key, key_last4, key_fingerprint)
    VALUES ('acc_ours', false, 'acct_1', 'sealed', '1234', 'fingerprint')
    """,
    """
    INSERT INTO anchorhold.customer (account_id, livemode, id, reference, email, payment_method)
    SELECT 'acc_ours', false, 'cus_' || id, 'C' || id, 'c@example.com', 'pm_card_visa'
      FROM numbered WHERE n < {customers}
    """,
    """
    INSERT INTO anchorhold.stripe_customer
           (account_id, livemode, customer_id, stripe_account, params, stripe_customer_id,
            requested_method, payment_method)
    SELECT 'acc_ours', false, 'cus_' || id, 'acct_1', '{{}}', 'cus_stripe' || n, 'pm_card_visa',
           CASE WHEN n %% 50 > 0 THEN 'pm_' || n END
      FROM numbered WHERE n < {customers}
    """,
    """
    INSERT INTO anchorhold.invoice
           (account_id, livemode, id, customer_id, reference, currency, amount_due, amount_paid,
            status, payment_status, blocked_reason, charge_seq, hold_until, hold_attempt,
            intent_id, followed_intent_id, followed_at, due_at, next_attempt_at, prepare_at,
            created_at, paid_at)
    SELECT 'acc_ours', false, 'inv_' || id, 'cus_' || customer, 'R' || id, 'eur', 14900,
           CASE WHEN kind = 'paid' THEN 14900 ELSE 0 END,
           CASE WHEN kind IN ('paid', 'void', 'uncollectible', 'draft') THEN kind
                ELSE 'open' END,
           CASE kind WHEN 'paid' THEN 'succeeded' WHEN 'followed' THEN 'processing'
                     WHEN 'stale' THEN 'unknown' WHEN 'failed' THEN 'failed'
                     WHEN 'blocked' THEN 'failed' ELSE 'pending' END,
           CASE kind WHEN 'blocked' THEN 'setup' END,
           CASE WHEN kind IN ('due', 'later', 'unprepared', 'draft', 'stale', 'held') THEN 0
                ELSE 1 END,
           CASE kind WHEN 'stale' THEN at - interval '20 min'
                     WHEN 'held' THEN at + interval '4 min' END,
           CASE WHEN kind IN ('stale', 'held') THEN 'att_' || id END,
           CASE WHEN kind IN ('paid', 'void', 'draft', 'unprepared', 'blocked') THEN NULL
                ELSE 'pi_' || id END,
           CASE kind WHEN 'followed' THEN 'pi_' || id END,
           CASE kind WHEN 'followed' THEN at - interval '1 day' END,
           at, CASE kind WHEN 'due' THEN at - make_interval(secs => n %% 86400)
                         ELSE at + interval '3 days' + make_interval(secs => n %% 86400) END,
           at - interval '1 hour', at - make_interval(mins => n),
           CASE kind WHEN 'paid' THEN at END
      FROM numbered
    """,
    """
    INSERT INTO anchorhold.intent
           (account_id, livemode, invoice_id, number, stripe_intent_id, idempotency_key, params,
            amount, currency, stripe_account, state, watched_since, watch_at)
    SELECT 'acc_ours', false, 'inv_' || id, 1, 'pi_' || id, 'anchorhold-intent-' || md5(id),
           '{{}}', 14900, 'eur', 'acct_1',
           CASE kind WHEN 'paid' THEN 'succeeded' WHEN 'void' THEN 'canceled' ELSE 'live' END,
           CASE kind WHEN 'watched' THEN at - interval '1 day' END,
           CASE kind WHEN 'watched' THEN at - interval '1 hour' END
      FROM numbered WHERE kind NOT IN ('draft', 'unprepared', 'blocked') AND {kept}
    """,
    """
    INSERT INTO anchorhold.attempt
           (account_id, livemode, id, invoice_id, seq, kind, actor, state, cause, found_status,
            amount, currency, stripe_account, stripe_customer_id, payment_method, intent_id,
            idempotency_key, params, hold_until, claimed_at, sent_at)
    SELECT 'acc_ours', false, 'att_' || id, 'inv_' || id, 0, 'auto', 'worker',
           CASE kind WHEN 'paid' THEN 'succeeded' WHEN 'followed' THEN 'processing'
                     WHEN 'watched' THEN 'superseded' WHEN 'stale' THEN 'unknown'
                     WHEN 'held' THEN 'claimed' ELSE 'failed' END,
           'answered', 'pending', 14900, 'eur', 'acct_1', 'cus_stripe' || n, 'pm_' || n,
           'pi_' || id, 'anchorhold-charge-' || md5(id), '{{"off_session":true}}',
           CASE kind WHEN 'stale' THEN at - interval '20 min'
                     ELSE at + interval '4 min' END, at, at
      FROM numbered
     WHERE kind IN ('paid', 'followed', 'watched', 'stale', 'held', 'failed', 'uncollectible')
       AND {kept}
    """,
    """
    INSERT INTO anchorhold.payment
           (account_id, livemode, id, invoice_id, stripe_intent_id, stripe_account, charge_id,
            amount, currency, source)
    SELECT 'acc_ours', false, 'pay_' || id, 'inv_' || id, 'pi_' || id, 'acct_1', 'ch_' || n,
           14900, 'eur', 'answer'
      FROM numbered WHERE kind = 'paid' AND {kept}
    """,
    """
    INSERT INTO anchorhold.event
           (account_id, livemode, id, stripe_account, type, created, object_id, intent_id,
            idempotency_key, summary, source, state, invoice_id, rule, look_at, done_at)
    SELECT 'acc_ours', false, 'evt_' || id, 'acct_1', 'payment_intent.succeeded',
           at - make_interval(mins => n), 'pi_' || id, 'pi_' || id, 'key_' || n, '{{}}', 'catch_up',
           CASE WHEN n %% 500 = 0 THEN 'waiting' WHEN n %% 501 = 0 THEN 'unmatched' ELSE 'done' END,
           'inv_' || id, 'N1', at - interval '1 hour',
           CASE WHEN n %% 500 <> 0 AND n %% 501 <> 0 THEN at END
      FROM numbered WHERE kind = 'paid' AND {kept}
    """,
    """
    INSERT INTO anchorhold.event_cursor (account_id, livemode, stripe_account, read_to, read_at)
    SELECT 'acc_ours', false, 'acct_1', now() - interval '40 days', now() - interval '40 days'
    """,
    """
    INSERT INTO anchorhold.refund
           (account_id, livemode, id, payment_id, invoice_id, stripe_intent_id, stripe_refund_id,
            amount, currency, state, actor, idempotency_key, params, created_at, look_at)
    SELECT 'acc_ours', false, 'rfd_' || id, 'pay_' || id, 'inv_' || id, 'pi_' || id,
           CASE WHEN n %% 200 > 0 THEN 're_' || n END, 500, 'eur',
           CASE WHEN n %% 200 > 0 THEN 'succeeded' ELSE 'requested' END, 'operator', 'rfd_' || n,
           '{{}}', at - interval '1 hour', at - interval '1 hour'
      FROM numbered WHERE kind = 'paid' AND n %% 20 = 0
    """,
    """
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what)
    SELECT 'acc_ours', false, 'inv_' || id, 'worker', 'payment.paid'
      FROM numbered WHERE {kept}
    """,
    """
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence, resolved_at,
            resolved_by, resolution)
    SELECT 'acc_ours', false, 'ntc_' || id, 'collection.blocked', 'inv_' || id, 'x', '{{}}',
           CASE WHEN n %% 10 > 0 THEN at END, CASE WHEN n %% 10 > 0 THEN 'operator' END,
           CASE WHEN n %% 10 > 0 THEN 'the card was replaced' END
      FROM numbered WHERE kind = 'blocked'
    """,
    """
    INSERT INTO anchorhold.webhook_endpoint
           (account_id, livemode, id, url, secret, after_entry)
    VALUES ('acc_ours', false, 'whe_1', 'https://example.com', 'sealed', 0)
    """,
    """
    INSERT INTO anchorhold.message
           (account_id, livemode, id, type, invoice_id, sequence, data, at)
    SELECT 'acc_ours', false, 'msg_' || id, 'invoice.paid', 'inv_' || id, n, '{{}}', at
      FROM numbered WHERE kind = 'paid' AND {kept} AND n %% 3 = 0
    """,
    """
    INSERT INTO anchorhold.webhook_delivery
           (account_id, livemode, id, endpoint_id, message_id, state, tries, next_try_at, ended_at)
    SELECT 'acc_ours', false, 'dlv_' || id, 'whe_1', 'msg_' || id,
           CASE WHEN n %% 90 = 0 THEN 'waiting' ELSE 'delivered' END, 1,
           at - make_interval(secs => n %% 600), CASE WHEN n %% 90 > 0 THEN at END
      FROM numbered WHERE kind = 'paid' AND {kept} AND n %% 3 = 0
    """,
    """
    INSERT INTO anchorhold.price
           (account_id, livemode, id, reference, currency, unit_amount, scheme, interval_unit,
            interval_count, billing)
    VALUES ('acc_ours', false, 'pri_1', 'plan', 'eur', 900, 'flat', 'month', 1, 'in_advance')
    """,
    """
    INSERT INTO anchorhold.subscription
           (account_id, livemode, id, reference, customer_id, currency, interval_unit,
            interval_count, billing, anchor, anchor_day, zone_name, starts_at, next_number,
            next_at, look_at)
    SELECT 'acc_ours', false, 'sub_' || id, 'S' || id, 'cus_' || customer, 'eur', 'month', 1,
           'in_advance', next AT TIME ZONE 'UTC', extract(day FROM next AT TIME ZONE 'UTC'), 'UTC',
           next, 0, next, next
      FROM (SELECT *, at + make_interval(hours => CASE WHEN n %% 20 = 0 THEN -n %% 700
                                                       ELSE 1 + n %% 700 END) AS next
              FROM numbered WHERE n < {customers}) AS dated
    """,
    """
    INSERT INTO anchorhold.subscription_item
           (account_id, livemode, subscription_id, price_id, quantity)
    SELECT 'acc_ours', false, 'sub_' || id, 'pri_1', 1 FROM numbered WHERE n < {customers}
    """,
    """
    INSERT INTO anchorhold.subscription_entry
           (account_id, livemode, subscription_id, actor, what)
    SELECT 'acc_ours', false, 'sub_' || id, 'operator', 'subscription.created'
      FROM numbered WHERE n < {customers}
    """,
    """
    INSERT INTO anchorhold.invoice_line
           (account_id, livemode, invoice_id, n, description, quantity, amount)
    SELECT 'acc_ours', false, 'inv_' || id, 1, 'plan', 1, 14900 FROM numbered WHERE n %% 10 = 0
    """,
    """
    INSERT INTO anchorhold.dunning_policy (account_id, livemode, id, name, waits_hours, zone,
                                           final_action)
    VALUES ('acc_ours', false, 'dpo_1', 'gentle', '{{24,72}}', 'UTC', 'leave')
    """,
    """
    INSERT INTO anchorhold.dunning_assignment (account_id, livemode, policy_id)
    VALUES ('acc_ours', false, 'dpo_1')
    """,
    """
    INSERT INTO anchorhold.dunning_run
           (account_id, livemode, id, invoice_id, customer_id, policy_id, step, next_at)
    SELECT 'acc_ours', false, 'dun_' || id, 'inv_' || id, 'cus_' || customer, 'dpo_1', 1,
           at - make_interval(secs => n %% 600)
      FROM numbered WHERE kind = 'failed' AND n %% 2 = 1
    """,
    """
    INSERT INTO anchorhold.dunning_step
           (account_id, livemode, run_id, number, kind, rule, actor)
    SELECT account_id, livemode, id, 1, 'retry', 'Y9', 'worker' FROM anchorhold.dunning_run
    """,
    """
    INSERT INTO anchorhold.event_delivery
           (account_id, livemode, id, verdict, signature, secret_id, event_id, event_type, bytes,
            source, received_at)
    SELECT 'acc_ours', false, 'edl_' || id, 'good', 'valid', 'sgn_1', 'evt_' || n, 'x', 9, '::1',
           at - make_interval(mins => 1100000 - n)
      FROM numbered WHERE n %% 4 = 0
    """,
)

CONSTRAINTS = """
    SELECT c.conrelid::regclass::text, c.conname, c.contype, pg_get_constraintdef(c.oid)
      FROM pg_constraint c
     WHERE c.conrelid = ANY(%(tables)s::regclass[]) AND c.contype IN ('f', 'p', 'u')
     ORDER BY c.contype
"""
INDEXES = """
    SELECT c.oid::regclass::text, pg_get_indexdef(c.oid)
      FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
     WHERE x.indrelid = ANY(%(tables)s::regclass[])
       AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)
"""


def number(kind: str, nth: int = 0) -> str:
    """An invoice of a kind, as its id and those of what belongs to it end."""
    kinds = [*COUNTS, "paid"]
    mixed = nth + sum(COUNTS[other] for other in kinds[: kinds.index(kind)])
    return str(mixed * pow(PRIME, -1, INVOICES) % INVOICES).rjust(26, "0")


def load(conninfo: str) -> None:
    """The rows are there, the indexes are as the migrations make them, the statistics are fresh.

    The indexes are made after the rows, which is three times as fast; foreign keys, which no plan
    reads, are left out.
    """
    others = ("notice", "connection", "account", "event_cursor")
    tables = [f"anchorhold.{name}" for name in (*BIG, *others)]
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("SET maintenance_work_mem = '512MB'")
        again = _drop_indexes(conn, tables)
        for table in BIG:
            conn.execute(f"ALTER TABLE anchorhold.{table} SET UNLOGGED".encode())
        for statement in (NUMBERED, *LOADS):
            conn.execute(_filled(statement), {})
        for statement in again:
            conn.execute(statement.encode())
        for table in tables:
            conn.execute(f"VACUUM (ANALYZE) {table}".encode())


def _filled(statement: str) -> bytes:
    cases: list[str] = []
    upto = 0
    for kind, count in COUNTS.items():
        upto += count
        cases.append(f"WHEN mixed < {upto} THEN '{kind}'")
    return statement.format(
        cases=" ".join(cases), customers=CUSTOMERS, invoices=INVOICES, kept=KEPT, prime=PRIME
    ).encode()


def _drop_indexes(conn: psycopg.Connection[TupleRow], tables: list[str]) -> list[str]:
    """Nothing but rows is left of the tables; the statements that make the indexes again."""
    again = []
    for name, definition in conn.execute(INDEXES, {"tables": tables}).fetchall():
        conn.execute(f"DROP INDEX {name}".encode())
        again.append(str(definition))
    for table, name, kind, definition in conn.execute(CONSTRAINTS, {"tables": tables}).fetchall():
        conn.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name} CASCADE".encode())
        if kind != "f":
            again.append(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    return again
