"""A stretch of network between a client and a server, which can be broken on demand."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Final

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
CHUNK: Final = 65_536
RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on with no wait: closing sends a reset."""


class Wire:
    """One connection through the proxy: two pumps, each from one end to the other."""

    def __init__(self, client: Streams, server: Streams, passing: asyncio.Event) -> None:
        self._client, self._server = client, server
        self._passing = passing
        self._loses_answer = False

    async def run(self) -> None:
        """Both ends have ended, or the wire was cut."""
        pumps = (
            self._pump(self._client[0], self._server[1], answers=False),
            self._pump(self._server[0], self._client[1], answers=True),
        )
        await asyncio.gather(*pumps)
        for _, writer in (self._client, self._server):
            writer.close()

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError, RuntimeError):  # an end that is gone was cut, here or there
            while data := await source.read(CHUNK):
                await self._passing.wait()
                if answers and self._loses_answer:
                    break
                sink.write(data)
                await sink.drain()
            else:
                sink.write_eof()
                return
        self.reset()

    def lose_answer(self) -> None:
        """What the client sends next arrives; the answer does not, and the wire is cut."""
        self._loses_answer = True

    def half_close(self, *, to_server: bool) -> None:
        """One end hears that the other has said all that it had to say; it has not."""
        with suppress(OSError, RuntimeError):
            (self._server if to_server else self._client)[1].write_eof()

    def reset(self) -> None:
        """Both ends find their connection reset."""
        for _, writer in (self._client, self._server):
            with suppress(OSError):
                end: socket.socket = writer.get_extra_info("socket")
                if end.family != socket.AF_UNIX:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()


class Proxy:
    """Listens on a port of this machine and passes everything on to what `reach` connects to."""

    def __init__(self, reach: Callable[[], Awaitable[Streams]]) -> None:
        self._reach = reach
        self._passing = asyncio.Event()
        self._passing.set()
        self._wires: set[Wire] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._listener is not None
        return int(self._listener.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """It listens."""
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def stop(self) -> None:
        """No listener and no wire is left."""
        if self._listener is not None:
            self._listener.close()
        for wire in self._wires:
            wire.reset()
        self._passing.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            server = await self._reach()
        except OSError:  # nobody listens there
            writer.transport.abort()
            return
        wire = Wire((reader, writer), server, self._passing)
        self._wires.add(wire)
        try:
            await wire.run()
        finally:
            self._wires.discard(wire)

    def some(self, random: Random, share: float) -> list[Wire]:
        """About such a share of the wires that there are, and one at least if there is any."""
        wires = [*self._wires]
        return random.sample(wires, max(1, round(share * len(wires)))) if wires else []

    async def stall(self, seconds: float) -> None:
        """For so long nothing passes; it is kept and delivered afterwards."""
        self._passing.clear()
        await asyncio.sleep(seconds)
        self._passing.set()
