"""`/metrics`, for Prometheus."""

import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from anchorhold.app import App
from anchorhold.metrics import Exposition, Meters
from anchorhold.settings import Settings
from anchorhold.web import health, serving
from anchorhold.web.beside import beside

Text = Callable[[], Awaitable[bytes]]


def router(text: Text) -> APIRouter:
    """The one endpoint."""
    web = APIRouter()

    @web.get("/metrics")
    async def metrics() -> Response:
        """What this process did, and how the rows stand."""
        return Response(await text(), media_type=CONTENT_TYPE_LATEST)

    return web


def exposition(app: App, meters: Meters) -> Exposition:
    """What `/metrics` of this process shows; made once, as it joins the registry."""
    return Exposition(app.deps.db, app.deps.timing, meters, app.wires)


def bind(settings: Settings) -> socket.socket | None:
    """The socket for `/metrics` alone, None when none is asked for; refuses as `serving.bind`."""
    listen = settings.metrics_listen
    return serving.bind(listen, "metrics_listen") if listen else None


@asynccontextmanager
async def served(app: App, text: Text, listener: socket.socket | None) -> AsyncGenerator[None]:
    """Inside the block `/metrics` is answered on a listener of its own, and health beside it."""
    if listener is None:
        yield
        return
    web = FastAPI(title="Anchorhold", docs_url=None, redoc_url=None, openapi_url=None)
    web.include_router(health.router(app.deps.db, app.wires.breaker))
    web.include_router(router(text))
    async with beside(serving.serve(web, listener)):
        yield
