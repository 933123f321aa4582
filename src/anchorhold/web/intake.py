"""`POST /stripe/{account}`: Stripe's webhooks come in."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from anchorhold.domain.event_delivery import Row
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.intake import Arrived, intake
from anchorhold.entropy import wall_clock
from anchorhold.signing_keys import SigningKeys
from anchorhold.web.together import Together

BODY_MAX: Final = 512 * 1024
"""Stripe's events are far smaller; whoever sends more is not Stripe."""

Wake = Callable[[Scope], Awaitable[None]]
"""Asks that a worker acts on the events that wait; the tick does it in any case."""


def route(deps: Deps, keys: SigningKeys, wake: Wake) -> Route:
    """The one route. It answers after the commit, and 2xx only for what is kept.

    A plain route: what FastAPI reads of a request by its types is a third of the time here.
    """
    together = Together(deps.db)

    async def stripe(request: Request) -> JSONResponse:
        """A delivery of Stripe's: kept with its verdict, and acted on by a worker right after."""
        at_s = int(wall_clock().timestamp())
        body = await _body(request)
        known = await keys.of(request.path_params["account"])
        source = request.client.host if request.client else "unknown"
        arrived = Arrived(body, request.headers.get("stripe-signature"), source, at_s)
        row, scope = await intake(deps, known.account, known.keys, arrived, together.keep)
        if row.takes:
            await wake(scope)
        return _answer(row)

    return Route("/stripe/{account}", stripe, methods=["POST"])


async def _body(request: Request) -> bytes | None:
    """The raw body, read once; None as soon as it is larger than any event."""
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_MAX:
            return None
    return bytes(read)


def _answer(row: Row) -> JSONResponse:
    if row.status < 300:
        return JSONResponse({"received": True, "verdict": row.verdict.value})
    error = {"code": f"delivery_{row.verdict.value}", "message": row.because}
    return JSONResponse({"error": error}, status_code=row.status)
