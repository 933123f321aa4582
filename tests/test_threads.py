"""A thread that nobody waits for hands over what it found, and keeps no process alive."""

import asyncio
import threading

import pytest

from anchorhold.threads import in_daemon


async def test_what_the_work_returns_is_handed_over() -> None:
    assert await in_daemon(lambda: threading.current_thread().daemon)


async def test_what_the_work_raises_is_raised() -> None:
    def fails() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await in_daemon(fails)


def test_the_loop_ends_while_the_work_still_blocks() -> None:
    """A worker that waits for PostgreSQL's start ends at SIGTERM, and not when the start does."""
    blocks, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        blocks.wait()

    async def main() -> None:
        waiting = asyncio.create_task(in_daemon(work))
        await asyncio.to_thread(begun.wait)
        waiting.cancel()

    asyncio.run(main())
    assert not blocks.is_set()
    blocks.set()
