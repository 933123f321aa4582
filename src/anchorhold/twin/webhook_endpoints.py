"""Webhook endpoints: created, retrieved, updated, listed, deleted. Their secret is shown once.

Source: https://docs.stripe.com/api/webhook_endpoints. Unlike Stripe the twin sends to addresses of
the own machine as well: that is what it is for.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from anchorhold.twin.errors import invalid, missing
from anchorhold.twin.event_types import EVENT_TYPES
from anchorhold.twin.keyring import VERSION
from anchorhold.twin.lists import PAGING, page
from anchorhold.twin.params import (
    Bool,
    ListOf,
    Metadata,
    OneOf,
    Param,
    Raw,
    Str,
    merged_metadata,
)
from anchorhold.twin.state import Account, Call, Signing
from anchorhold.twin.wire import Obj

KIND = "webhook_endpoint"
MOST = 16
"""Endpoints of one account. Source: https://docs.stripe.com/webhooks."""


@dataclass(frozen=True, slots=True)
class _Url:
    """An address that webhooks can be sent to."""

    def read(self, name: str, raw: Raw) -> str:
        """The address."""
        text = Str().read(name, raw) or ""
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise invalid("Invalid URL: An explicit scheme (such as https) must be provided.",
                          code="url_invalid", param=name)  # fmt: skip
        return text


@dataclass(frozen=True, slots=True)
class _Version:
    """An API version."""

    def read(self, name: str, raw: Raw) -> str:
        """Its date and name."""
        text = Str().read(name, raw) or ""
        if not VERSION.fullmatch(text):
            raise invalid(f"Invalid Stripe API version: {text}", param=name)
        return text


_EVENTS = ListOf(OneOf(EVENT_TYPES), most=len(EVENT_TYPES))
_COMMON: dict[str, Param] = {
    "description": Str(clear=True),
    "enabled_events": _EVENTS,
    "expand": ListOf(),
    "metadata": Metadata(),
    "url": _Url(),
}
CREATE: dict[str, Param] = {**_COMMON, "api_version": _Version(), "connect": Bool()}
UPDATE: dict[str, Param] = {**_COMMON, "disabled": Bool()}
LIST: dict[str, Param] = PAGING


def create(call: Call) -> Obj:
    """POST /v1/webhook_endpoints: the only answer that has the secret."""
    table, params = call.account.webhook_endpoints, call.params
    if sum(not one.get("deleted") for one in table) >= MOST:
        raise invalid(f"You have reached the maximum of {MOST} test webhook endpoints.")
    made = table.put(
        {
            "id": call.ids.new("we"),
            "object": KIND,
            "api_version": params.get("api_version"),
            "application": None,
            "created": call.now,
            "description": params.get("description"),
            "enabled_events": params["enabled_events"],
            "livemode": call.account.livemode,
            "metadata": merged_metadata({}, params.get("metadata")),
            "status": "enabled",
            "url": params["url"],
        }
    )
    secret = _new_secret(call)
    connect = params.get("connect", False)
    call.account.signing[made["id"]] = Signing(secret, connect=connect)
    return {**made, "secret": secret}


def _new_secret(call: Call) -> str:
    return f"whsec_{call.ids.new('x')[2:]}"


def update(call: Call) -> Obj:
    """POST /v1/webhook_endpoints/{id}: also whether it is switched off."""
    before, params = _living(call, call.path[0]), call.params
    names = ("description", "enabled_events", "url")
    after = {**before, **{name: params[name] for name in names if name in params}}
    if "metadata" in params:
        after["metadata"] = merged_metadata(before["metadata"], params["metadata"])
    if "disabled" in params:
        after["status"] = "disabled" if params["disabled"] else "enabled"
    return call.account.webhook_endpoints.put(after)


def retrieve(call: Call) -> Obj:
    """GET /v1/webhook_endpoints/{id}, without the secret."""
    return _living(call, call.path[0])


def delete(call: Call) -> Obj:
    """DELETE /v1/webhook_endpoints/{id}: nothing is sent there any more."""
    gone: Obj = {"id": _living(call, call.path[0])["id"], "object": KIND, "deleted": True}
    call.account.webhook_endpoints.put(gone)
    return gone


def list_(call: Call) -> Obj:
    """GET /v1/webhook_endpoints, without the secrets."""
    table = call.account.webhook_endpoints
    url = "/v1/webhook_endpoints"
    return page(table, call.params, url, keep=lambda one: not one.get("deleted"))


def roll(call: Call, id_: str, overlap_s: float) -> str:
    """A new secret; the old one signs too for so many seconds. What Stripe's Dashboard does."""
    _living(call, id_)
    signing = call.account.signing[id_]
    secret = _new_secret(call)
    call.account.signing[id_] = Signing(
        secret, connect=signing.connect, old=signing.secret, old_until=call.now + overlap_s
    )
    return secret


def enabled(account: Account, *, connect: bool) -> list[Obj]:
    """The endpoints that listen: to the account itself, or to the accounts connected to it."""
    return [
        one
        for one in account.webhook_endpoints
        if one.get("status") == "enabled" and account.signing[one["id"]].connect == connect
    ]


def _living(call: Call, id_: str) -> Obj:
    endpoint = call.find(KIND, id_, "webhook_endpoint")
    if endpoint.get("deleted"):
        raise missing("webhook endpoint", id_, "webhook_endpoint")
    return endpoint
