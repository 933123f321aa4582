"""`Apart` in a world: what it shields comes to its end before its cancelled caller ends.

Nothing else is done by the caller meanwhile, so that this is what a task of its own would do.
"""

from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Shield:
    """One process's. `closed`: inside of what must come to its end."""

    def __init__(self) -> None:
        self.closed = 0
        self.cancelled = False
        """The process was cancelled meanwhile, and ends as soon as the shield opens."""

    async def save(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `deps.Apart.save`."""
        self.closed += 1
        try:
            saved = await work()
        finally:
            self.closed -= 1
        if self.cancelled and not self.closed:
            raise CancelledError
        return saved

    async def release(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `deps.Apart.release`."""
        return await self.save(work)

    async def send(
        self,
        call: Callable[[], Coroutine[Any, Any, T]],
        interrupted: Callable[[], Coroutine[Any, Any, object]],
    ) -> T:
        """See `deps.Apart.send`."""
        try:
            return await call()
        except CancelledError:
            self.closed += 1
            await interrupted()
            raise
