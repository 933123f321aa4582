"""A bell for the workers: news came in, and there is an event to act on.

Whoever rings does not wait. All rings within a moment are one job, which begins after the last of
them; without any of them the tick finds the same events.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from procrastinate.exceptions import ConnectorException

from anchorhold.app import App
from anchorhold.domain.scope import Scope
from anchorhold.worker.jobs import JobWake, connect_jobs

MOMENT_S: Final = 0.05


class Bell:
    """Wakes a worker for the news of an account and mode."""

    def __init__(self, wake: JobWake, process: App) -> None:
        self._wake = wake
        self._log = process.deps.log
        self._ringing: dict[Scope, asyncio.Task[None]] = {}

    async def ring(self, scope: Scope) -> None:
        """A worker acts on the scope's events, soon."""
        if scope not in self._ringing:
            self._ringing[scope] = asyncio.create_task(self._ring(scope))

    async def due(self, scope: Scope) -> None:
        """A worker looks for what can be prepared and charged; else the next tick does."""
        try:
            await self._wake.collect(scope)
        except ConnectorException as error:
            self._log.error("bell.unheard", account=scope.account_id, reason=str(error))

    async def _ring(self, scope: Scope) -> None:
        await asyncio.sleep(MOMENT_S)
        del self._ringing[scope]
        try:
            await self._wake.news(scope)
        except ConnectorException as error:
            self._log.error("bell.unheard", account=scope.account_id, reason=str(error))

    async def rung(self) -> None:
        """No ring is under way."""
        await asyncio.gather(*self._ringing.values())


@asynccontextmanager
async def bell(process: App) -> AsyncGenerator[Bell]:
    """A bell on the process's database; what was rung is heard before the end."""
    jobs = connect_jobs(process.conninfo)
    async with jobs.open_async():
        made = Bell(JobWake(jobs, process.deps), process)
        yield made
        await made.rung()
