"""One pass without jobs."""

from anchorhold.domain.outcome import Meaning
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.once import run_once
from tests.worker.world import World


async def test_one_pass_charges_everything_that_is_due_once(world: World) -> None:
    ids = await world.invoices(45)
    done = await run_once(world.app.deps, world.scope, limit=20)
    assert (done.claimed, done.charged) == (45, {Meaning.SETTLE: 45})
    assert world.paid() == dict.fromkeys(ids, 1)
    assert world.settled()


async def test_a_second_pass_changes_nothing(world: World) -> None:
    await world.invoices(3)
    await run_once(world.app.deps, world.scope)
    before = world.state()
    again = await run_once(world.app.deps, world.scope)
    assert again.claimed == 0
    assert world.state() == before


async def test_a_batch_of_one_account_leaves_another_alone(world: World) -> None:
    await world.invoices(2)
    elsewhere = type(world.scope)(world.scope.account_id, livemode=True)
    assert not (await collect_batch(world.app.deps, elsewhere)).moved
    assert world.paid() == {}
