"""A socket and a server on it, for whatever this process answers over HTTP."""

import asyncio
import errno
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import setting_name
from anchorhold.settings import Listen


def bind(listen: Listen, setting: str = "listen") -> socket.socket:
    """A socket on the address, which `setting` asks for; with port 0 on a free one.

    Raises Refusal: port_taken, settings_invalid (the address is not this machine's, say).
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server(tuple(listen), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal(Code.PORT_TAKEN, listen=listen) from None
        reason = error.strerror or str(error)
        raise Refusal(Code.SETTINGS_INVALID, name=setting_name(setting), reason=reason) from None


async def serve(web: Starlette, listener: socket.socket) -> None:
    """Serve on the socket that `bind` made until cancelled; running requests are answered."""
    config = uvicorn.Config(web, log_config=None, access_log=False, lifespan="off")
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
