"""A tick: a flagged account is tried again, the rest is looked through."""

from anchorhold.engine.accounts import is_accepted
from anchorhold.store import accounts
from anchorhold.store.accounts import NewConnection
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import ACCOUNT, SECRET_KEY
from tests.engine.left import notices
from tests.engine.rig import Rig
from tests.engine.stripe_side import (
    ACCOUNT_ITSELF,
    CONFIRM,
    between,
    meanwhile,
    refusal,
    unreadable,
)


async def flagged(world: Rig) -> bool:
    connection = await accounts.connection(world.pool, world.scope)
    assert connection is not None
    return connection.refused_at is not None


async def refused_key(world: Rig) -> None:
    """A charge met a key that Stripe does not take any more."""
    await world.invoice()
    await world.prepare()
    world.twin.add_key(SECRET_KEY, state=KeyState.EXPIRED)
    await world.charge_due()
    assert await flagged(world)


async def test_a_flagged_account_is_accepted_again_when_stripe_takes_its_key(world: Rig) -> None:
    await refused_key(world)
    assert (await world.tick()).account_refused
    assert await flagged(world)
    world.twin.add_key(SECRET_KEY)
    assert not (await world.tick()).account_refused
    assert not await flagged(world)


async def test_a_right_that_the_key_lacks_is_not_proven_by_reading_the_account(
    world: Rig,
) -> None:
    """Else the flag would go and come with each tick, and every charge between be refused."""
    await world.invoice()
    await world.prepare()
    between(world, (CONFIRM, refusal(403, type="invalid_request_error")))
    await world.charge_due()
    assert (await world.tick()).account_refused
    assert await flagged(world)


async def test_an_operator_who_gave_the_right_lifts_the_flag(world: Rig) -> None:
    await world.invoice()
    await world.prepare()
    between(world, (CONFIRM, refusal(403, type="invalid_request_error")))
    await world.charge_due()
    assert await is_accepted(world.deps(), world.scope, by_hand=True)
    assert not await flagged(world)
    assert not (await world.tick()).account_refused


async def test_no_answer_leaves_the_flag(world: Rig) -> None:
    await refused_key(world)
    world.twin.add_key(SECRET_KEY)
    between(world, (ACCOUNT_ITSELF, unreadable()))
    assert (await world.tick()).account_refused


async def test_an_account_that_cannot_be_reached_at_all_stays_flagged(world: Rig) -> None:
    await refused_key(world)
    world.connected = False
    assert (await world.tick()).account_refused


async def test_a_late_refusal_of_an_old_key_does_not_flag_the_new_one(world: Rig) -> None:
    await world.invoice()
    await world.prepare()
    new = NewConnection(ACCOUNT, b"sealed anew", "5678", "another fingerprint")
    world.twin.add_key(SECRET_KEY, state=KeyState.REVOKED)
    connect = "UPDATE anchorhold.connection SET key_fingerprint = %s"
    between(world, (CONFIRM, meanwhile(lambda: world.sql(connect, new.key_fingerprint))))
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A10", "not_sent")
    assert not await flagged(world)


async def test_a_late_acceptance_of_an_old_key_does_not_clear_the_new_ones_flag(
    world: Rig,
) -> None:
    await refused_key(world)
    world.twin.add_key(SECRET_KEY)
    connect = "UPDATE anchorhold.connection SET key_fingerprint = 'another'"
    between(world, (ACCOUNT_ITSELF, meanwhile(lambda: world.sql(connect))))
    await world.tick()
    assert await flagged(world)


async def test_a_tick_without_anything_to_do_asks_stripe_for_news_alone(world: Rig) -> None:
    await world.invoice()
    await world.charge_due()
    sent = len(world.twin.requests)
    ticked = await world.tick()
    assert (ticked.swept.checks, ticked.followed, ticked.watched) == (0, {}, {})
    assert [entry.path for entry in world.twin.requests[sent:]] == ["/v1/events"]
    assert (ticked.audited.read, ticked.audited.rows) == (1, {"N1": 1})


async def test_an_invoice_that_came_in_while_its_customer_was_refused_is_blocked(
    world: Rig,
) -> None:
    """The import and the refusal did not see each other."""
    invoice = await world.invoice()
    world.sql("UPDATE anchorhold.stripe_customer SET refused_code = 'x', refused_message = 'No.'")
    await world.tick()
    row = world.row(invoice)
    assert (row["payment_status"], row["blocked_reason"]) == ("failed", "setup")
    assert notices(world) == ["collection.blocked"]
    await world.tick()
    assert notices(world) == ["collection.blocked"]
