"""One batch: what it takes, whom it wakes, and what it does not let one failure do."""

import asyncio
from datetime import timedelta

import pytest

from anchorhold.domain.account import ChargeMode, Modes
from anchorhold.domain.answer import Doubt, Unclear
from anchorhold.domain.hold import Claim
from anchorhold.domain.intent import Unprepared
from anchorhold.domain.outcome import Meaning
from anchorhold.domain.scope import Scope
from anchorhold.engine.charge import Charged, charge
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.prepare import Prepared
from anchorhold.store import accounts
from anchorhold.stripe.breaker import Breaker
from anchorhold.twin import FaultKind, Rule
from anchorhold.worker import batch as batches
from anchorhold.worker import charges as charging
from anchorhold.worker.batch import after_lease_s, collect_batch
from anchorhold.worker.charges import Charges
from anchorhold.worker.once import run_once
from anchorhold.worker.stop import Stop
from tests.worker.wakes import Asked, Broken
from tests.worker.world import World

CONFIRM = "POST /v1/payment_intents/{id}/confirm"


def open_breaker(rest_s: float) -> Breaker:
    """A breaker that has just seen Stripe out of reach."""
    breaker = Breaker(failures=1, rest_s=rest_s)
    permit = breaker.admit()
    assert permit
    breaker.record(permit, Unclear(Doubt.CONNECTION_LOST))
    return breaker


async def test_a_full_batch_wakes_the_next_before_it_charges(world: World) -> None:
    await world.invoices(5)
    asked = Asked(world.confirms)
    await collect_batch(world.app.deps, world.scope, limit=3, wake=asked)
    before_charging = [(what, when) for what, when, confirms in asked.list if confirms == 0]
    assert before_charging.count(("collect", 0)) == 3
    assert world.confirms() == 3


async def test_a_batch_that_is_not_full_wakes_nobody_at_once(world: World) -> None:
    await world.invoices(2)
    asked = Asked()
    await collect_batch(world.app.deps, world.scope, limit=3, wake=asked)
    assert 0 not in asked.of("collect")


async def test_a_claim_leaves_a_check_for_the_second_after_its_hold(world: World) -> None:
    await world.invoices(2)
    asked = Asked(world.confirms)
    await collect_batch(world.app.deps, world.scope, wake=asked)
    ((ends,),) = world.sql("SELECT max(hold_until) FROM anchorhold.attempt")
    assert asked.of("check at") == [ends + timedelta(seconds=1)]
    assert [confirms for what, _, confirms in asked.list if what == "check at"] == [0]


async def test_whatever_was_leased_is_looked_at_again_should_the_batch_die(world: World) -> None:
    await world.invoices(1)
    asked = Asked()
    await collect_batch(world.app.deps, world.scope, wake=asked)
    assert asked.of("collect") == [after_lease_s(world.app.deps.timing)] * 2


async def test_what_could_not_be_sent_comes_again_after_its_pause(world: World) -> None:
    await world.invoices(1)
    world.faults(Rule(FaultKind.RATE_LIMIT, CONFIRM, frozenset({1})))
    asked = Asked()
    done = await collect_batch(world.app.deps, world.scope, wake=asked)
    assert done.charged == {Meaning.BACK_OFF: 1}
    assert asked.of("collect")[-1] == 31


async def test_a_wake_up_that_fails_does_not_keep_claims_from_being_charged(world: World) -> None:
    ids = await world.invoices(2)
    await collect_batch(world.app.deps, world.scope, limit=2, wake=Broken())
    assert world.paid() == dict.fromkeys(ids, 1)


async def test_nothing_is_claimed_while_the_breaker_is_open(world: World) -> None:
    await world.invoices(3)
    asked = Asked()
    breaker = open_breaker(rest_s=30)
    done = await collect_batch(world.app.deps, world.scope, wake=asked, breaker=breaker)
    assert (done.claimed, world.confirms()) == (0, 0)
    (later,) = [
        when
        for when in asked.of("collect")
        if when not in {0, after_lease_s(world.app.deps.timing)}
    ]
    assert isinstance(later, float)
    assert 30 < later <= 31


async def test_one_is_claimed_to_try_the_road_again(world: World) -> None:
    await world.invoices(3)
    half_open = open_breaker(rest_s=1e-9)
    done = await collect_batch(world.app.deps, world.scope, breaker=half_open)
    assert done.claimed == 1


async def test_nothing_is_claimed_once_the_process_is_to_stop(world: World) -> None:
    await world.invoices(1)
    stop = Stop()
    stop.request()
    done = await collect_batch(world.app.deps, world.scope, stop=stop)
    assert (done.prepared, done.claimed) == ({Prepared.DONE: 2}, 0)


async def test_one_charge_that_raises_does_not_stop_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, good, other = await world.invoices(3)

    async def fails_for_one(deps: Deps, claim: Claim) -> Charged:
        if claim.token.invoice_id == bad:
            raise RuntimeError("a bug")
        return await charge(deps, claim)

    monkeypatch.setattr(charging, "charge", fails_for_one)
    done = await collect_batch(world.app.deps, world.scope)
    assert (done.claimed, done.charged) == (3, {Meaning.SETTLE: 2})
    assert world.paid() == {good: 1, other: 1}
    assert world.sql("SELECT id FROM anchorhold.invoice WHERE hold_until IS NOT NULL") == [(bad,)]


async def test_one_preparation_that_raises_does_not_stop_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await world.invoices(3)
    real, bad = batches.prepare_intent, ids[0]

    async def fails_for_one(deps: Deps, connected: Connected, invoice: Unprepared) -> Prepared:
        if invoice.invoice_id == bad:
            raise RuntimeError("a bug")
        return await real(deps, connected, invoice)

    monkeypatch.setattr(batches, "prepare_intent", fails_for_one)
    done = await collect_batch(world.app.deps, world.scope)
    assert done.claimed == 2
    assert world.paid() == dict.fromkeys(ids[1:], 1)


async def test_a_charge_goes_on_when_whoever_waits_for_it_is_cancelled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (invoice,) = await world.invoices(1)
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(deps: Deps, claim: Claim) -> Charged:
        begun.set()
        await goes_on.wait()
        return await charge(deps, claim)

    monkeypatch.setattr(charging, "charge", slow)
    charges = Charges()
    doing = asyncio.create_task(collect_batch(world.app.deps, world.scope, charges=charges))
    await begun.wait()
    doing.cancel()
    await asyncio.wait({doing})
    assert doing.cancelled()
    assert charges.running == 1
    goes_on.set()
    await charges.finished()
    assert charges.running == 0
    assert world.settled()
    assert world.paid() == {invoice: 1}


async def test_batches_at_the_same_time_share_what_there_is(world: World) -> None:
    ids = await world.invoices(30)
    await asyncio.gather(*(run_once(world.app.deps, world.scope, limit=4) for _ in range(4)))
    await run_once(world.app.deps, world.scope)
    assert world.paid() == dict.fromkeys(ids, 1)
    assert world.confirms() == 30


async def test_a_batch_twice_over_changes_nothing(world: World) -> None:
    await world.invoices(3)
    await collect_batch(world.app.deps, world.scope)
    before = world.state()
    await asyncio.gather(*(collect_batch(world.app.deps, world.scope) for _ in range(3)))
    assert world.state() == before


async def test_rows_of_another_stripe_account_than_the_providers_are_left_alone(
    world: World,
) -> None:
    await world.invoices(2)
    await world.app.providers.of(world.scope)
    world.sql("UPDATE anchorhold.connection SET stripe_account = 'acct_other'")
    world.sql("UPDATE anchorhold.stripe_customer SET stripe_account = 'acct_other'")
    done = await collect_batch(world.app.deps, world.scope)
    assert (done.prepared, done.claimed) == ({}, 0)
    assert world.twin.requests == []


async def test_an_account_that_is_not_connected_has_nothing_to_do(world: World) -> None:
    elsewhere = Scope(world.scope.account_id, livemode=True)
    assert not (await collect_batch(world.app.deps, elsewhere)).moved
    assert await accounts.scopes(world.app.deps.db) == [world.scope]


async def test_a_direct_claim_is_checked_after_its_request_cannot_be_on_its_way(
    world: World,
) -> None:
    await accounts.set_modes(world.app.deps.db, world.scope.account_id, Modes(ChargeMode.DIRECT))
    world.app.providers.forget(world.scope)
    await world.invoices(2)
    asked = Asked()
    batch = await collect_batch(world.app.deps, world.scope, wake=asked)
    assert batch.charged[Meaning.SETTLE] == 2
    ((ends,),) = world.sql("SELECT max(hold_until) FROM anchorhold.attempt")
    wait = timedelta(seconds=1 + world.app.settings.timing.sweep_wait_seconds)
    assert asked.of("check at") == [ends + wait]
