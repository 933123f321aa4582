"""Answers as they go over the wire: objects, and one form for everything that is refused."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anchorhold import objects
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.objects import Object
from anchorhold.store import views_invoices
from anchorhold.store.db import broken_off
from anchorhold.web.api.calling import Api

PROBLEM: Final = "application/problem+json"
AGAIN_S: Final = 1
RETRIED: Final = frozenset({429, 503, 504})


def doc_url(request: Request, refusal: Refusal) -> str:
    """Where the code is explained: by this server itself."""
    return f"{request.base_url}v1/errors/{refusal.code.code}"


def error_of(request: Request, refusal: Refusal, more: Mapping[str, object]) -> Object:
    """The error object. `more` holds what only this answer has, the hold's facts say."""
    return {
        "type": refusal.code.surface.error_type,
        "code": refusal.code.code,
        "message": refusal.sentence,
        "next_step": refusal.next_step,
        "param": refusal.facts.get("param"),
        "doc_url": doc_url(request, refusal),
        "request_id": request.state.request_id,
        **more,
    }


def refused(
    request: Request, refusal: Refusal, more: Mapping[str, object] | None = None
) -> Response:
    """The refusal as Stripe writes errors, or as RFC 9457 has it where that was asked for."""
    error = error_of(request, refusal, more or {})
    status = refusal.code.surface.status
    headers = {"retry-after": str(AGAIN_S)} if _comes_again(refusal) else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if PROBLEM not in request.headers.get("accept", ""):
        return JSONResponse({"error": error}, status, headers)
    return JSONResponse(problem_of(error, status), status, headers, media_type=PROBLEM)


def problem_of(error: Object, status: int) -> Object:
    """The same facts by RFC 9457; members that it does not know are extensions."""
    rest = {k: v for k, v in error.items() if k not in {"type", "message", "doc_url", "request_id"}}
    return {
        "type": error["doc_url"],
        "title": str(error["code"]).replace("_", " ").capitalize(),
        "status": status,
        "detail": error["message"],
        "instance": error["request_id"],
        "error_type": error["type"],
        **rest,
    }


def _comes_again(refusal: Refusal) -> bool:
    surface = refusal.code.surface
    return surface.status in RETRIED or refusal.code is ApiCode.IDEMPOTENCY_KEY_IN_USE


async def with_hold(api: Api, request: Request, refusal: Refusal) -> Response:
    """The refusal; one about what an invoice's state forbids has its hold's facts beside it."""
    scope, named = getattr(request.state, "scope", None), refusal.facts.get("invoice")
    if scope is None or named is None or refusal.code.surface.status != 409:
        return refused(request, refusal)
    view = await views_invoices.one(api.db, scope, str(named))
    if view is None:
        return refused(request, refusal)
    shown = objects.invoice(view, api.app.settings.timing)
    return refused(request, refusal, {"hold": shown["hold"]})


def unexpected(request: Request, error: Exception) -> Refusal:
    """What is said of an error that nobody foresaw; the log has the rest under the same id."""
    known = broken_off(error)
    return known or Refusal(Code.INTERNAL_ERROR, request=request.state.request_id)


def of_http(request: Request, error: HTTPException) -> Refusal:
    """No such route, a route that does not take this method, or a body that is no text."""
    if error.status_code == 400:
        return Refusal(ApiCode.BODY_UNREADABLE, reason="it is not JSON in UTF-8")
    code = ApiCode.METHOD_NOT_ALLOWED if error.status_code == 405 else ApiCode.ROUTE_NOT_FOUND
    return Refusal(code, method=request.method, path=request.url.path[:200])


def listed(request: Request, rows: Sequence[Object], *, more: bool) -> Object:
    """A page of a list."""
    return {
        "object": "list",
        "data": list(rows),
        "has_more": more,
        "url": request.url.path,
    }


def invalid(error: RequestValidationError, names: Sequence[str]) -> Refusal:
    """What pydantic found first, in our words. `names` are the fields that there are."""
    found: list[dict[str, Any]] = list(error.errors())
    # A name that is wrong explains one that is missing.
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")
    where = [str(part) for part in first["loc"][1:]]
    name = ".".join(where)
    if first["type"] == "extra_forbidden":
        near = get_close_matches(name, names, n=1)
        said = f"perhaps {near[0]} was meant" if near else f"there are {', '.join(names) or 'none'}"
        return Refusal(ApiCode.FIELD_UNKNOWN, name=name[:60], suggestion=said, param=name[:60])
    if first["type"].startswith("json") or not where:
        reason = str(first.get("ctx", {}).get("error", first["msg"]))
        return Refusal(ApiCode.BODY_UNREADABLE, reason=reason)
    return Refusal(ApiCode.FIELD_INVALID, name=name[:60], reason=_said(first), param=name[:60])


def _said(first: Mapping[str, Any]) -> str:
    text = str(first["msg"])
    return (text[:1].lower() + text[1:]).removeprefix("value error, ")
