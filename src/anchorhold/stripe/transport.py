"""The wire: one call is one send, and whether a byte of it may have left is a fact.

`Transport` is an HTTP client for stripe-python over aiohttp. Under it nothing is sent twice: no
retries, no redirects, and the gate of a call opens once, so that aiohttp's own second try on a
connection that the server had closed is refused as well. The gate also looks at the deadline, in
the step that hands the first byte to the operating system (protocol section 3, step 4).
"""

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

import aiohttp
import stripe
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import AddrInfoType, Connection
from typing_extensions import override
from yarl import URL

from anchorhold.domain.answer import Deadline, Doubt, NothingSent, NotSent, Unclear

stripe.enable_telemetry = False  # else the SDK writes a file in the home folder and sends timings

Clock = Callable[[], float]
"""Monotonic seconds."""

Answer = tuple[bytes, int, Mapping[str, str]]
"""Body, HTTP status and headers, as stripe-python takes them."""

RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # struct linger: on, 0 seconds

_deadline: ContextVar[Deadline] = ContextVar("deadline")
_gate: ContextVar["_Gate"] = ContextVar("gate")


class CallFailedError(stripe.APIConnectionError):
    """The call ended without a whole answer; `result` says whether a byte may have left."""

    def __init__(self, result: NothingSent | Unclear) -> None:
        super().__init__(f"{result.cause}: {result.detail}", should_retry=False)
        self.result = result


class _GateClosedError(Exception):
    """The gate let no byte through."""


@contextmanager
def under(deadline: Deadline) -> Generator[None]:
    """Every request inside the block ends by this deadline: the SDK has no argument for it."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def current_deadline() -> Deadline:
    """The deadline of the request being sent; LookupError outside `under`."""
    return _deadline.get()


class _Gate:
    """What one call may still do, and what it has done."""

    __slots__ = ("clock", "connection", "deadline", "opened", "shut", "wire")

    def __init__(self, deadline: Deadline, clock: Clock) -> None:
        self.deadline = deadline
        self.clock = clock
        self.opened = False
        self.shut = False
        self.connection: Connection | None = None
        self.wire: asyncio.Transport | None = None

    def late(self) -> bool:
        return self.clock() >= self.deadline.at

    def look(self) -> None:
        """The call may go on."""
        if self.opened or self.shut or self.late():
            raise _GateClosedError("the deadline passed before the first byte")

    def take(self, connection: Connection) -> None:
        """A connection is there; one with bytes nobody asked for would answer wrongly."""
        protocol = connection.protocol
        if self.opened or protocol is None or protocol.should_close:
            raise _GateClosedError("the connection cannot be used for this request")
        self.connection, self.wire = connection, connection.transport

    def open(self) -> None:
        """Right before the first byte. From here on the call may have had an effect."""
        self.look()
        self.opened = True

    def reset(self) -> None:
        """Nothing more leaves: what the process or the kernel still buffers is thrown away."""
        self.shut = True  # the task that writes the body may not have run yet
        if self.wire is not None and (self._is_ours() or self.wire.is_closing()):
            self.wire.abort()

    def _is_ours(self) -> bool:
        """The whole answer has not been read: then another call may have the connection."""
        return self.connection is not None and self.connection.protocol is not None


class _Body(aiohttp.BytesPayload):
    """A request body whose first byte passes the gate; the headers leave in the same write."""

    def __init__(self, value: bytes, gate: _Gate) -> None:
        super().__init__(value)
        self._gate = gate

    @override
    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        self._gate.open()
        await super().write_with_length(writer, content_length)


class _Request(aiohttp.ClientRequest):
    """A request that shows its connection to the gate, and without a body passes it at once."""

    @override
    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        gate = _gate.get()
        gate.take(conn)
        if not isinstance(self.body, _Body):
            gate.open()
        return await super().send(conn)


def _reset_on_close(address: AddrInfoType) -> socket.socket:
    """A socket that never flushes after its end, not even when the process is killed (H11)."""
    family, kind, proto, _, _ = address
    sock = socket.socket(family, kind, proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    return sock


class Transport(stripe.HTTPClient):
    """An asynchronous HTTP client for `stripe.StripeClient`, to be shared by a whole process.

    Raises `CallFailedError` when no whole answer came, and lets cancellation through untouched;
    in both cases the connection is reset. Belongs to the event loop of its first request.
    No proxies: a proxy would take bytes before anybody can say whether Stripe did.
    """

    name: ClassVar[str] = "anchorhold"

    def __init__(
        self,
        *,
        connections: int = 64,
        connect_s: float = 5.0,
        keepalive_s: float = 15.0,
        tls: ssl.SSLContext | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """At most `connections` at once; `connect_s` bounds TCP and TLS of a new one."""
        super().__init__()
        self._connections = connections
        self._connect_s = connect_s
        self._keepalive_s = keepalive_s
        self._tls = tls
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    @override
    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> Answer:
        """Send once, before the deadline that `under` set, and read the whole answer."""
        gate = _Gate(current_deadline(), self._clock)
        token = _gate.set(gate)
        limit = asyncio.timeout(gate.deadline.at - self._clock())
        try:
            async with limit:
                return await self._exchange(gate, method, url, headers, post_data)
        except asyncio.CancelledError:
            gate.reset()
            raise
        except Exception as error:
            gate.reset()
            raise CallFailedError(_verdict(gate, error, expired=limit.expired())) from error
        finally:
            _gate.reset(token)

    async def _exchange(
        self, gate: _Gate, method: str, url: str, headers: Mapping[str, str], post_data: Any
    ) -> Answer:
        gate.look()  # no connection is opened for a call that is over
        body = None if post_data is None else _Body(str(post_data).encode(), gate)
        async with self._open_session().request(
            method,
            URL(url, encoded=True),  # the SDK has encoded it; another pass could change bytes
            headers=headers,
            data=body,
            allow_redirects=False,
        ) as response:
            return _text(await response.read()), response.status, response.headers

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            tls = self._tls or ssl.create_default_context(cafile=stripe.ca_bundle_path)
            connector = aiohttp.TCPConnector(
                limit=self._connections,
                keepalive_timeout=self._keepalive_s,
                ssl=tls,
                socket_factory=_reset_on_close,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                request_class=_Request,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
            )
        return self._session

    @override
    def sleep_async(self, secs: float) -> Awaitable[None]:
        """Part of the SDK's interface; never used, as nothing is sent again."""
        return asyncio.sleep(secs)

    @override
    async def close_async(self) -> None:  # pyrefly: ignore[bad-override]  # base never returns
        """Close the idle connections; running calls end as unclear."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _text(body: bytes) -> bytes:
    """The body, or nothing when it is not UTF-8: the SDK would fail on it in its logging."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return b""
    return body


def _verdict(gate: _Gate, error: Exception, *, expired: bool) -> NothingSent | Unclear:
    """What a failure proves. An error that is no network failure, before any byte, is a bug."""
    detail = f"{type(error).__name__}: {error}"
    if gate.opened:
        return Unclear(_doubt(error, expired=expired), detail)
    if not isinstance(error, aiohttp.ClientError | OSError | _GateClosedError):
        raise error
    if expired or gate.late():
        return NothingSent(NotSent.DEADLINE_PASSED, detail)
    return NothingSent(NotSent.CONNECT_FAILED, detail)


def _doubt(error: Exception, *, expired: bool) -> Doubt:
    if expired:
        return Doubt.DEADLINE
    if isinstance(error, aiohttp.ClientResponseError):  # bytes came back that are not HTTP
        return Doubt.UNREADABLE_ANSWER
    return Doubt.CONNECTION_LOST
