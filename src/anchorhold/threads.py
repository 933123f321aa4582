"""Blocking work on a thread that nobody waits for at the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_daemon(work: Callable[[], T]) -> T:
    """What `work` returns or raises, from a thread of its own.

    `asyncio.to_thread` would keep the process alive until `work` has ended, also when nobody wants
    to know any more: a start of PostgreSQL can take minutes.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            _tell(loop, done, partial(done.set_result, work()))
        except Exception as error:
            _tell(loop, done, partial(done.set_exception, error))

    threading.Thread(target=run, daemon=True).start()
    return await done


def _tell(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[T], tell: Callable[[], object]
) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(lambda: None if done.done() else tell())
