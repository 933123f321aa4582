"""Who leads a recovery, what closes the mode meanwhile, and how it goes on after a death."""

from collections.abc import Callable
from contextlib import suppress

import psycopg
import pytest

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.recover import ensure, survey
from anchorhold.store import recoveries
from tests.engine.restores import backup, restore, set_up
from tests.engine.rig import CrashError, Gate, Rig, When, rig
from tests.engine.stripe_side import (
    CONFIRM,
    CREATE,
    EVENTS,
    LIST,
    RETRIEVE,
    AtStripe,
    between,
    refusal,
    sent_by,
)
from tests.engine.test_recover import assert_paid_once, is_whole, recovered, with_intent

ELSEWHERE = "UPDATE anchorhold.connection SET lineage = 'another/00000001/1'"
DIRECT = "UPDATE anchorhold.account SET charge_mode = 'direct'"


async def test_nothing_is_claimed_or_prepared_before_it_is_done(world: Rig) -> None:
    await with_intent(world)
    await world.invoice()
    world.sql(ELSEWHERE)
    assert await world.claim_due() == []
    await world.prepare()
    assert world.sql("SELECT count(*) FROM anchorhold.intent") == [(1,)]
    await recovered(world)
    assert len(await world.charge_due()) == 2


async def test_an_operators_collect_is_refused_meanwhile(world: Rig) -> None:
    invoice = await with_intent(world)
    world.sql(ELSEWHERE)
    with pytest.raises(Refusal) as refused:
        await world.collect(invoice)
    assert refused.value.code is Code.RECOVERY_DUE


async def test_a_tick_recovers_before_it_does_anything_else(world: Rig) -> None:
    invoice = await with_intent(world)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    ticked = await world.tick()
    assert ticked.recovered is not None
    assert_paid_once(world, invoice)


async def test_a_start_after_a_silence_doubts_the_database(world: Rig) -> None:
    await with_intent(world)
    assert await recoveries.doubt(world.pool, world.scope) is None
    world.later(minutes=6)
    assert await recoveries.doubt(world.pool, world.scope)
    assert await world.claim_due() == []
    await recovered(world)
    assert len(await world.claim_due()) == 1


async def test_while_one_leads_another_waits(world: Rig) -> None:
    world.sql(ELSEWHERE)
    run = await recoveries.begin(
        world.pool, world.scope, back_s=3600, in_flight_s=180, actor="another"
    )
    assert run is not None
    assert await ensure(world.deps(), world.scope) is None
    assert not await is_whole(world)
    world.later(minutes=3)
    await recovered(world)
    assert await recoveries.finish(world.pool, world.scope, run) is None


@pytest.mark.parametrize("endpoint", [LIST, EVENTS])
async def test_a_refusal_keeps_the_mode_closed_and_says_why(world: Rig, endpoint: str) -> None:
    await with_intent(world)
    world.sql(ELSEWHERE)
    between(world, *[(endpoint, refusal(403, message="no rights")) for _ in range(3)])
    done = await ensure(world.deps(), world.scope)
    assert done is not None
    assert done.stopped == "Stripe answered 403 no rights"
    look = await recoveries.look(world.pool, world.scope)
    assert look is not None
    assert (look.whole, look.failure) == (False, "Stripe answered 403 no rights")
    await recovered(world)


async def test_one_intent_that_cannot_be_read_stops_no_other(world: Rig) -> None:
    invoice = await with_intent(world)
    other = await with_intent(world)
    world.later(hours=3)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    between(world, (RETRIEVE, refusal(404, message="no such intent")))
    await recovered(world)
    assert sorted(world.row(one)["status"] for one in (invoice, other)) == ["open", "paid"]


async def test_an_intent_that_gets_no_answer_leaves_it_for_later(world: Rig) -> None:
    invoice = await with_intent(world)
    world.later(hours=3)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    between(world, (RETRIEVE, refusal(500)))
    done = await ensure(world.deps(), world.scope)
    assert done is not None
    assert done.stopped is not None
    await recovered(world)
    assert_paid_once(world, invoice)


async def lost_two(world: Rig) -> None:
    """One payment and one intent are lost."""
    await with_intent(world)
    await world.invoice()
    await set_up(world)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)


async def test_a_database_that_goes_away_leaves_no_lease_behind(world: Rig) -> None:
    """The next one need not wait until the lease of this one ends."""
    await lost_two(world)
    gate = Gate(dies_at=("db recoveries.look_up", 1, When.LOST))
    with pytest.raises(psycopg.OperationalError):
        await ensure(world.deps(gate), world.scope)
    await recovered(world)


async def steps(world: Rig) -> list[tuple[str, int]]:
    """Every statement and call of a recovery, on rows of its own."""
    await lost_two(world)
    gate = Gate()
    await ensure(world.deps(gate), world.scope)
    return gate.points()


@pytest.mark.parametrize("when", [When.AFTER, When.LOST])
async def test_whoever_dies_in_it_is_followed_by_one_who_ends_it(
    clear_database: Callable[[], str], when: When
) -> None:
    """At each of its statements and calls; before one is after the one before it."""
    async with rig(clear_database()) as world:
        found = await steps(world)
    assert len(found) > 12
    for name, number in found:
        async with rig(clear_database()) as world:
            await dies(world, (name, number, when))


async def dies(world: Rig, at: tuple[str, int, When]) -> None:
    """One dies there; the next ends it, and both invoices are paid once and recorded."""
    await lost_two(world)
    with suppress(CrashError, psycopg.OperationalError):
        await ensure(world.deps(Gate(dies_at=at)), world.scope)
    world.later(minutes=3)
    if not await is_whole(world):
        await recovered(world)
    await world.charge_due()
    assert sorted(world.paid_at_stripe().values()) == [1, 1], at
    assert world.sql("SELECT count(*) FROM anchorhold.payment") == [(2,)], at


async def test_it_goes_on_at_the_page_where_it_stopped(world: Rig) -> None:
    await with_intent(world)
    world.sql(ELSEWHERE)
    between(world, *[(EVENTS, refusal(503)) for _ in range(3)])
    assert await ensure(world.deps(), world.scope)
    listed = sent_by(world, LIST)
    await recovered(world)
    assert not listed


async def test_after_another_failover_it_begins_again(world: Rig) -> None:
    await with_intent(world)
    world.sql(ELSEWHERE)
    between(world, *[(EVENTS, refusal(503)) for _ in range(3)])
    assert await ensure(world.deps(), world.scope)
    world.sql("UPDATE anchorhold.recovery SET lineage = 'a third/00000002/1'")
    listed = sent_by(world, LIST)
    await recovered(world)
    assert len(listed) == 1


async def test_a_dry_run_changes_nothing_here_or_at_stripe(world: Rig) -> None:
    saved = backup(world)
    invoice = await with_intent(world)
    restore(world, saved)
    done = await survey(world.deps(), world.scope)
    assert done.counts["V8"] == 1
    assert AtStripe(world).intents(invoice) == ["requires_payment_method"]
    assert not await is_whole(world)


async def test_a_backup_older_than_events_is_read_from_the_oldest_live_intent(
    world: Rig,
) -> None:
    """Stripe keeps events for 30 days: an intent of before the backup is found by listing."""
    invoice = await with_intent(world)
    world.later(days=2)
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    world.later(days=40)
    asked = sent_by(world, EVENTS)
    await recovered(world)
    assert not asked
    assert_paid_once(world, invoice)


async def test_in_direct_mode_it_is_not_done_before_the_last_charge_can_have_ended(
    world: Rig,
) -> None:
    """One that left before the fail-over may arrive at Stripe behind the list."""
    world.sql(DIRECT)
    world.sql(ELSEWHERE)
    done = await ensure(world.deps(), world.scope)
    assert done is not None
    assert done.stopped == "a charge of before the fail-over may still be on its way"
    world.later(minutes=4)
    await recovered(world)


async def test_a_lost_attempt_sends_the_same_request_again(world: Rig) -> None:
    """The key is made of account, invoice and counter, so Stripe answers with the first answer."""
    invoice = await world.invoice(method="pm_card_chargeCustomerFail")
    await world.prepare()
    saved = backup(world)
    sent = sent_by(world, CONFIRM)
    await world.charge_due()
    restore(world, saved)
    await recovered(world)
    await world.charge_due()
    first, second = sent
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    assert AtStripe(world).charges(invoice) == ["failed"]
    assert world.row(invoice)["payment_status"] == "failed"


async def test_a_lost_customer_is_made_again_and_brings_no_second_payment(world: Rig) -> None:
    """After a day the key is forgotten, and Stripe has the customer twice: no money is on it."""
    invoice = await world.invoice()
    saved = backup(world)
    await world.charge_due()
    restore(world, saved)
    world.sql(
        "UPDATE anchorhold.stripe_customer SET stripe_customer_id = NULL, "
        "payment_method = NULL, look_at = anchorhold.now()"
    )
    world.later(days=2)
    await recovered(world)
    await world.charge_due()
    assert_paid_once(world, invoice)


async def recovered_in_time(world: Rig) -> None:
    """A direct mode's recovery, once every charge of before has ended."""
    assert await ensure(world.deps(), world.scope)
    world.later(minutes=4)
    await recovered(world)


async def test_a_lost_direct_charge_is_recorded_and_not_made_again(direct: Rig) -> None:
    """Its invoice has another card by now, so that the same key would not have helped."""
    invoice = await direct.invoice()
    await direct.prepare()
    saved = backup(direct)
    await direct.charge_due()
    restore(direct, saved)
    direct.sql("UPDATE anchorhold.stripe_customer SET payment_method = 'pm_card_mastercard'")
    await recovered_in_time(direct)
    await direct.charge_due()
    assert_paid_once(direct, invoice)


async def test_a_lost_direct_decline_sends_the_same_request_again(direct: Rig) -> None:
    """The attempt's reference in it is derived too: no byte differs, so Stripe replays."""
    invoice = await direct.invoice(method="pm_card_chargeCustomerFail")
    await direct.prepare()
    saved = backup(direct)
    sent = sent_by(direct, CREATE)
    await direct.charge_due()
    restore(direct, saved)
    await recovered_in_time(direct)
    await direct.charge_due()
    first, second = sent
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    assert AtStripe(direct).charges(invoice) == ["failed"]
