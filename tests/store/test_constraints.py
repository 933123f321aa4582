"""Each CHECK and each uniqueness refuses what it is there for, whatever a statement believed."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from psycopg import errors

from anchorhold.domain.payment import Source
from anchorhold.store import payments, refunds
from tests.store import asking, billing, dunned, lost, news, paging
from tests.store.catalogue import rules
from tests.store.scene import ACTOR, OURS, Scene, success


def another(table: str, **changes: Any) -> str:
    """The same row once more, with these changes."""
    return f"""
        INSERT INTO anchorhold.{table} OVERRIDING SYSTEM VALUE
        SELECT (jsonb_populate_record(t, '{json.dumps(changes)}')).*
          FROM anchorhold.{table} t
         WHERE t.account_id = 'acc_ours' AND NOT t.livemode LIMIT 1
    """


def changed(table: str, changes: str, where: str = "true") -> str:
    return f"UPDATE anchorhold.{table} SET {changes} WHERE {where}"


FREE = "hold_until IS NULL AND status = 'open'"
HELD = "hold_until IS NOT NULL"
TICK = """
    INSERT INTO anchorhold.tick (account_id, livemode, id, worker)
    SELECT 'acc_ours', false, 'tick', 'worker' FROM generate_series(1, 2)
"""
CREDIT = """
    WITH customer AS (
        SELECT account_id, livemode, id FROM anchorhold.customer
         WHERE account_id = 'acc_ours' AND NOT livemode LIMIT 1
    ), balance AS (
        INSERT INTO anchorhold.credit_balance (account_id, livemode, customer_id, currency, balance)
        SELECT account_id, livemode, id, 'eur', 500 FROM customer
        RETURNING *
    )
    INSERT INTO anchorhold.credit_entry (account_id, livemode, id, customer_id, currency, amount,
                                         balance, reason, actor)
    SELECT account_id, livemode, 'cre_1', customer_id, currency, 500, 500, 'goodwill', 'operator'
      FROM balance
"""
WEBHOOK = """
    WITH endpoint AS (
        INSERT INTO anchorhold.webhook_endpoint
               (account_id, livemode, id, url, secret, after_entry)
        VALUES ('acc_ours', false, 'whe_1', 'https://example.com', 'sealed', 0) RETURNING *
    ), message AS (
        INSERT INTO anchorhold.message (account_id, livemode, id, type, invoice_id, sequence,
                                        data, at)
        SELECT account_id, livemode, 'msg_1', 'invoice.paid', id, 1, '{}', now()
          FROM anchorhold.invoice WHERE account_id = 'acc_ours' AND NOT livemode LIMIT 1
        RETURNING *
    ), delivery AS (
        INSERT INTO anchorhold.webhook_delivery (account_id, livemode, id, endpoint_id, message_id)
        SELECT e.account_id, e.livemode, 'dlv_1', e.id, m.id FROM endpoint e, message m
        RETURNING *
    )
    INSERT INTO anchorhold.webhook_try (account_id, livemode, delivery_id, number, said, rule,
                                        took_ms, excerpt)
    SELECT account_id, livemode, id, 1, '200', 'O1', 9, '' FROM delivery
"""
INTAKE = """
    WITH secret AS (
        INSERT INTO anchorhold.signing_secret (account_id, livemode, id, secret, last4)
        VALUES ('acc_ours', false, 'sgn_1', 'sealed', '1234') RETURNING *
    )
    INSERT INTO anchorhold.event_delivery (account_id, livemode, id, verdict, signature, secret_id,
                                           event_id, event_type, bytes, source)
    SELECT account_id, livemode, 'edl_1', 'good', 'valid', id, 'evt_1', 'x', 9, '::1' FROM secret
"""

ILLEGAL: Mapping[str, tuple[str, ...]] = {
    "account_charge_mode_check": (changed("account", "charge_mode = 'hosted'"),),
    "attempt_charge_mode_check": (changed("attempt", "charge_mode = 'hosted'"),),
    "only_direct_presumes": (changed("account", "sweep_mode = 'adr'"),),
    "account_sweep_mode_check": (changed("account", "sweep_mode = 'guess'"),),
    "account_after_presumed_none_check": (changed("account", "after_presumed_none = 'wait'"),),
    "account_name_key": (changed("account", "name = 'the same'"),),
    "account_pkey": (
        "INSERT INTO anchorhold.account (id, name) VALUES ('acc_ours', 'another name')",
    ),
    "connection_pkey": (another("connection"),),
    "refusal_has_a_reason": (
        changed("connection", "refused_at = now()"),
        changed("connection", "refused_reason = '401'"),
    ),
    "only_refused_lacks_a_right": (changed("connection", "right_missing = true"),),
    "customer_pkey": (another("customer", reference="another"),),
    "customer_reference": (another("customer", id="cus_another"),),
    "stripe_customer_pkey": (another("stripe_customer", stripe_customer_id="cus_another"),),
    "stripe_customer_once": (another("stripe_customer", customer_id="cus_another"),),
    "method_needs_a_customer": (changed("stripe_customer", "stripe_customer_id = NULL"),),
    "invoice_pkey": (another("invoice", reference="another"),),
    "invoice_reference": (another("invoice", id="inv_another"),),
    "invoice_currency_check": (
        changed("invoice", "currency = 'EUR'"),
        changed("invoice", "currency = 'euro'"),
    ),
    "invoice_amount_due_check": (changed("invoice", "amount_due = -1"),),
    "invoice_amount_paid_check": (changed("invoice", "amount_paid = -1"),),
    "invoice_status_check": (changed("invoice", "status = 'finalized'", FREE),),
    "invoice_payment_status_check": (changed("invoice", "payment_status = 'parked'", FREE),),
    "invoice_collection_check": (changed("invoice", "collection = 'never'"),),
    "invoice_blocked_reason_check": (changed("invoice", "blocked_reason = 'mood'"),),
    "invoice_charge_seq_check": (changed("invoice", "charge_seq = -1"),),
    "hold_names_its_attempt": (
        changed("invoice", "hold_attempt = NULL", HELD),
        changed("invoice", "hold_until = NULL", HELD),
        changed("invoice", "hold_until = now()", FREE),
    ),
    "paid_is_succeeded": (
        changed("invoice", "status = 'paid', paid_at = now()", FREE),
        changed("invoice", "payment_status = 'succeeded'", FREE),
    ),
    "paid_has_a_time": (
        changed("invoice", "status = 'paid', payment_status = 'succeeded'", FREE),
        changed("invoice", "paid_at = now()", FREE),
    ),
    "processing_is_followed": (changed("invoice", "payment_status = 'processing'", HELD),),
    "only_unclear_is_followed": (changed("invoice", "followed_intent_id = 'pi_1'", FREE),),
    # A park: it would be looked at by nobody (H2).
    "unknown_is_held_or_followed": (changed("invoice", "payment_status = 'unknown'", FREE),),
    "void_is_free": (changed("invoice", "status = 'void'", HELD),),
    "draft_is_untouched": (
        changed("invoice", "status = 'draft'", f"{FREE} AND intent_id IS NOT NULL"),
        changed("invoice", "status = 'draft', intent_id = NULL", HELD),
        changed("invoice", "status = 'draft', intent_id = NULL, payment_status = 'failed'", FREE),
    ),
    "intent_pkey": (
        another("intent", stripe_intent_id="pi_2", idempotency_key="key", state="canceled"),
    ),
    "intent_id_once": (another("intent", number=2, idempotency_key="key", state="canceled"),),
    "intent_key_once": (another("intent", number=2, stripe_intent_id="pi_2", state="canceled"),),
    "intent_one_live": (
        another("intent", number=2, stripe_intent_id="pi_2", idempotency_key="key", state="live"),
        another("intent", number=2, stripe_intent_id=None, idempotency_key="key",
                state="preparing"),
    ),
    "intent_number_check": (changed("intent", "number = 0"),),
    "intent_amount_check": (changed("intent", "amount = 0"),),
    "intent_state_check": (changed("intent", "state = 'paid'"),),
    "live_has_an_id": (changed("intent", "stripe_intent_id = NULL", "state = 'live'"),),
    "attempt_pkey": (another("attempt", seq=9),),
    # H10: a claim that ignored the hold, a manual UPDATE, an old program.
    "attempt_one_charge": (
        another("attempt", id="att_another"),
        another("attempt", id="att_another", kind="collect", payment_method="pm_another"),
    ),
    "attempt_state_check": (changed("attempt", "state = 'lost'"),),
    "attempt_kind_check": (changed("attempt", "kind = 'hosted'"),),
    "attempt_cause_check": (changed("attempt", "cause = 'bad luck'"),),
    "attempt_found_status_check": (changed("attempt", "found_status = 'unknown'"),),
    "sent_is_whole": (
        changed("attempt", "state = 'sending'"),
        changed("attempt", "state = 'succeeded', sent_at = now(), idempotency_key = 'key'"),
        changed("attempt", "state = 'unknown', sent_at = now(), params = '{}'"),
        changed("attempt", "state = 'failed', idempotency_key = 'key', params = '{}'"),
    ),
    "charge_has_a_customer": (
        changed("attempt", "stripe_customer_id = NULL"),
        changed("attempt", "stripe_account = NULL"),
    ),
    "only_closed_has_a_time": (changed("invoice", "closed_at = now()", FREE),),
    "only_ours_has_no_intent": (
        changed("payment", "stripe_intent_id = NULL"),
        changed("payment", "source = 'elsewhere'"),
    ),
    "stripe_payment_has_an_account": (changed("payment", "stripe_account = NULL"),),
    "credit_balance_pkey": (another("credit_balance", balance=9),),
    "credit_balance_currency_check": (another("credit_balance", currency="EUR"),),
    "credit_is_never_negative": (changed("credit_balance", "balance = -1"),),
    "credit_entry_pkey": (another("credit_entry", reason="another"),),
    "credit_entry_amount_check": (changed("credit_entry", "amount = 0"),),
    "credit_entry_balance_check": (changed("credit_entry", "balance = -1"),),
    "resolved_says_how": (
        changed("notice", "resolved_at = now(), resolved_by = 'operator:ann'"),
        changed("notice", "resolved_at = now(), resolution = 'refunded'"),
        changed("notice", "resolution = 'refunded'"),
    ),
    "payment_pkey": (another("payment", stripe_intent_id="pi_another"),),
    "payment_once": (another("payment", id="pay_another"),),
    "payment_amount_check": (changed("payment", "amount = 0"),),
    "refund_within_payment": (
        changed("payment", "amount_refunded = amount + 1"),
        changed("payment", "amount_refunded = -1"),
    ),
    "payment_source_check": (changed("payment", "source = 'rumour'"),),
    "notice_pkey": (another("notice", subject="another"),),
    "notice_once": (another("notice", id="ntc_another"),),
    "signing_secret_pkey": (another("signing_secret"),),
    "event_delivery_pkey": (another("event_delivery"),),
    "event_delivery_verdict_check": (changed("event_delivery", "verdict = 'strange'"),),
    "event_delivery_signature_check": (
        changed("event_delivery", "signature = 'strange', verdict = 'forged', secret_id = NULL, "
                "event_id = NULL, event_type = NULL"),
    ),
    "only_signed_is_believed": (
        changed("event_delivery", "secret_id = NULL"),
        changed("event_delivery", "event_id = NULL, event_type = NULL"),
    ),
    "unsigned_names_nothing": (
        changed("event_delivery", "signature = 'forged', verdict = 'forged', secret_id = NULL"),
    ),
    "webhook_endpoint_pkey": (another("webhook_endpoint", url="https://example.com/other"),),
    "webhook_endpoint_url": (another("webhook_endpoint", id="whe_another"),),
    "webhook_endpoint_url_check": (changed("webhook_endpoint", "url = 'ftp://example.com'"),),
    "old_secret_ends": (changed("webhook_endpoint", "old_secret = secret"),),
    "disabled_has_a_reason": (changed("webhook_endpoint", "disabled_at = now()"),),
    "message_pkey": (another("message", sequence=99),),
    "message_once": (another("message", id="msg_another"),),
    "webhook_delivery_pkey": (another("webhook_delivery"),),
    "webhook_delivery_state_check": (
        changed("webhook_delivery", "state = 'lost', ended_at = now()"),
    ),
    "resent_after_its_tries": (
        changed("webhook_delivery", "tries_before = tries + 1"),
        changed("webhook_delivery", "tries = -1"),
    ),
    "delivery_ends_once": (changed("webhook_delivery", "state = 'delivered'"),),
    "webhook_try_pkey": (another("webhook_try"),),
    "event_pkey": (another("event"),),
    "event_source_check": (changed("event", "source = 'hearsay'"),),
    "event_state_check": (changed("event", "state = 'lost'"),),
    "event_done_has_a_time": (
        changed("event", "state = 'done'"),
        changed("event", "done_at = now()"),
    ),
    "event_cursor_pkey": (another("event_cursor"),),
    "payment_dispute_check": (changed("payment", "dispute = 'x', dispute_id = 'du_1'"),),
    "dispute_has_an_id": (
        changed("payment", "dispute = 'open'"),
        changed("payment", "dispute_id = 'du_1'"),
    ),
    "payment_applied_within": (
        changed("payment", "amount_applied = -1"),
        changed("payment", "amount_applied = amount + 1"),
    ),
    "refund_pkey": (another("refund", state="refused", idempotency_key="key_2"),),
    "refund_id_once": (
        changed("refund", "stripe_refund_id = 're_1'") + "; " + another(
            "refund", id="rfd_2", state="refused", idempotency_key="key_2"),
    ),
    "refund_key_once": (another("refund", id="rfd_2", state="refused"),),
    # Two operators at once.
    "refund_one_request": (another("refund", id="rfd_2", idempotency_key="key_2"),),
    "refund_amount_check": (changed("refund", "amount = 0"),),
    "refund_state_check": (changed("refund", "state = 'lost', stripe_refund_id = 're_1'"),),
    "refund_has_a_trace": (
        changed("refund", "idempotency_key = NULL"),
        changed("refund", "params = NULL"),
    ),
    "refund_at_stripe_has_an_id": (changed("refund", "state = 'succeeded'"),),
    "journal_pkey": (another("journal"),),
    "tick_pkey": (TICK,),
    "recovery_pkey": (another("recovery", phase="done", ended_at="2026-01-01"),),
    "recovery_one_open": (another("recovery", id="rcv_2"),),
    "recovery_phase_check": (changed("recovery", "phase = 'half'"),),
    "recovery_ends_done": (
        changed("recovery", "phase = 'done'"),
        changed("recovery", "ended_at = now()"),
    ),
    "notice_once_without_invoice": (
        another("notice", id="ntc_2", invoice_id=None)
        + "; "
        + another("notice", id="ntc_3", invoice_id=None),
    ),
    **billing.ILLEGAL,
    **dunned.ILLEGAL,
    **paging.ILLEGAL,
    **asking.ILLEGAL,
}  # fmt: skip
"""For each rule, the statements that it refuses."""

CASES = [
    pytest.param(rule, statement, id=f"{rule} {n}")
    for rule, statements in ILLEGAL.items()
    for n, statement in enumerate(statements, 1)
]


def test_every_rule_of_the_schema_is_in_the_table(scene: Scene) -> None:
    assert set(ILLEGAL) == set(rules(scene))


@pytest.mark.parametrize(("rule", "statement"), CASES)
async def test_the_rule_refuses(rule: str, statement: str, scene: Scene) -> None:
    await _rows(scene)
    with pytest.raises(errors.IntegrityError) as refused:
        scene.any_sql(statement)
    assert refused.value.diag.constraint_name == rule


async def _rows(scene: Scene) -> None:
    """One invoice held by a claim, one that was paid too little, and one that is due."""
    await scene.claimed()
    (short,) = await scene.due()
    less = success(short, amount=100)
    assert await payments.settle(scene.db, OURS, short, less, Source.FOLLOWER, actor=ACTOR)
    await scene.due()
    await news.told(scene)
    await news.begun(scene)
    payment = await refunds.by_intent(scene.db, OURS, f"pi_{short[4:]}")
    assert payment is not None
    assert await news.ask(scene.db, OURS, payment, amount=50)
    scene.any_sql(CREDIT)
    scene.any_sql(WEBHOOK)
    scene.any_sql(INTAKE)
    scene.sql(lost.OPEN, **OURS.params)
    await billing.everything(scene)
    await dunned.everything(scene)
