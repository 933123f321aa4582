"""Something that runs beside something else."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def beside(
    work: Coroutine[Any, Any, None], ended: Callable[[], object] = lambda: None
) -> AsyncGenerator[None]:
    """`work` runs inside the block and is cancelled at its end; `ended` is told when it is over."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda _: ended())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
