"""What a tick bills is collected at once, and not when the next tick asks for a batch."""

from datetime import UTC, datetime

import procrastinate
import pytest
import pytest_asyncio

from anchorhold.domain.ids import PRICE
from anchorhold.domain.period import Interval, Unit, calendar_of
from anchorhold.domain.price import Billing, Price, Scheme
from anchorhold.domain.scope import Scope
from anchorhold.engine.subscribe import Asked, priced, subscribe
from anchorhold.store import prices
from anchorhold.worker.jobs import connect_jobs
from tests.worker.test_jobs import tasks_of
from tests.worker.world import World


@pytest_asyncio.fixture(name="jobs")
async def _jobs(world: World) -> procrastinate.App:
    """Procrastinate's tables; nobody is at work, and no job is asked for."""
    return connect_jobs(world.app.conninfo)


async def test_a_tick_that_billed_something_asks_for_another_batch(
    world: World, jobs: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    await due_subscription(world)
    tasks = tasks_of(world, jobs)
    asked: list[Scope] = []

    async def collect(scope: Scope, *, in_s: float = 0) -> None:
        asked.append(scope)

    monkeypatch.setattr(tasks.wake, "collect", collect)
    await tasks.tick(0)
    assert asked == [world.scope] * 2
    await tasks.tick(0)
    assert asked == [world.scope] * 3


async def due_subscription(world: World) -> None:
    """A subscription that began now, by the month."""
    deps, scope = world.app.deps, world.scope
    (id_,) = deps.db.new_ids(PRICE, 1)
    month = Interval(Unit.MONTH)
    price = Price(id_, "plan", "eur", 3100, Scheme.FLAT, month, Billing.IN_ADVANCE)
    assert await prices.create(deps.db, scope, price)
    rows = await priced(deps, scope, {"plan": 1})
    asked = Asked("acme-plan", "acme", None, "pm_card_visa", {"plan": 1})
    calendar = calendar_of(datetime.now(UTC).replace(microsecond=0), "UTC", month)
    await subscribe(deps, scope, asked, rows, calendar)
