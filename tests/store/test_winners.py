"""Two callers run the same write at the same moment, on real connections: exactly one wins."""

import asyncio
from typing import Any

import pytest

from anchorhold.domain.payment import Verdict
from tests.store.legal import broken
from tests.store.scene import Scene
from tests.store.statements import statements
from tests.store.two import Two, two
from tests.store.writes import BATCH, WRITES, Wins, Write

ALONE = [write for write in WRITES if write.wins is Wins.ONE]
SHARED = [write for write in WRITES if write.wins is Wins.SHARED]
EACH = [write for write in WRITES if write.wins is Wins.EACH]
BOTH = [write for write in WRITES if write.wins is Wins.BOTH]


def name(write: Write) -> str:
    return write.function


def test_every_write_of_the_store_is_in_the_table() -> None:
    writing = {row.function for row in statements() if _writes(row.sql)}
    assert {write.function for write in WRITES} == writing


def _writes(sql: str) -> bool:
    return any(verb in sql for verb in ("UPDATE", "INSERT", "DELETE"))


async def meet(pair: Two, write: Write, scene: Scene, state: Any) -> tuple[Any, asyncio.Task[Any]]:
    """The first caller's answer, and the second, which is seen waiting for the first's end."""
    answer = await write.run(pair.first, scene.scope, scene, state)
    second = asyncio.create_task(write.run(pair.second, scene.scope, scene, state))
    assert await pair.waits(pair.second, second), f"it did not wait: {await second}"
    return answer, second


@pytest.mark.parametrize("write", ALONE, ids=name)
async def test_the_first_to_commit_wins_alone(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        answer, second = await meet(pair, write, scene, state)
        await pair.first.conn.commit()
        assert (write.won(answer), write.won(await second)) == (True, False)
    assert broken(scene) == []


@pytest.mark.parametrize("write", ALONE, ids=name)
async def test_the_second_wins_when_the_first_rolls_back(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        answer, second = await meet(pair, write, scene, state)
        await pair.first.conn.rollback()
        assert (write.won(answer), write.won(await second)) == (True, True)
        again = await write.run(pair.second, scene.scope, scene, state)
        assert write.won(again) is write.repeats
    assert broken(scene) == []


@pytest.mark.parametrize("write", SHARED, ids=name)
async def test_a_batch_leaves_alone_what_another_holds(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        first = await write.run(pair.first, scene.scope, scene, state)
        second = await write.run(pair.second, scene.scope, scene, state)
        assert (len(first), len(second)) == (BATCH, BATCH)
        assert len({identity(row) for row in [*first, *second]}) == 2 * BATCH
        await pair.first.conn.commit()
        assert not await write.run(pair.second, scene.scope, scene, state)
    assert broken(scene) == []


@pytest.mark.parametrize("write", SHARED, ids=name)
async def test_a_batch_that_was_rolled_back_is_free_again(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        first = await write.run(pair.first, scene.scope, scene, state)
        await write.run(pair.second, scene.scope, scene, state)
        await pair.first.conn.rollback()
        third = await write.run(pair.second, scene.scope, scene, state)
        assert {identity(row) for row in third} == {identity(row) for row in first}


def identity(row: Any) -> str:
    """Which invoice, customer or event a row of a batch is about."""
    if isinstance(row, str):
        return row
    if hasattr(row, "token"):
        return str(row.token.invoice_id)
    names = ("invoice_id", "customer_id", "id")
    return next(str(getattr(row, name)) for name in names if getattr(row, name, None))


@pytest.mark.parametrize("write", BOTH, ids=name)
async def test_a_stamp_waits_and_is_made_again(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        answer, second = await meet(pair, write, scene, state)
        await pair.first.conn.commit()
        assert answer == await second
    assert broken(scene) == []


@pytest.mark.parametrize("write", EACH, ids=name)
async def test_each_of_two_counts(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        answer, second = await meet(pair, write, scene, state)
        await pair.first.conn.commit()
        assert await second == 2 * answer
    assert broken(scene) == []


async def test_two_who_bring_the_same_news_leave_one_payment(scene: Scene) -> None:
    write = next(write for write in WRITES if write.function == "payments.settle")
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        answer, second = await meet(pair, write, scene, state)
        await pair.first.conn.commit()
        assert (answer.verdict, (await second).verdict) == (Verdict.PAID, Verdict.KNOWN)
    assert scene.value("SELECT count(*) FROM anchorhold.payment") == 1
    assert scene.value("SELECT amount_paid = amount_due FROM anchorhold.invoice")
    assert scene.value("SELECT charge_seq FROM anchorhold.invoice") == 1
