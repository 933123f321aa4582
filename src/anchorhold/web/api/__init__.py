"""`/v1`: the API, an application of its own below the site.

Stripe's habits, because every caller has used them: prefixed ids, list objects with cursors,
`expand[]`, `Idempotency-Key`, one error object.
"""

from collections.abc import Awaitable, MutableMapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anchorhold.domain.ids import REQUEST
from anchorhold.domain.refusals import Refusal
from anchorhold.entropy import new_id
from anchorhold.web.api import (
    accounts,
    answers,
    customers,
    document,
    errors,
    events,
    holds,
    invoices,
    notices,
    payments,
    webhook_endpoints,
)
from anchorhold.web.api.calling import VERSION_HEADER, Api

ROUTERS: Final = (
    accounts, customers, invoices, payments, holds, events, webhook_endpoints, notices, errors,
)  # fmt: skip
"""Every file of routes."""


def v1(api: Api) -> ASGIApp:
    """The application to mount at `/v1`; its document is at `/v1/openapi.json`."""
    web = FastAPI(
        title="Anchorhold", docs_url=None, redoc_url=None, openapi_url="/openapi.json",
        redirect_slashes=False,
    )  # fmt: skip
    for routes in ROUTERS:
        web.include_router(routes.router(api))
    document.describe(web)
    _handle(web, api)
    return Envelope(web)


def _handle(web: FastAPI, api: Api) -> None:
    """Whatever is raised comes out as one form of error."""

    @web.exception_handler(Refusal)
    async def on_refusal(request: Request, error: Refusal) -> Response:
        return await answers.with_hold(api, request, error)

    @web.exception_handler(RequestValidationError)
    async def on_wrong_field(request: Request, error: RequestValidationError) -> Response:
        return answers.refused(request, answers.invalid(error, _names(request)))

    @web.exception_handler(HTTPException)
    async def on_no_route(request: Request, error: HTTPException) -> Response:
        found = answers.refused(request, answers.of_http(request, error))
        for name, value in (error.headers or {}).items():
            found.headers[name] = value
        return found

    @web.exception_handler(Exception)
    async def on_bug(request: Request, error: Exception) -> Response:
        refusal = answers.unexpected(request, error)
        api.app.deps.log.error(
            "api.failed", request=request.state.request_id, error=repr(error), exc_info=error
        )
        return answers.refused(request, refusal)


def _names(request: Request) -> list[str]:
    """The fields that the route of the request knows, for a suggestion."""
    route = request.scope.get("route")
    dependant: Any = getattr(route, "dependant", None)
    if dependant is None:
        return []
    params = [*dependant.query_params, *dependant.body_params]
    names: list[str] = []
    for param in params:
        model = getattr(param.field_info, "annotation", None)
        known = getattr(model, "model_fields", {})
        names += [info.alias or name for name, info in known.items()] or [param.alias]
    return names


class Envelope:
    """Every answer says its request's id, and which version of the API answered."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. What the application raised was answered and logged already."""
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = new_id(REQUEST)

        def named(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                headers.append((b"request-id", state["request_id"].encode()))
                if "version" in state:
                    headers.append((VERSION_HEADER.encode(), state["version"].encode()))
            return send(message)

        answered = False

        async def noted(message: Message) -> None:
            nonlocal answered
            answered = True
            await named(message)

        try:
            await self._inner(scope, receive, noted)
        except Exception:
            if not answered:
                raise
