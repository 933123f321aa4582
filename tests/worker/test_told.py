"""What a worker tells whoever reads its log, and what one account's trouble does to others."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from anchorhold import logs
from anchorhold.app import open_app
from anchorhold.domain.answer import Refused, Shown
from anchorhold.engine.charge import charge
from anchorhold.engine.claim import claim_due
from anchorhold.providers import new_connection
from anchorhold.settings import load
from anchorhold.store import accounts
from anchorhold.stripe.breaker import Breaker, BreakerState
from anchorhold.twin import ACCOUNT, FaultKind, Rule
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.jobs import connect_jobs
from anchorhold.worker.run import work
from anchorhold.worker.stop import Stop
from tests.engine.rig import Quiet
from tests.worker.test_jobs import tasks_of
from tests.worker.world import World, connect_account, due_invoices

CONFIRM = "POST /v1/payment_intents/{id}/confirm"


async def test_the_log_knows_when_no_charge_is_sent_any_more(
    env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Quiet()
    monkeypatch.setattr(logs, "logger", lambda: log)
    async with open_app(load(env), actor="test") as app:
        opened(app.wires.breaker)
    ((level, event, facts),) = log.lines
    assert (level, event, facts["unreached_in_a_row"]) == ("error", "breaker.opened", 5)


def opened(breaker: Breaker) -> None:
    """Five calls in a row did not reach Stripe."""
    for _ in range(5):
        permit = breaker.admit()
        assert permit is not None
        breaker.record(permit, Refused(503))
    assert breaker.view().state is BreakerState.OPEN


def test_who_listens_to_a_breaker_hears_each_turn_once() -> None:
    now, heard = [0.0], list[str]()
    breaker = Breaker(clock=lambda: now[0], on_turn=lambda view: heard.append(view.state.value))
    opened(breaker)
    now[0] = 31
    for answer in (Refused(503), Shown("anything")):
        permit = breaker.admit()
        assert permit is not None
        breaker.record(permit, answer)
        now[0] += 31
    assert heard == ["open", "open", "closed"]


@pytest.mark.parametrize("status", ["key", "rate"])
async def test_one_accounts_refusals_never_stop_another(world: World, status: str) -> None:
    """Both share the road to Stripe, and so the breaker; neither a 401 nor a 429 is about that."""
    other = await connect_account(world.app, "other")
    await world.invoices(8)
    await collect_batch(world.app.deps, world.scope, limit=8)
    await world.invoices(8, prefix="S")
    await due_invoices(world.app.deps.db, other, 3, prefix="O")
    if status == "key":
        wrong = new_connection(world.app.secret_key, world.scope, "sk_test_wrong", ACCOUNT)
        await accounts.connect(world.app.deps.db, world.scope, wrong)
        world.app.providers.forget(world.scope)
    else:
        world.faults(Rule(FaultKind.RATE_LIMIT, "*", calls=frozenset(range(1, 8))))
    await collect_batch(world.app.deps, world.scope, limit=8)
    assert world.app.wires.breaker.view().state is BreakerState.CLOSED
    assert world.app.wires.breaker.view().failures == 0
    world.faults()
    batch = await collect_batch(world.app.deps, other, limit=8)
    assert batch.claimed == 3


async def test_a_charge_that_meets_an_open_breaker_releases_its_hold(world: World) -> None:
    await world.invoices(2)
    only_prepares = Stop()
    only_prepares.request()
    deps = world.app.deps
    await collect_batch(deps, world.scope, limit=2, stop=only_prepares)
    claims = await claim_due(deps, world.scope, limit=2, directly=False)
    opened(world.app.wires.breaker)
    ends = [(await charge(deps, claim)).saved for claim in claims]
    assert ends == ["not_sent", "not_sent"]
    held = world.sql("SELECT hold_until FROM anchorhold.invoice")
    assert held == [(None,), (None,)]
    causes = world.sql("SELECT state, cause FROM anchorhold.attempt")
    assert causes == [("not_sent", "breaker_open")] * 2
    assert world.confirms() == 0


async def test_a_worker_without_a_connected_account_says_so(world: World) -> None:
    world.sql("DELETE FROM anchorhold.connection")
    log = Quiet()
    told = replace(world.app, deps=replace(world.app.deps, log=log))
    async with connect_jobs(world.app.conninfo).open_async() as jobs:
        await tasks_of(replace(world, app=told), jobs).tick(0)
    ((level, event, facts),) = log.lines
    assert (level, event) == ("error", "worker.no_account")
    assert "anchorhold account connect" in str(facts["next_step"])


async def test_a_worker_whose_database_is_away_ends_when_it_is_asked(
    world: World,
) -> None:
    """It waits for a connection; nothing that could be charged runs."""
    away = replace(world.app, conninfo="host=/nonexistent dbname=none connect_timeout=60")
    stop = Stop()
    working = asyncio.create_task(work(away, stop))
    await asyncio.sleep(0.1)
    stop.request()
    async with asyncio.timeout(10):
        await working
