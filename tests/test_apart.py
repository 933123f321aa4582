"""What must come to its end runs on a task of its own (protocol section 3, step 5)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from anchorhold.apart import OwnTasks


class Work:
    """Something that takes until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()
        self.ended = False

    async def run(self) -> str:
        self.begun.set()
        await self.let_go.wait()
        self.ended = True
        return "saved"


async def cancel(task: "asyncio.Task[Any]", work: Work) -> None:
    """The caller is cancelled while the work is under way."""
    await work.begun.wait()
    task.cancel()
    asyncio.get_running_loop().call_soon(work.let_go.set)
    with pytest.raises(asyncio.CancelledError):
        await task


async def nothing() -> None:
    return None


async def test_a_save_is_what_the_work_returns() -> None:
    work = Work()
    work.let_go.set()
    assert await OwnTasks().save(work.run) == "saved"


async def test_a_save_comes_to_its_end_although_its_caller_is_cancelled() -> None:
    work = Work()
    await cancel(asyncio.create_task(OwnTasks().save(work.run)), work)
    assert work.ended


async def test_so_does_a_release() -> None:
    work = Work()
    await cancel(asyncio.create_task(OwnTasks().release(work.run)), work)
    assert work.ended


def failing(times: int, calls: list[int]) -> Callable[[], Coroutine[Any, Any, str]]:
    """Work that fails so often before it succeeds."""

    async def work() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise ConnectionError
        return "released"

    return work


async def test_a_release_that_fails_is_tried_once_more() -> None:
    calls: list[int] = []
    assert await OwnTasks().release(failing(1, calls)) == "released"
    assert len(calls) == 2


async def test_and_not_a_third_time() -> None:
    calls: list[int] = []
    with pytest.raises(ConnectionError):
        await OwnTasks().release(failing(2, calls))
    assert len(calls) == 2


async def test_a_release_that_hangs_is_given_up_twice() -> None:
    begun: list[int] = []

    async def hangs() -> None:
        begun.append(1)
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await OwnTasks(release_s=0.01).release(hangs)
    assert len(begun) == 2


async def test_a_caller_that_is_cancelled_in_mid_call_notes_it_and_ends() -> None:
    work, noted = Work(), asyncio.Event()

    async def note() -> None:
        noted.set()

    task = asyncio.create_task(OwnTasks().send(work.run, note))
    await work.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert noted.is_set()
    assert not work.ended, "the call itself ends with its caller"


async def test_a_call_that_fails_by_itself_notes_nothing() -> None:
    async def note() -> None:
        raise AssertionError("nobody was cancelled")

    with pytest.raises(ConnectionError):
        await OwnTasks().send(failing(1, []), note)


async def test_a_note_that_fails_does_not_hide_the_cancellation() -> None:
    work = Work()
    task = asyncio.create_task(OwnTasks().send(work.run, failing(9, [])))
    await work.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_that_ends_in_time_is_what_it_returns() -> None:
    assert await OwnTasks().send(failing(0, []), nothing) == "released"
