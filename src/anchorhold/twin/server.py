"""The twin over HTTP: Stripe's paths as they are, `/_twin/…` beside them.

Faults of the connection are done on the socket: `DROPPED` resets it, `CUT` sends headers with the
whole length and half of the body and then closes, `NEVER` keeps it open until the client goes.
`REFUSED` for a single request can only reset the connection that brought it, unread by Stripe: a
client that needs to see a true refusal wants `POST /_twin/offline`, which closes the listener.
"""

import asyncio
import json
import signal
import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from aiohttp import web

from anchorhold.twin import browser
from anchorhold.twin.control import Control
from anchorhold.twin.courier import Courier
from anchorhold.twin.faults import Rule
from anchorhold.twin.listening import SESSIONS, SOCKET, Listening
from anchorhold.twin.settings import Settings
from anchorhold.twin.webhooks import Hook, trouble_from_json
from anchorhold.twin.wire import Break, Broken, Request, Response
from anchorhold.twin.world import PUBLISHABLE_KEY, SECRET_KEY, Twin, account_of

_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER on with no wait: closing sends a reset."""


class TwinServer:
    """One twin on one port. `url` is where clients point their API base."""

    def __init__(
        self, twin: Twin, host: str, port: int, hooks: Sequence[Hook] = (), seed: int | str = 0
    ) -> None:
        self.twin = twin
        self.courier = Courier(twin, hooks, seed)
        self._listening = Listening(twin)
        self._host, self._port = host, port
        self._control = Control(twin)
        self._http = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._listener: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._back: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def url(self) -> str:
        """The base address, such as `http://127.0.0.1:8430`."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Listen. With port 0 a free one is taken and kept. OSError when the port is taken."""
        await self.courier.start()
        self._listening.start()
        await self._listen()

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._http, self._host, self._port)
        self._port = self._listener.sockets[0].getsockname()[1]
        if self.twin.settings.action_url == Settings().action_url:
            bank = f"{self.url}{browser.BANK.rstrip('/')}"
            self.twin.settings = replace(self.twin.settings, action_url=bank)

    async def stop(self) -> None:
        """No listener, no connection, no delivery any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._back is not None:
            self._back.cancel()
        self._close_listener()
        self._stopping.set()
        self._listening.stop()
        await self.courier.stop()
        await self._http.shutdown(timeout=1)

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def go_offline(self, seconds: float, *, keep: asyncio.BaseTransport | None = None) -> None:
        """Refuse every connection for so long and reset those there are, but `keep`."""
        self._close_listener()
        for connection in list(self._http.connections):
            transport = connection.transport
            if transport is not None and transport is not keep:
                _reset(transport)
        if self._back is not None:
            self._back.cancel()
        self._back = asyncio.get_running_loop().create_task(self._come_back(seconds))

    async def _come_back(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._listen()

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        body = await http.read()
        if http.path == SOCKET:
            return await self._listening.talk(http)
        if http.path.startswith(("/_twin", "/js/")):
            return self._handle_control(http, body)
        return await self._handle_request(http, body)

    async def _handle_request(self, http: web.BaseRequest, body: bytes) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in http.headers.items()}
        request = Request(http.method, http.path, headers, http.query_string, body)
        if http.path == SESSIONS and self.twin.desk.admits(request):
            account = self.twin.keyring.admit(request).account
            return _whole(self._listening.open(account, self.url))
        answer = self.twin.send(request)
        self._wake_when_due()
        if isinstance(answer, Broken):
            if answer.how is Break.NEVER:
                await self._wait(None)
            return await _break(http, answer)
        if answer.delay_s and not await self._wait(answer.delay_s):
            return await _break(http, Broken(Break.DROPPED, executed=True))
        return _whole(answer)

    async def _wait(self, seconds: float | None) -> bool:
        """True after so long (None: never), False when the server stops before."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return True
        return False

    def _handle_control(self, http: web.BaseRequest, body: bytes) -> web.Response:
        shown = browser.answer(self.twin, http.method, http.path, body)
        if shown is not None:
            self._wake_when_due()
            return _whole(shown)
        name = http.path.removeprefix("/_twin/").strip("/")
        if name == "offline" and http.method == "POST":
            seconds = float(json.loads(body or b"{}").get("seconds", 1))
            self.go_offline(seconds, keep=http.transport)
            answer = web.json_response({"offline_seconds": seconds})
            answer.force_close()
            return answer
        if name == "deliveries" and http.method == "GET":
            tries = [
                {key: getattr(delivery, key) for key in delivery.__slots__}
                for delivery in self.courier.log
            ]
            return web.json_response({"deliveries": tries})
        if name == "deliveries" and http.method == "POST":
            return self._set_trouble(body)
        status, shown = self._control.answer(http.method, http.path, dict(http.query), body)
        self._wake_when_due()
        return web.json_response(shown, status=status)

    def _set_trouble(self, body: bytes) -> web.Response:
        try:
            self.courier.trouble = trouble_from_json(json.loads(body or b"{}"))
        except (AttributeError, TypeError, ValueError) as wrong:
            return web.json_response({"error": str(wrong)}, status=400)
        return web.json_response(self.courier.trouble.shown())

    def _wake_when_due(self) -> None:
        due = self.twin.next_due()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            wait_s = max(0.0, due - self.twin.now())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._run_due)

    def _run_due(self) -> None:
        self.twin.run_due()
        self._wake_when_due()


def _whole(answer: Response) -> web.Response:
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body)


async def _break(http: web.BaseRequest, broken: Broken) -> web.StreamResponse:
    transport = http.transport
    if broken.how is Break.CUT:
        part = web.StreamResponse(status=broken.status or 200, headers=broken.headers)
        with suppress(ConnectionResetError):  # the client was faster
            await part.prepare(http)
            await part.write(broken.sent)
        if transport is not None:
            transport.close()
        return part
    if transport is not None:
        _reset(transport)
    return web.Response()


def _reset(transport: asyncio.BaseTransport) -> None:
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    # Every socket's transport can abort, but uvloop's are no subclass of asyncio's.
    cast("asyncio.Transport", transport).abort()


async def serve(
    twin: Twin, host: str = "127.0.0.1", port: int = 0, hooks: Sequence[Hook] = ()
) -> TwinServer:
    """The twin, listening; stop it with `await server.stop()`. OSError when the port is taken."""
    server = TwinServer(twin, host, port, hooks)
    await server.start()
    return server


async def run(
    host: str = "127.0.0.1",
    port: int = 8430,
    seed: int | str = 0,
    faults: Iterable[Rule] = (),
    webhooks: Sequence[Hook] = (),
    settings: Settings | None = None,
) -> None:
    """Serve a new twin until SIGTERM or SIGINT; prints the address and the keys first.

    Its Stripe account is the seed's own: a twin forgets all at its end, and what refers to another
    twin's objects must not look for them here.
    """
    twin = Twin(seed=seed, faults=faults, settings=settings, account=account_of(seed))
    server = TwinServer(twin, host, port, webhooks, seed)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await server.start()
    print(
        f"Stripe twin at {server.url}  secret key {SECRET_KEY}  publishable key {PUBLISHABLE_KEY}"
        f"  control {server.url}/_twin/",
        flush=True,
    )
    try:
        await stopped.wait()
    finally:
        await server.stop()
