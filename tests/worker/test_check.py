"""Checks share the stale holds, and wake whoever goes on."""

import pytest

from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.sweep import Stopped, Swept
from anchorhold.twin import FaultKind, Rule
from anchorhold.worker import check as checking
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.check import ACTS, FREES, KEEPS, check, wake_after
from tests.worker.wakes import Asked
from tests.worker.world import World

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
RETRIEVE = "GET /v1/payment_intents/{id}"


async def lose(world: World, count: int, kind: FaultKind) -> None:
    """So many charges (fewer than open the breaker) were lost, and their holds have ended."""
    await world.invoices(count)
    world.faults(Rule(kind, CONFIRM, probability=1), Rule(kind, RETRIEVE, probability=1))
    await collect_batch(world.app.deps, world.scope, limit=count)
    world.faults()
    world.sql("UPDATE anchorhold.invoice SET hold_until = hold_until - interval '1 hour'")
    world.sql("UPDATE anchorhold.attempt SET hold_until = hold_until - interval '1 hour'")


async def test_lost_answers_are_found_by_several_sweeps_that_share_them(world: World) -> None:
    await lose(world, 4, FaultKind.DROPPED_AFTER)
    done = await check(world.app.deps, world.scope)
    assert done.checks == 4
    assert world.settled()
    assert set(world.paid().values()) == {1}


async def test_what_a_check_frees_is_collected_at_once(world: World) -> None:
    await lose(world, 2, FaultKind.DROPPED_BEFORE)
    asked = Asked()
    done = await check(world.app.deps, world.scope, wake=asked)
    assert done.rows == {"S8": 2}
    assert asked.of("collect") == [0]


async def test_what_a_check_keeps_is_checked_again_when_its_time_has_come(world: World) -> None:
    await lose(world, 1, FaultKind.DROPPED_AFTER)
    world.faults(Rule(FaultKind.ERROR_500_WITHOUT_EFFECT, RETRIEVE, probability=1))
    asked = Asked()
    done = await check(world.app.deps, world.scope, wake=asked)
    assert done.rows == {"S14": 1}
    assert asked.list == [("check in", world.app.deps.timing.recheck_seconds + 1, 0)]


@pytest.mark.parametrize(("stopped", "seconds"), [(Stopped.SILENCE, 60), (Stopped.BUDGET, 1)])
async def test_a_run_that_stopped_early_is_soon_followed_by_the_next(
    world: World, stopped: Stopped, seconds: int
) -> None:
    asked = Asked()
    swept = Swept(3, {"S14": 3}, stopped)
    await wake_after(world.app.deps, world.scope, asked, swept)
    assert asked.list == [("check in", seconds, 0)]


async def test_a_check_that_raises_is_loud_after_the_others_had_their_wake_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one_fails(deps: Deps, scope: Scope) -> Swept:
        return Swept(1, {"S8": 1}, failed=RuntimeError("a bug"))

    monkeypatch.setattr(checking, "drain", one_fails)
    asked = Asked()
    with pytest.raises(RuntimeError, match="a bug"):
        await check(world.app.deps, world.scope, wake=asked)
    assert asked.of("collect") == [0]


def test_every_row_of_the_table_that_ends_a_check_with_the_hold_kept_or_freed_is_known() -> None:
    assert {act for act in ACTS.values() if act in KEEPS or act in FREES} == KEEPS | FREES
