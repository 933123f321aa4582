"""What must come to its end runs on a task of its own (protocol section 3, step 5)."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

RELEASE_S: Final = 10.0
"""A release is given so long, and then once more as long."""


class OwnTasks:
    """`engine.deps.Apart` by tasks of asyncio: cancelling the caller cancels none of them."""

    def __init__(self, release_s: float = RELEASE_S) -> None:
        self._release_s = release_s
        self._running: set[asyncio.Task[Any]] = set()

    async def save(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `Apart.save`. A caller that is cancelled hears so once the work has ended."""
        task = asyncio.create_task(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await asyncio.wait({task})
            raise

    async def release(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `Apart.release`. Raises TimeoutError, or what the second try raised."""
        return await self.save(lambda: self._twice(work))

    async def _twice(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await asyncio.wait_for(work(), self._release_s)
        except Exception:  # a release is a compare-and-set: once more changes nothing
            return await asyncio.wait_for(work(), self._release_s)

    async def send(
        self,
        call: Callable[[], Coroutine[Any, Any, T]],
        interrupted: Callable[[], Coroutine[Any, Any, object]],
    ) -> T:
        """See `Apart.send`. The call is cancelled with its caller; what it did nobody knows."""
        try:
            return await call()
        except asyncio.CancelledError:
            await self._note(interrupted)
            raise

    async def _note(self, interrupted: Callable[[], Coroutine[Any, Any, object]]) -> None:
        with suppress(Exception):  # best effort: the hold stays with or without the note
            await self.save(lambda: asyncio.wait_for(interrupted(), self._release_s))
