"""Checks beside each other: `engine.deps.Together` on asyncio."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from anchorhold.settings import Settings

SHARE_OF_CUT: Final = 1 / 4
"""No more of a check's time than this is spent waiting for the rate limit."""


class Lanes:
    """So many tasks that do the same work at once."""

    def __init__(self, width: int) -> None:
        self._width = width

    @property
    def width(self) -> int:
        """See `Together.width`."""
        return self._width

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """See `Together.run`."""
        ends = await asyncio.gather(*(work() for _ in range(self._width)), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end


def checks_at_once(settings: Settings) -> int:
    """How many checks one run makes at once.

    ANCHORHOLD_SWEEP_CONCURRENCY, but no more than leave the rate limit within a quarter of the
    time that a check may take: one that is cut while it waits for its turn got no answer.
    """
    sendable = settings.stripe_rate_per_endpoint * settings.timing.check_cut_seconds * SHARE_OF_CUT
    return max(1, int(min(settings.sweep_concurrency, sendable)))
