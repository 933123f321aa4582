"""`/pay/{token}`: the page, its state for a page that waits, and the way back from a bank."""

import base64
import hashlib
from functools import partial
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from anchorhold.app import App
from anchorhold.entropy import random_bytes
from anchorhold.settings import STRIPE_API_BASE
from anchorhold.web.page.desk import Desk, Opened, Seen
from anchorhold.web.page.policy import NOBODY_KEEPS, OF_STRIPE, Sources, of_twin
from anchorhold.web.page.speech import Speech, speech
from anchorhold.web.page.words import Screen

HERE: Final = Path(__file__).parent
STATUS: Final = {
    Screen.NOT_FOUND: 404,
    Screen.EXPIRED: 410,
    Screen.BUSY: 429,
    Screen.UNAVAILABLE: 503,
}
POLL_S: Final = {Screen.PAY: 5, Screen.CONFIRMING: 2, Screen.PROCESSING: 30}
"""How often an open page asks what became of it."""
KINDS: Final = {"page.css": "text/css", "page.js": "text/javascript"}
_FILES: Final = {name: (HERE / "static" / name).read_bytes() for name in KINDS}
VERSION: Final = hashlib.sha256(b"".join(_FILES.values())).hexdigest()[:12]
_A_YEAR: Final = "public, max-age=31536000, immutable"

_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined
)


def router(app: App) -> APIRouter:
    """The routes of the hosted page. Nothing of them takes a card number, or keeps a secret."""
    base = app.settings.stripe_api_base
    sources = OF_STRIPE if base == STRIPE_API_BASE else of_twin(base)
    desk = Desk(app.deps, app.secret_key)
    routes = APIRouter(include_in_schema=False)

    @routes.get("/pay/static/{name}")
    async def static(name: str) -> Response:
        """The page's own style and script."""
        if name not in KINDS:
            return Response(status_code=404, headers=NOBODY_KEEPS)
        headers = {"Cache-Control": _A_YEAR, "X-Content-Type-Options": "nosniff"}
        return Response(_FILES[name], media_type=KINDS[name], headers=headers)

    @routes.get("/pay/{token}")
    async def page(token: str, request: Request) -> Response:
        """The page as it is now."""
        found = await desk.open(token, _visitor(request))
        seen = await desk.show(found) if isinstance(found, Opened) else found
        return _page(request, token, seen, sources)

    @routes.get("/pay/{token}/state")
    async def state(token: str, request: Request) -> Response:
        """What the page would show now, for one that is open."""
        found = await desk.open(token, _visitor(request))
        seen = await desk.state(found) if isinstance(found, Opened) else found
        said = {"state": seen.screen.value, "amount": seen.amount}
        return JSONResponse(said, status_code=_status(seen), headers=NOBODY_KEEPS)

    @routes.get("/pay/{token}/return")
    async def back(token: str, request: Request) -> Response:
        """Stripe sends the customer here; the secret in the address is not kept in the history."""
        found = await desk.open(token, _visitor(request))
        if isinstance(found, Opened):
            await desk.look(found)
        failed = request.query_params.get("redirect_status") == "failed"
        where = f"/pay/{token}" + ("?again=1" if failed else "")
        return RedirectResponse(where, status_code=303, headers=NOBODY_KEEPS)

    return routes


def _visitor(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _status(seen: Seen) -> int:
    return STATUS.get(seen.screen, 200)


def _page(request: Request, token: str, seen: Seen, sources: Sources) -> Response:
    spoken = speech(seen.locale, request.headers.get("accept-language"))
    nonce = base64.b64encode(random_bytes(18)).decode()
    text = _TEMPLATES.get_template("page.html").render(
        seen=seen,
        facts=seen.facts,
        screen=seen.screen.value,
        say=partial(_say, seen, spoken),
        spoken=spoken,
        token=token,
        nonce=nonce,
        script=sources.script,
        version=VERSION,
        poll_s=POLL_S.get(seen.screen, 0),
        again="again" in request.query_params and seen.screen is Screen.PAY,
    )
    headers = {**NOBODY_KEEPS, "Content-Security-Policy": sources.policy(nonce)}
    headers["Content-Language"] = spoken.tag
    if seen.screen is Screen.BUSY:
        headers["Retry-After"] = "60"
    return HTMLResponse(text, status_code=_status(seen), headers=headers)


def _say(seen: Seen, spoken: Speech, name: str) -> str:
    return spoken.say(name, _facts(seen, spoken))


def _facts(seen: Seen, spoken: Speech) -> dict[str, str]:
    """What the sentences name."""
    if seen.facts is None:
        return {"business": spoken.say("business", {}), "amount": ""}
    money = spoken.money(seen.amount, seen.facts.currency)
    return {"business": seen.facts.business, "amount": money}
