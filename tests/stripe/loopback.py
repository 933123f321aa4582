"""A small HTTP server whose every byte the test decides, and which counts what arrives."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

Answer = Callable[["Exchange"], Awaitable[None]]


@dataclass(frozen=True)
class Got:
    """One whole request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def params(self) -> dict[str, str]:
        """The parameters, of the query or of the body, with their brackets."""
        text = self.target.partition("?")[2] if self.method == "GET" else self.body.decode()
        return dict(parse_qsl(text, strict_parsing=True)) if text else {}


class Exchange:
    """One request and the connection that waits for its answer."""

    def __init__(self, got: Got, writer: asyncio.StreamWriter) -> None:
        self.got = got
        self._writer = writer

    def write(self, raw: bytes) -> None:
        """Exactly these bytes."""
        self._writer.write(raw)

    def reply(self, body: object, status: int = 200, **headers: str) -> None:
        """A well-formed answer; underscores in header names stand for dashes."""
        self.write(http(json.dumps(body).encode(), status, **headers))

    async def hang_up(self) -> None:
        """An orderly end of the connection, after what was written."""
        self._writer.close()
        await self._writer.wait_closed()

    def reset(self) -> None:
        """The connection is cut off."""
        self._writer.transport.abort()


def http(body: bytes, status: int = 200, **headers: str) -> bytes:
    """The bytes of an answer; a given Content_Length may lie."""
    headers = {"Content_Length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status} Whatever"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Loopback:
    """Answers each request with `answer`; counts connections, requests, bytes and resets."""

    def __init__(self) -> None:
        self.answer: Answer = _nothing_special
        self.requests: list[Got] = []
        self.connections = 0
        self.bytes = 0
        self.arrived = asyncio.Event()
        self.ended = asyncio.Event()
        self.resets = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """The loopback port."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def base(self) -> str:
        """The base address of the API served here."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> "Loopback":
        """Listening."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        """No connection, no task left."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = asyncio.ensure_future(reader.read(1))
        try:
            while byte := await first:
                got = await self._rest(byte, reader)
                self.requests.append(got)
                self.arrived.set()
                first = asyncio.ensure_future(reader.read(1))
                await self._answer(Exchange(got, writer), first)
        except ConnectionResetError:
            self.resets += 1
        finally:
            self.ended.set()
            first.cancel()
            writer.transport.abort()

    async def _answer(self, exchange: Exchange, gone: asyncio.Future[bytes]) -> None:
        """Answer, unless the client goes first."""
        answering = asyncio.ensure_future(self.answer(exchange))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done() or (gone.exception() is None and gone.result()):
                await answering
        finally:
            answering.cancel()

    async def _rest(self, byte: bytes, reader: asyncio.StreamReader) -> Got:
        self.bytes += 1
        head = byte + await reader.readuntil(b"\r\n\r\n")
        line, *rest = head.decode().rstrip().split("\r\n")
        method, target, _ = line.split(" ")
        headers = {k.lower(): v for k, v in (field.split(": ", 1) for field in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.bytes += len(head) - 1 + len(body)
        return Got(method, target, headers, body)


async def _nothing_special(exchange: Exchange) -> None:
    exchange.reply({})


async def settled() -> None:
    """The loop has seen everything that the kernel had for it by now."""
    for _ in range(20):
        await asyncio.sleep(0)


async def never(_: Exchange) -> None:
    """No answer, ever."""
    await asyncio.Event().wait()
