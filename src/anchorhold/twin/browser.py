"""What a customer's browser meets at Stripe: the script, its form in a frame, the bank's page.

| path | what it is |
|---|---|
| GET  /js/v3/              | the stand-in for https://js.stripe.com/v3/ |
| GET  /js/v3/element       | the Payment Element's frame, which calls `/v1` with a client secret |
| GET  /_twin/bank/{intent} | the 3D Secure page, where `redirect_to_url` of a served twin points |
| POST /_twin/bank/{intent} | the customer passes or fails, and is sent back to the return URL |

Source: https://docs.stripe.com/js, .../payments/3d-secure/authentication-flow (the query of the
return URL: .../payments/accept-a-payment, "redirect_status").
"""

from html import escape
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from anchorhold.twin.confirmation import authenticate
from anchorhold.twin.errors import StripeError
from anchorhold.twin.wire import Obj, Response
from anchorhold.twin.world import Twin

HERE: Final = Path(__file__).parent / "static"
BANK: Final = "/_twin/bank/"
_HTML: Final = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
_SCRIPT: Final = {"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-store"}
_STATUS: Final = {"succeeded": "succeeded", "processing": "pending"}


def answer(twin: Twin, method: str, path: str, body: bytes) -> Response | None:
    """The answer to a browser; None for a path that is not a browser's."""
    if path.startswith(BANK):
        return _bank(twin, method, path.removeprefix(BANK), body)
    if method != "GET":
        return None
    match path.rstrip("/"):
        case "/js/v3":
            return Response(200, _SCRIPT, (HERE / "stripe.js").read_bytes())
        case "/js/v3/element":
            return Response(200, _HTML, (HERE / "element.html").read_bytes())
        case _:
            return None


def _bank(twin: Twin, method: str, intent_id: str, body: bytes) -> Response:
    found = _waiting(twin, intent_id)
    if found is None:
        return Response(404, _HTML, b"This payment does not wait for a bank.")
    account, intent = found
    if method == "GET":
        return Response(200, _HTML, _asked(intent).encode())
    passed = parse_qs(body.decode()).get("passed") == ["1"]
    back = intent["next_action"]["redirect_to_url"]["return_url"]
    try:
        intent = authenticate(twin.act(account), intent_id, passed=passed)
    except StripeError as refusal:
        return Response(refusal.status, _HTML, escape(str(refusal.error["message"])).encode())
    return Response(303, {"Location": _back(back, intent), "Cache-Control": "no-store"}, b"")


def _waiting(twin: Twin, intent_id: str) -> tuple[str, Obj] | None:
    """The account and the intent, if it waits for the customer to come by here."""
    for account in twin.accounts:
        intent = account.payment_intents.get(intent_id)
        if intent is not None:
            action = intent["next_action"] or {}
            return (account.id, intent) if "redirect_to_url" in action else None
    return None


def _asked(intent: Obj) -> str:
    amount = f"{intent['amount']} {intent['currency'].upper()} (smallest units)"
    page = Template((HERE / "bank.html").read_text("utf-8"))
    return page.substitute(amount=escape(amount), intent=escape(intent["id"]))


def _back(url: str, intent: Obj) -> str:
    """The return URL with what Stripe adds to it."""
    added = {
        "payment_intent": intent["id"],
        "payment_intent_client_secret": intent["client_secret"],
        "redirect_status": _STATUS.get(intent["status"], "failed"),
    }
    parts = urlsplit(url)
    query = f"{parts.query}&{urlencode(added)}" if parts.query else urlencode(added)
    return urlunsplit(parts._replace(query=query))
