"""Stopping: asked once, work under way is finished; asked twice, it is given up."""

import asyncio
import signal
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Stop:
    """Whether this process is to stop, and how soon. Belongs to one event loop."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()

    def request(self) -> None:
        """Stop; asked again: at once."""
        (self._at_once if self._asked.is_set() else self._asked).set()

    @property
    def asked(self) -> bool:
        """Nothing new is begun."""
        return self._asked.is_set()

    @property
    def at_once(self) -> bool:
        """Nothing is waited for any more."""
        return self._at_once.is_set()

    async def wait(self) -> None:
        """Until the process is to stop."""
        await self._asked.wait()

    async def wait_at_once(self) -> None:
        """Until it is to stop without waiting."""
        await self._at_once.wait()

    async def pause(self, seconds: float) -> None:
        """Wait for so long, or until the process is to stop."""
        await first_of(asyncio.sleep(seconds), self.wait())

    async def unless(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What `work` returns, or None: it was cancelled because the process is to stop.

        Only for work that may be cut anywhere: never for a charge.
        """
        task = asyncio.ensure_future(work)
        await first_of(_quietly(task), self.wait())
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        return None if task.cancelled() else task.result()

    @contextmanager
    def on_signals(self) -> Generator[None]:
        """SIGTERM and SIGINT ask to stop, inside the block."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGTERM, signal.SIGINT)
        for number in signals:
            loop.add_signal_handler(number, self.request)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


async def first_of(*works: Awaitable[object]) -> None:
    """One of them has ended, and the others are cancelled."""
    tasks = {asyncio.ensure_future(work) for work in works}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _quietly(task: "asyncio.Future[Any]") -> None:
    """The end of the task, whatever it is; cancelling this does not cancel the task."""
    await asyncio.wait({task})
