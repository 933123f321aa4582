"""Whether the process lives (`/healthz`) and whether it can work (`/readyz`)."""

import asyncio
import errno
import socket
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from typing_extensions import override

from anchorhold.app import App
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import setting_name
from anchorhold.settings import Listen
from anchorhold.store import schema
from anchorhold.store.db import Db

ANSWER_S = 2
"""A database that is slower than this is not ready."""


def create(db: Db) -> FastAPI:
    """The two endpoints. `/readyz` answers 503 and why not, as a code and a sentence."""
    web = FastAPI(title="Anchorhold", docs_url=None, redoc_url=None, openapi_url=None)

    @web.get("/healthz")
    async def healthz() -> dict[str, str]:
        """200 while the process answers at all."""
        return {"status": "alive"}

    @web.get("/readyz")
    async def readyz() -> JSONResponse:
        """200 when the database answers and has the schema of this version."""
        refusal = await not_ready(db)
        if refusal is None:
            return JSONResponse({"status": "ready"})
        said = {"status": "not_ready", "code": refusal.code.code, "message": refusal.sentence}
        return JSONResponse(said, status_code=503)

    return web


async def not_ready(db: Db) -> Refusal | None:
    """Why no work can be done, or None."""
    try:
        async with asyncio.timeout(ANSWER_S):
            await schema.require_current(db)
    except Refusal as refusal:
        return refusal
    except (psycopg.OperationalError, TimeoutError) as error:
        reason = str(error).strip() or f"no answer within {ANSWER_S} seconds"
        return Refusal(Code.DATABASE_UNREACHABLE, reason=reason)
    return None


def bind(listen: Listen) -> socket.socket:
    """A socket on the address; with port 0 on a free one.

    Raises Refusal: port_taken, settings_invalid (the address is not this machine's, say).
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server(tuple(listen), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal(Code.PORT_TAKEN, listen=listen) from None
        reason = error.strerror or str(error)
        raise Refusal(Code.SETTINGS_INVALID, name=setting_name("listen"), reason=reason) from None


async def serve(app: App, listener: socket.socket) -> None:
    """Serve on the socket that `bind` made until cancelled; running requests are answered."""
    config = uvicorn.Config(create(app.deps.db), log_config=None, access_log=False, lifespan="off")
    server = _Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers: who runs it decides when it ends."""

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
