"""Each thing that a conditional write compares decides alone: moved, nothing is written."""

from collections.abc import Mapping

import pytest

from tests.store import asking, billing, direct, dunned, paging, telling
from tests.store.scene import OURS, Scene
from tests.store.writes import WRITES

INVOICE = {
    "the hold is another one": "hold_until = hold_until + interval '1 microsecond'",
    "the hold is another attempt's": "hold_attempt = 'att_another'",
    "the counter moved": "charge_seq = charge_seq + 1",
    "it was written off": "status = 'uncollectible'",
    "its answer was unclear": "payment_status = 'unknown'",
    "its intent is another one": "intent_id = 'pi_another'",
    "it has no intent": "intent_id = NULL",
    "it has an intent": "intent_id = 'pi_another'",
    "it follows another intent": "followed_intent_id = 'pi_another'",
    "it follows an intent": "payment_status = 'processing', followed_intent_id = 'pi_another'",
    "it follows nothing": "followed_intent_id = NULL, payment_status = 'failed'",
    "its followed charge is unclear": "payment_status = 'unknown'",
    "something was paid": "amount_paid = 1",
    "all was paid": "amount_paid = amount_due",
    "its currency is another one": "currency = 'usd'",
    "its hold ends soon": "hold_until = hold_until - interval '4 minutes'",
    "it is held": "hold_until = now() + interval '1 minute', hold_attempt = 'att_another'",
    "it was held and is not looked at yet": "hold_until = now(), hold_attempt = 'att_another'",
    "its hold is live": "hold_until = now() + interval '1 minute'",
    "it is being checked": "check_until = now() + interval '1 minute'",
    "it was checked in this run": "checked_at = now() + interval '1 minute'",
    "Stripe was asked after the hold's end": "provider_synced_at = now()",
    "it was looked at just now": "provider_synced_at = now()",
    "it is not due": "next_attempt_at = now() + interval '1 minute'",
    "it is somebody's for a minute": "prepare_at = now() + interval '1 minute'",
    "only a person collects it": "collection = 'manual'",
    "Stripe refused its set-up": "blocked_reason = 'setup'",
    "the customer has to act": "blocked_reason = 'customer_action'",
    "its last charge was declined": "payment_status = 'failed'",
}
ATTEMPT = {
    "the attempt is not claimed": "state = 'not_sent'",
    "the attempt was superseded": "state = 'superseded'",
    "the attempt was declined": "state = 'failed'",
    "the attempt was never sent": "sent_at = NULL, idempotency_key = NULL, params = NULL",
    "the attempt has another number": "seq = seq + 1",
}
INTENT = {
    "the intent has its id": "state = 'live', stripe_intent_id = 'pi_' || invoice_id",
    "the number is spent": "state = 'used_up'",
    "the intent is of another amount": "amount = amount + 1",
    "the intent is in another currency": "currency = 'usd'",
    "the intent is of another account at Stripe": "stripe_account = 'acct_2'",
    "the intent ended": "state = 'canceled'",
    "the intent is not watched": "watched_since = NULL",
    "the intent was watched long enough": "watched_since = now() - interval '31 days'",
    "the intent was looked at": "watch_at = now() + interval '1 minute'",
}
CUSTOMER = {
    "the customer has its id": "stripe_customer_id = 'cus_another' || customer_id",
    "the customer has a method": "stripe_customer_id = customer_id, payment_method = 'pm_1'",
    "the customer has no method": "payment_method = NULL",
    "the customer has no id": "stripe_customer_id = NULL, payment_method = NULL",
    "another method was asked for": "requested_method = 'pm_another'",
    "the customer was refused": "refused_code = 'x', refused_message = 'No.'",
    "another key is in use": "key_number = 2",
    "the customer is somebody's for a minute": "look_at = now() + interval '1 minute'",
    "the customer is of another account at Stripe": "stripe_account = 'acct_2'",
}
CONNECTION = {
    "the mode's key was refused": "refused_at = now(), refused_reason = '401'",
    "the mode's key was accepted": "refused_at = NULL, refused_reason = NULL",
    "the mode has another key": "key_fingerprint = 'another'",
    "another account at Stripe is connected": "stripe_account = 'acct_2'",
    "the database failed over": "lineage = 'another'",
    "the mode is whole": "lineage = anchorhold.lineage()",
    "a commit of it was seen just now": "seen_at = now()",
}
RECOVERY = {
    "another leads the recovery": "lease_until = now() + interval '1 minute'",
    "the recovery has ended": "phase = 'done', ended_at = now()",
    "the recovery is of another server": "lineage = 'another'",
}
EVENT = {
    "the event is not due": "look_at = now() + interval '1 minute'",
    "it is the event's turn": "state = 'waiting', done_at = NULL, look_at = anchorhold.now()",
    "the event is of another time": "created = created - interval '90 years'",
    "the event had its effect": "state = 'done', done_at = now()",
}
CURSOR = {
    "the cursor is further": "read_to = now()",
    "the cursor is of another account at Stripe": "stripe_account = 'acct_2'",
}
PAYMENT = {
    "its refunds were read meanwhile": "refund_seq = refund_seq + 1",
    "the payment is disputed": "dispute = 'open', dispute_id = 'du_2'",
    "the payment's dispute is lost": "dispute = 'lost', dispute_id = 'du_1'",
    "too little of it is left": "amount_refunded = amount - 499",
}
REFUND = {
    "the refund ended": "state = 'not_made'",
    "the refund was made just now": "created_at = now()",
    "the refund is not due": "look_at = now() + interval '1 minute'",
}
NOTICE = {
    "the notice was resolved": "resolved_at = now(), resolved_by = 'x', resolution = 'x'",
}
MOVED = {**telling.MOVED, **billing.MOVED, **dunned.MOVED, **paging.MOVED, **asking.MOVED} | {
    sentence: f"UPDATE anchorhold.{table} SET {changes}"
    for table, sentences in (
        ("invoice", INVOICE),
        ("attempt", ATTEMPT),
        ("intent", INTENT),
        ("stripe_customer", CUSTOMER),
        ("connection", CONNECTION),
        ("event", EVENT),
        ("event_cursor", CURSOR),
        ("payment", PAYMENT),
        ("refund", REFUND),
        ("notice", NOTICE),
        ("recovery", RECOVERY),
    )
    for sentence, changes in sentences.items()
}

OWN_HOLD = ("the hold is another one", "the hold is another attempt's", "the counter moved")
CLAIM = (
    "it was written off",
    "it is held",
    "it was held and is not looked at yet",
    "it follows an intent",
    "all was paid",
    "it has no intent",
    "its intent is another one",
    "Stripe refused its set-up",
    "the intent is of another amount",
    "the intent is in another currency",
    "the intent is of another account at Stripe",
    "the customer has no method",
    "the customer is of another account at Stripe",
    "the mode's key was refused",
    "another account at Stripe is connected",
    "the database failed over",
)
FOLLOWING = (
    "the counter moved",
    "it follows another intent",
    "it follows nothing",
    "its followed charge is unclear",
    "it is held",
)

GUARDS: Mapping[str, tuple[str, ...]] = {
    **direct.GUARDS,
    **telling.GUARDS,
    **billing.GUARDS,
    **dunned.GUARDS,
    **paging.GUARDS,
    **asking.GUARDS,
    "accounts.refuse": ("the mode's key was refused", "the mode has another key"),
    "accounts.accept": ("the mode's key was accepted", "the mode has another key"),
    "holds.claim": CLAIM,
    "holds.claim_due": (
        *CLAIM,
        "it is not due",
        "only a person collects it",
        "the customer has to act",
        "its last charge was declined",
    ),
    "holds.recheck": (
        *OWN_HOLD,
        "it was written off",
        "its answer was unclear",
        "its intent is another one",
        "it has no intent",
        "something was paid",
        "its currency is another one",
        "its hold ends soon",
        "the attempt is not claimed",
        "the attempt was superseded",
    ),
    "holds.end": (
        *OWN_HOLD,
        "it was written off",
        "the attempt was superseded",
        "the attempt was declined",
    ),
    "attempts.decline_by_key": ("the attempt was declined", "the attempt was never sent"),
    "blocked.missed": (
        "it was written off",
        "it is held",
        "its last charge was declined",
        "Stripe refused its set-up",
        "the customer is of another account at Stripe",
    ),
    "customer_news.mended": (
        "it was written off",
        "it is held",
        "Stripe refused its set-up",
        "the customer was refused",
        "the customer is of another account at Stripe",
    ),
    "customer_news.gone": (
        "the customer was refused",
        "the customer is of another account at Stripe",
    ),
    "disputes.record": ("the payment's dispute is lost",),
    "event_cursors.advance": (
        "the cursor is further",
        "the cursor is of another account at Stripe",
    ),
    "event_cursors.gap": ("the cursor is further", "the cursor is of another account at Stripe"),
    "events.take": ("the event is not due", "the event had its effect"),
    "events.done": ("the event had its effect",),
    "events.again": ("it is the event's turn",),
    "events.again_between": ("it is the event's turn", "the event is of another time"),
    "events.unmatched": ("the event had its effect",),
    "notices.resolve": ("the notice was resolved",),
    "refunds.begin": (
        "its refunds were read meanwhile",
        "the payment is disputed",
        "the payment's dispute is lost",
        "too little of it is left",
    ),
    "refunds.take_unfinished": (
        "the refund ended",
        "the refund was made just now",
        "the refund is not due",
    ),
    "refunds.end": ("the refund ended",),
    "refunds.record": ("its refunds were read meanwhile",),
    "repairs.take": (
        "its hold is live",
        "it is being checked",
        "it was checked in this run",
    ),
    "attempts.late_decline": (
        "the attempt was declined",
        "the attempt was never sent",
        "the attempt has another number",
    ),
    "closes.claim": (
        "it was written off",
        "it is held",
        "it was held and is not looked at yet",
        "it follows an intent",
    ),
    "closes.release": (*OWN_HOLD, "it was written off", "the attempt is not claimed"),
    "closes.write_off_under_way": ("it was written off", "its hold is live"),
    "final_writes.finish": (
        *OWN_HOLD,
        "it was written off",
        "the attempt is not claimed",
        "something was paid",
    ),
    "final_writes.amend": (
        *OWN_HOLD,
        "it was written off",
        "the attempt is not claimed",
        "something was paid",
    ),
    "pages.open_page": (
        "it was written off",
        "it is held",
        "it was held and is not looked at yet",
        "it follows an intent",
        "it has no intent",
        "its intent is another one",
        "something was paid",
        "the intent is of another amount",
        "the intent is in another currency",
        "the intent is of another account at Stripe",
        "the intent ended",
        "the mode's key was refused",
        "another account at Stripe is connected",
    ),
    "pages.take_unprepared": (
        "it was written off",
        "it follows an intent",
        "it is held",
        "Stripe refused its set-up",
        "it has an intent",
        "it is somebody's for a minute",
        "all was paid",
        "the customer has no id",
        "the customer is of another account at Stripe",
        "the mode's key was refused",
        "another account at Stripe is connected",
    ),
    "pages.abandon_intent": (
        "it was written off",
        "it is held",
        "it follows an intent",
        "it has no intent",
        "its intent is another one",
        "the intent ended",
    ),
    "checks.take": (
        "its hold is live",
        "it is being checked",
        "it was checked in this run",
        "Stripe was asked after the hold's end",
    ),
    "checks.keep": OWN_HOLD,
    "follows.take": ("it follows nothing", "it is held", "it was looked at just now"),
    "follows.end": FOLLOWING,
    "watches.take": (
        "the intent ended",
        "the intent is not watched",
        "the intent was watched long enough",
        "the intent was looked at",
        "it is held",
        "it follows an intent",
    ),
    "watches.follow": (
        "the counter moved",
        "it was written off",
        "it is held",
        "it follows an intent",
        "its intent is another one",
        "it has no intent",
    ),
    "watches.end": (
        "the counter moved",
        "it is held",
        "it follows an intent",
        "its intent is another one",
        "it has no intent",
    ),
    "customers.take_unready": (
        "the customer has a method",
        "the customer was refused",
        "the customer is somebody's for a minute",
        "the customer is of another account at Stripe",
        "the mode's key was refused",
    ),
    "customers.set_stripe_customer": ("the customer has its id",),
    "customers.set_payment_method": (
        "the customer has a method",
        "another method was asked for",
        "the customer is of another account at Stripe",
    ),
    "customers.spend_key": ("another key is in use",),
    "customers.refuse": ("the customer has a method", "the customer was refused"),
    "intents.take_unprepared": (
        "it was written off",
        "it follows an intent",
        "it is held",
        "Stripe refused its set-up",
        "it has an intent",
        "only a person collects it",
        "it is somebody's for a minute",
        "all was paid",
        "the customer has no id",
        "the customer is of another account at Stripe",
        "the mode's key was refused",
        "another account at Stripe is connected",
        "the database failed over",
    ),
    "intents.begin": ("it was written off", "it has an intent"),
    "intents.name": (
        "it was written off",
        "it is held",
        "it has an intent",
        "it follows an intent",
        "the intent has its id",
        "the number is spent",
        "the intent is of another amount",
        "the intent is in another currency",
        "something was paid",
    ),
    "intents.use_up": ("the intent has its id", "the number is spent"),
    "intents.refuse": (
        "it was written off",
        "it is held",
        "it has an intent",
        "it follows an intent",
        "Stripe refused its set-up",
    ),
    "recoveries.doubt": ("the database failed over", "a commit of it was seen just now"),
    "recoveries.begin": ("the mode is whole", "another leads the recovery"),
    "recoveries.advance": ("another leads the recovery", "the recovery has ended"),
    "recoveries.give_up": ("another leads the recovery", "the recovery has ended"),
    "recoveries.finish": tuple(RECOVERY),
    "lost_intents.adopt": (
        "it was written off",
        "it has an intent",
        "it is held",
        "it follows an intent",
        "something was paid",
        "its currency is another one",
    ),
    "lost_intents.follow": (
        "the counter moved",
        "it was written off",
        "it is held",
        "it follows an intent",
    ),
}
"""What each write compares, as the one thing that moved."""

UNCONDITIONAL = {
    **billing.UNCONDITIONAL,
    **dunned.UNCONDITIONAL,
    **paging.UNCONDITIONAL,
    **asking.UNCONDITIONAL,
    "accounts.connect": "the newest key is the mode's",
    "accounts.set_modes": "the newest choice is the account's",
    "accounts.create": "held by the names' and ids' uniqueness",
    "credits.give": "what two give is the sum",
    "customers.begin": "held by the row's primary key",
    "customers.begin_all": "held by the rows' primary key",
    "lost_intents.remember": "held by the row's primary key",
    "lost_intents.report": "held by the notices' uniqueness",
    "recoveries.look": "says that somebody was there",
    "invoices.take_in": "held by the references' uniqueness",
    "event_cursors.begin": "held by the row's primary key",
    "endpoints.add": "held by the URLs' uniqueness",
    "event_deliveries.refuse": "kept whatever it says, up to so many an hour",
    "event_deliveries.take_in": "held by the event's primary key",
    "signing_secrets.add": "the newest secret signs beside the one before",
    "events.put": "held by the rows' primary key",
    "payments.settle": "money that arrived is recorded whatever moved",
}

CASES = [
    pytest.param(function, sentence, id=f"{function} when {sentence}")
    for function, sentences in GUARDS.items()
    for sentence in sentences
]


def test_every_write_says_what_it_compares() -> None:
    assert set(GUARDS) | set(UNCONDITIONAL) == {write.function for write in WRITES}


def test_every_move_is_compared_by_some_write() -> None:
    assert {sentence for sentences in GUARDS.values() for sentence in sentences} == set(MOVED)


@pytest.mark.parametrize(("function", "sentence"), CASES)
async def test_nothing_is_written(function: str, sentence: str, scene: Scene) -> None:
    write = next(write for write in WRITES if write.function == function)
    state = await write.arrange(scene)
    scene.any_sql(MOVED[sentence])
    before = scene.rows(OURS)
    assert not await write.run(scene.db, scene.scope, scene, state)
    assert scene.rows(OURS) == before
