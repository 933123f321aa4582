"""An API in this process: the engine's rig behind it, asked without a socket."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

from starlette.types import ASGIApp, Message

from anchorhold import keys
from anchorhold.app import App
from anchorhold.domain.scope import Scope
from anchorhold.meter import UNMETERED
from anchorhold.settings import load
from anchorhold.web.api import v1
from anchorhold.web.api.calling import Api
from tests.engine.rig import Gate, Rig, rig
from tests.worker.world import SECRET


@dataclass(frozen=True)
class Got:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    text: bytes

    @property
    def body(self) -> Any:
        """The JSON in it."""
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The code of the error in it."""
        return str(self.body["error"]["code"])


@dataclass
class Desk:
    """Programs with keys, and the API that they ask."""

    world: Rig
    app: App
    api: Api
    web: ASGIApp
    keys: dict[Scope, str] = field(default_factory=dict)

    async def key(self, scope: Scope | None = None, *grants: str) -> str:
        """A key of the scope; with grants a restricted one."""
        row, text = await keys.create(
            self.world.pool, scope or self.world.scope, name="test", grants=grants
        )
        del row
        return text

    async def get(self, path: str, **how: Any) -> Got:
        """What a GET answers."""
        return await self.ask("GET", path, **how)

    async def post(self, path: str, body: object = None, **how: Any) -> Got:
        """What a POST answers."""
        return await self.ask("POST", path, body, **how)

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = "ours",
        once: str | None = None,
        gate: Gate | None = None,
        raw: bytes | None = None,
        **headers: str,
    ) -> Got:
        """One request. `once` is its Idempotency-Key; a process of its own with `gate`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key == "ours":
            key = self.keys.setdefault(self.world.scope, await self._first_key())
        if key is not None:
            sent["authorization"] = f"Bearer {key}"
        if once is not None:
            sent["idempotency-key"] = once
        content = raw if raw is not None else json.dumps(body).encode() if body is not None else b""
        if content:
            sent.setdefault("content-type", "application/json")
        web = self.web if gate is None else process(self.world, gate)[2]
        return await asked(web, method, path, sent, content)

    async def _first_key(self) -> str:
        return self.keys.get(self.world.scope) or await self.key()


def process(world: Rig, gate: Gate) -> tuple[App, Api, ASGIApp]:
    """A process that serves the API; whatever it does passes the gate."""
    settings = load({"ANCHORHOLD_SECRET_KEY": SECRET, "HOME": "/"})
    nobody = cast("Any", None)
    deps = world.deps(gate)
    app = App(settings, world.conninfo, b"k" * 32, nobody, nobody, deps, UNMETERED)
    api = Api(app, rate=10_000)
    return app, api, v1(api)


@asynccontextmanager
async def desk(conninfo: str) -> AsyncGenerator[Desk]:
    """An API on this database."""
    async with rig(conninfo) as world:
        yield Desk(world, *process(world, Gate()))


async def asked(
    web: ASGIApp, method: str, path: str, headers: Mapping[str, str], content: bytes
) -> Got:
    """What the application answers below `/v1`."""
    target, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": f"/v1{target}",
        "raw_path": quote(f"/v1{target}").encode(),
        "root_path": "/v1",
        "app_root_path": "",
        "query_string": quote(query, safe="=&%[]").encode(),
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in {**headers, **HOST}.items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        told.append(message)

    await web(scope, receive, send)
    start = told[0]
    got = {name.decode(): value.decode() for name, value in start["headers"]}
    return Got(start["status"], got, b"".join(part.get("body", b"") for part in told[1:]))


HOST = {"host": "anchorhold.test"}
