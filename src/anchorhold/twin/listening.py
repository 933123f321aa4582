"""What `stripe listen` of Stripe's command line needs: a session, and a socket with the events.

Stripe documents neither; this is what the program asks for. Each session has a signing secret of
its own, which the program prints.
"""

import asyncio
import json
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from anchorhold.twin.events import rendered
from anchorhold.twin.ids import Ids
from anchorhold.twin.state import Account
from anchorhold.twin.webhooks import signature
from anchorhold.twin.wire import Obj, Response, encode
from anchorhold.twin.world import Twin

SESSIONS = "/v1/stripecli/sessions"
SOCKET = "/_twin/listen"
MOST = 1000
"""So many events wait for a program that is away for a moment; older ones are dropped."""
_PROTOCOL = "stripecli-devproxy-v1"


@dataclass(slots=True)
class _Session:
    """One program that listens, and what it has not heard yet."""

    account: Account
    secret: str
    waiting: asyncio.Queue[Obj] = field(default_factory=lambda: asyncio.Queue(MOST))


class Listening:
    """The programs that listen to one twin."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._sessions: dict[str, _Session] = {}
        self._ids = Ids("listening")

    def start(self) -> None:
        """From now on events are told."""
        self._twin.listeners.append(self._heard)
        self._twin.resenders.append(self._resend)

    def stop(self) -> None:
        """Nobody is told any more."""
        if self._heard in self._twin.listeners:
            self._twin.listeners.remove(self._heard)
            self._twin.resenders.remove(self._resend)

    def open(self, account: Account, url: str) -> Response:
        """A session of this account; `url` is the twin's own address."""
        session = _Session(account, f"whsec_{self._ids.new('x')[2:]}")
        id_ = self._ids.short("cliws")
        self._sessions[id_] = session
        shown: Obj = {
            "default_version": account.api_version,
            "display_connect_filter_warning": False,
            "reconnect_delay": 1,
            "secret": session.secret,
            "websocket_authorized_feature": "webhooks",
            "websocket_id": id_,
            "websocket_url": f"ws{url.removeprefix('http')}{SOCKET}",
        }
        return Response(200, {"Content-Type": "application/json"}, encode(shown))

    async def talk(self, http: web.BaseRequest) -> web.StreamResponse:
        """The session's socket: every event, until the program goes."""
        session = self._sessions.get(http.headers.get("Websocket-Id", ""))
        if session is None:
            error = {"error": {"message": "Unknown WebSocket ID."}}
            return web.json_response(error, status=400)
        socket = web.WebSocketResponse(protocols=(_PROTOCOL,))
        await socket.prepare(http)
        telling = asyncio.create_task(_tell(socket, session))
        try:
            while (await socket.receive()).type is WSMsgType.TEXT:
                pass  # what the endpoint behind the program answered
        finally:
            telling.cancel()
        return socket

    def _heard(self, account: Account, event: Obj) -> None:
        for session in self._sessions.values():
            mine = session.account is account
            if mine or account.platform == session.account.id:
                if session.waiting.full():  # the program is gone, or was never there
                    session.waiting.get_nowait()
                session.waiting.put_nowait(self._message(account, event, session))

    def _resend(self, account: Account, event: Obj, endpoint: str | None) -> None:
        if endpoint is None:
            self._heard(account, event)

    def _message(self, account: Account, event: Obj, session: _Session) -> Obj:
        shown = rendered(account, account.newest_events[event["id"]], account.api_version)
        payload = json.dumps({**shown, "pending_webhooks": 1}, indent=2, ensure_ascii=False)
        signed = signature(payload.encode(), int(self._twin.now()), (session.secret,))
        return {
            "type": "webhook_event",
            "endpoint": {"api_version": None},
            "event_payload": payload,
            "http_headers": {
                "Content-Type": "application/json; charset=utf-8",
                "Stripe-Signature": signed,
                "User-Agent": "Stripe/1.0 (twin)",
            },
            "webhook_conversation_id": self._ids.short("wc"),
            "webhook_id": self._ids.short("wh"),
        }


async def _tell(socket: web.WebSocketResponse, session: _Session) -> None:
    while True:
        await socket.send_str(encode(await session.waiting.get()).decode())
