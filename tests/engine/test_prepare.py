"""Preparing: customers are set up, each invoice gets its one intent, and no money moves."""

import pytest

from anchorhold.engine.accounts import is_accepted
from anchorhold.engine.prepare import Prepared, prepare_intent, set_up_customer
from anchorhold.store import customers, intents
from anchorhold.twin.faults import FaultKind, Rule
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import SECRET_KEY
from tests.engine.left import notices
from tests.engine.lost import dies
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    ATTACH,
    CREATE,
    CUSTOMERS,
    LIST,
    AtStripe,
    Turn,
    between,
    meanwhile,
    refusal,
)

INVALID = {"type": "invalid_request_error"}
UNCLEAR = [FaultKind.DROPPED_BEFORE, FaultKind.DROPPED_AFTER, FaultKind.CUT, FaultKind.REFUSED]
SERVER_ERRORS = [FaultKind.ERROR_500_WITH_EFFECT, FaultKind.ERROR_500_WITHOUT_EFFECT]
SAYS_LATER = [FaultKind.RATE_LIMIT, FaultKind.LOCK_TIMEOUT, FaultKind.CONFLICT]


async def step(world: Rig) -> list[Prepared]:
    """One step of each: customers, then intents."""
    deps = world.deps()
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    steps = [
        await set_up_customer(deps, connected, world.scope, customer)
        for customer in await customers.take_unready(deps.db, world.scope, limit=10)
    ]
    return steps + [
        await prepare_intent(deps, connected, unprepared)
        for unprepared in await intents.take_unprepared(deps.db, world.scope, limit=10)
    ]


def rows(world: Rig) -> list[tuple[int, str]]:
    return world.sql("SELECT number, state FROM anchorhold.intent ORDER BY number")


def fails(world: Rig, kind: FaultKind, endpoint: str) -> None:
    world.twin.faults.replace([Rule(kind, endpoint, calls=frozenset({1}))])


async def comes_to_be_paid(world: Rig) -> None:
    """Preparing goes on until the invoice is charged, once, with one live customer."""
    world.twin.faults.replace([])
    await world.recover(rounds=2)
    assert list(world.paid_at_stripe().values()) == [1]
    await standing_checks(world)


async def test_a_customer_and_an_unconfirmed_intent_are_made(world: Rig) -> None:
    invoice = await world.invoice()
    assert await step(world) == [Prepared.DONE, Prepared.DONE]
    intent = AtStripe(world).intent(invoice)
    assert (intent["status"], intent["payment_method"]) == ("requires_payment_method", None)
    assert (intent["amount"], intent["currency"]) == (14900, "eur")
    assert intent["metadata"]["anchorhold_intent_number"] == "1"
    assert world.row(invoice)["intent_id"] == intent["id"]


async def test_preparing_again_changes_nothing(world: Rig) -> None:
    await world.invoice()
    await step(world)
    world.later(minutes=5)
    assert await step(world) == []
    assert rows(world) == [(1, "live")]


async def test_a_lease_keeps_the_next_worker_from_asking_twice(world: Rig) -> None:
    await world.invoice()
    fails(world, FaultKind.DROPPED_BEFORE, CREATE)
    assert await step(world) == [Prepared.DONE, Prepared.LATER]
    assert await step(world) == []


@pytest.mark.parametrize("kind", UNCLEAR)
async def test_an_unclear_create_is_repeated_under_its_key(world: Rig, kind: FaultKind) -> None:
    invoice = await world.invoice()
    fails(world, kind, CREATE)
    assert await step(world) == [Prepared.DONE, Prepared.LATER]
    world.later(minutes=2)
    assert await step(world) == [Prepared.DONE]
    assert rows(world) == [(1, "live")]
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"], "there is only one"
    await comes_to_be_paid(world)


@pytest.mark.parametrize("kind", SERVER_ERRORS)
async def test_a_create_answered_500_takes_the_next_number(world: Rig, kind: FaultKind) -> None:
    await world.invoice()
    fails(world, kind, CREATE)
    assert await step(world) == [Prepared.DONE, Prepared.USED_UP]
    assert await step(world) == [Prepared.DONE]
    assert rows(world) == [(1, "used_up"), (2, "live")]
    await comes_to_be_paid(world)


@pytest.mark.parametrize("kind", SAYS_LATER)
async def test_a_limiter_or_another_request_means_later(world: Rig, kind: FaultKind) -> None:
    await world.invoice()
    fails(world, kind, CREATE)
    assert await step(world) == [Prepared.DONE, Prepared.LATER]
    assert rows(world) == [(1, "preparing")]
    await comes_to_be_paid(world)


async def test_a_key_used_with_other_parameters_takes_the_next_number(world: Rig) -> None:
    await world.invoice()
    between(world, (CREATE, refusal(400, type="idempotency_error")))
    assert await step(world) == [Prepared.DONE, Prepared.USED_UP]
    await comes_to_be_paid(world)


async def test_a_definite_refusal_blocks_collecting_with_a_notice(world: Rig) -> None:
    invoice = await world.invoice()
    between(world, (CREATE, refusal(400, **INVALID, code="amount_too_small", message="Too little")))
    assert await step(world) == [Prepared.DONE, Prepared.REFUSED]
    row = world.row(invoice)
    assert (row["blocked_reason"], row["payment_status"]) == ("setup", "failed")
    assert row["last_error"]["code"] == "amount_too_small"
    assert notices(world) == ["collection.blocked"]
    world.later(minutes=5)
    assert await step(world) == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_flags_the_account_and_spends_nothing(world: Rig, status: int) -> None:
    await world.invoice()
    between(world, (CREATE, refusal(status, **INVALID, message="Invalid API Key")))
    assert await step(world) == [Prepared.DONE, Prepared.LATER]
    assert rows(world) == [(1, "preparing")]
    world.later(minutes=2)
    assert await step(world) == [], "nothing is prepared for a flagged account"
    assert await is_accepted(world.deps(), world.scope, by_hand=True)
    await comes_to_be_paid(world)


@pytest.mark.parametrize("kind", UNCLEAR + SAYS_LATER)
@pytest.mark.parametrize("endpoint", [CUSTOMERS, ATTACH])
async def test_a_customer_is_set_up_again_under_the_same_key(
    world: Rig, kind: FaultKind, endpoint: str
) -> None:
    await world.invoice()
    fails(world, kind, endpoint)
    assert (await step(world))[0] is Prepared.LATER
    world.later(minutes=2)
    assert (await step(world))[0] is Prepared.DONE
    assert len(list(AtStripe(world).account.customers)) == 1
    await comes_to_be_paid(world)


@pytest.mark.parametrize("kind", SERVER_ERRORS)
@pytest.mark.parametrize("endpoint", [CUSTOMERS, ATTACH])
async def test_a_saved_500_takes_the_next_key(world: Rig, kind: FaultKind, endpoint: str) -> None:
    await world.invoice()
    fails(world, kind, endpoint)
    await step(world)
    assert world.sql("SELECT key_number FROM anchorhold.stripe_customer") == [(2,)]
    assert (await step(world))[0] is Prepared.DONE
    await comes_to_be_paid(world)


async def test_a_card_that_cannot_be_attached_blocks_the_customers_invoices(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_chargeDeclined")
    await step(world)
    assert world.row(invoice)["blocked_reason"] == "setup"
    assert notices(world) == ["collection.blocked"]
    await standing_checks(world)


async def test_a_customer_whose_key_is_refused_flags_the_account(world: Rig) -> None:
    await world.invoice()
    world.twin.add_key(SECRET_KEY, state=KeyState.REVOKED)
    assert await step(world) == [Prepared.LATER]
    assert world.sql("SELECT refused_at IS NOT NULL FROM anchorhold.connection") == [(True,)]


async def test_a_late_customer_is_never_given_the_others_card(world: Rig) -> None:
    """Another worker made the customer meanwhile; this one's is an orphan without a card."""
    await world.invoice()
    at = AtStripe(world)
    theirs = at.client().done("/v1/customers")["id"]
    took = "UPDATE anchorhold.stripe_customer SET stripe_customer_id = %s"
    between(world, (CUSTOMERS, meanwhile(lambda: world.sql(took, theirs))))
    assert (await step(world))[0] is Prepared.LATER
    assert [m for m in at.account.payment_methods if m["customer"]] == []
    await comes_to_be_paid(world)


async def test_an_invoice_closed_meanwhile_leaves_no_payable_intent(world: Rig) -> None:
    invoice = await world.invoice()
    void = "UPDATE anchorhold.invoice SET status = 'void'"
    between(world, (CREATE, meanwhile(lambda: world.sql(void))))
    assert await step(world) == [Prepared.DONE, Prepared.USED_UP]
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert rows(world) == [(1, "used_up")]
    await standing_checks(world)


async def test_another_amount_meanwhile_makes_another_intent(world: Rig) -> None:
    invoice = await world.invoice()
    credit = "UPDATE anchorhold.invoice SET amount_due = 100"
    between(world, (CREATE, meanwhile(lambda: world.sql(credit))))
    assert await step(world) == [Prepared.DONE, Prepared.USED_UP]
    await comes_to_be_paid(world)
    assert AtStripe(world).intents(invoice) == ["canceled", "succeeded"]
    assert world.sql("SELECT amount FROM anchorhold.payment") == [(100,)]


async def test_an_unclear_cancel_of_it_is_repeated_before_the_next_number(world: Rig) -> None:
    invoice = await world.invoice()
    credit = "UPDATE anchorhold.invoice SET amount_due = 100"
    between(world, (CREATE, meanwhile(lambda: world.sql(credit))))
    fails(world, FaultKind.DROPPED_BEFORE, "POST /v1/payment_intents/{id}/cancel")
    assert await step(world) == [Prepared.DONE, Prepared.LATER]
    assert rows(world) == [(1, "preparing")]
    await comes_to_be_paid(world)
    assert AtStripe(world).intents(invoice) == ["canceled", "succeeded"]


async def test_an_intent_over_another_amount_than_asked_for_is_not_taken(world: Rig) -> None:
    invoice = await world.invoice()
    at = AtStripe(world)
    fails(world, FaultKind.DROPPED_AFTER, CREATE)
    await step(world)
    at.client().done(f"/v1/payment_intents/{at.intent(invoice)['id']}", amount=100)
    world.sql("UPDATE anchorhold.intent SET created_at = created_at - interval '24 hours'")
    world.later(minutes=2)
    assert await step(world) == [Prepared.USED_UP]
    await comes_to_be_paid(world)
    assert at.intents(invoice) == ["canceled", "succeeded"]


async def test_an_old_row_is_looked_for_by_list_because_its_key_may_be_pruned(world: Rig) -> None:
    invoice = await world.invoice()
    fails(world, FaultKind.DROPPED_AFTER, CREATE)
    await step(world)
    pruned(world)
    assert await step(world) == [Prepared.DONE]
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"], "no second one"
    await comes_to_be_paid(world)


async def test_an_old_row_that_the_list_does_not_show_is_created(world: Rig) -> None:
    await world.invoice()
    fails(world, FaultKind.DROPPED_BEFORE, CREATE)
    await step(world)
    pruned(world)
    assert await step(world) == [Prepared.DONE]
    await comes_to_be_paid(world)


LIST_FAILS: list[Turn] = [
    refusal(500, type="api_error"),
    refusal(429, **INVALID, code="rate_limit"),
    refusal(403, **INVALID),
]


@pytest.mark.parametrize("answer", LIST_FAILS)
async def test_a_list_that_fails_spends_no_number(world: Rig, answer: Turn) -> None:
    invoice = await world.invoice()
    fails(world, FaultKind.DROPPED_AFTER, CREATE)
    await step(world)
    pruned(world)
    between(world, (LIST, answer))
    assert await step(world) == [Prepared.LATER]
    assert rows(world) == [(1, "preparing")]
    await is_accepted(world.deps(), world.scope, by_hand=True)
    await comes_to_be_paid(world)
    assert AtStripe(world).intents(invoice) == ["succeeded"]


def pruned(world: Rig) -> None:
    """A day has gone by: Stripe may have forgotten the key."""
    world.later(hours=25)


async def test_a_worker_that_dies_before_it_stored_the_id_leaves_no_second_intent(
    world: Rig,
) -> None:
    invoice = await world.invoice()
    await dies(world, When.AFTER, "stripe create_intent")
    await comes_to_be_paid(world)
    assert AtStripe(world).intents(invoice) == ["succeeded"]


async def test_nothing_is_prepared_with_the_key_of_another_account(world: Rig) -> None:
    await world.invoice()
    await step(world)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
    world.later(minutes=2)
    world.stripe_account = "acct_other"
    sent = len(world.twin.requests)
    assert await step(world) == [Prepared.LATER]
    assert len(world.twin.requests) == sent


async def test_an_intent_is_named_once_however_many_workers_made_it(world: Rig) -> None:
    """The late commit of an id (P1): whoever comes second stores nothing."""
    invoice = await world.invoice()
    deps = world.deps(Gate())
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    for customer in await customers.take_unready(deps.db, world.scope, limit=1):
        await set_up_customer(deps, connected, world.scope, customer)
    (unprepared,) = await intents.take_unprepared(deps.db, world.scope, limit=1)
    assert await prepare_intent(deps, connected, unprepared) is Prepared.DONE
    assert await prepare_intent(deps, connected, unprepared) is Prepared.LATER
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]


async def test_an_invoice_of_a_customer_that_stripe_refused_is_blocked_as_it_comes_in(
    world: Rig,
) -> None:
    await world.invoice(method="pm_card_chargeDeclined", customer="refused")
    await world.prepare()
    later = await world.invoice(method="pm_card_chargeDeclined", customer="refused")
    row = world.row(later)
    assert (row["payment_status"], row["blocked_reason"]) == ("failed", "setup")
    notices = world.sql("SELECT code FROM anchorhold.notice WHERE invoice_id = %s", later)
    assert notices == [("collection.blocked",)]
