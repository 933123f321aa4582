"""Worker processes for the tests, with what they said on stderr."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

PROGRAM = """
import os, sys
from anchorhold.settings import load
from anchorhold.worker.run import main
try:
    main(load(os.environ))
except KeyboardInterrupt:
    sys.exit(130)
"""
PATIENCE_S = 40


class Process:
    """A worker in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said: list[dict[str, Any]] = []
        self._heard = asyncio.Condition()
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        assert self._process.stderr
        async for line in self._process.stderr:
            text = line.decode()
            said = json.loads(text) if text.startswith("{") else {"event": text.rstrip()}
            async with self._heard:
                self.said.append(said)
                self._heard.notify_all()

    async def says(self, event: str) -> dict[str, Any]:
        """The first line about this event, which it says now or has said."""
        async with asyncio.timeout(PATIENCE_S), self._heard:
            await self._heard.wait_for(lambda: any(one["event"] == event for one in self.said))
        return next(one for one in self.said if one["event"] == event)

    def signal(self, number: signal.Signals) -> None:
        """The signal is on its way."""
        self._process.send_signal(number)

    async def ended(self) -> int:
        """The exit code, when it has ended."""
        async with asyncio.timeout(PATIENCE_S):
            code = await self._process.wait()
            await self._hearing
        return code

    @property
    def alive(self) -> bool:
        """It has not ended."""
        return self._process.returncode is None

    @property
    def events(self) -> list[str]:
        """What it said, without the facts."""
        return [one["event"] for one in self.said]


@asynccontextmanager
async def worker(env: Mapping[str, str]) -> AsyncGenerator[Process]:
    """A worker process that has begun; it is dead at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        env={**os.environ, **env},
        stderr=asyncio.subprocess.PIPE,
    )
    running = Process(process)
    try:
        yield running
    finally:
        if running.alive:
            running.signal(signal.SIGKILL)
        await running.ended()
