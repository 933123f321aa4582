"""Events: made with each change, listed, retrieved.

Source: https://docs.stripe.com/api/events. `request` names the request that caused the change and
its idempotency key; both are null when Stripe acted by itself.
"""

from typing import Any

from anchorhold.twin.errors import invalid
from anchorhold.twin.lists import DATED, page
from anchorhold.twin.params import Bool, ListOf, NotSimulated, Param, Str
from anchorhold.twin.settings import API_VERSION
from anchorhold.twin.shapes import in_version
from anchorhold.twin.state import Account, Call
from anchorhold.twin.wire import Obj

LIST: dict[str, Param] = {
    **DATED,
    "type": Str(),
    "types": ListOf(most=20),
    "delivery_success": Bool(),
}

RETRY: dict[str, Param] = {
    "account": NotSimulated(),
    "expand": ListOf(),
    "for_stripecli": Bool(),
    "webhook_endpoint": Str(),
}


def emit(call: Call, type_: str, obj: Obj, before: Obj | None = None) -> Obj:
    """Store the event of a change, and tell whoever listens; `before` gives previous_attributes."""
    data: Obj = {"object": obj}
    if before is not None:
        data["previous_attributes"] = {
            name: value for name, value in before.items() if value != obj.get(name)
        }
    newest: Obj = {
        "id": call.ids.new("evt"),
        "object": "event",
        "api_version": API_VERSION,
        "created": call.now,
        "data": data,
        "livemode": call.account.livemode,
        "pending_webhooks": 0,
        "request": {"id": call.request_id, "idempotency_key": call.key},
        "type": type_,
    }
    account = call.account
    if account.platform is not None:
        newest = {**newest, "account": account.id}
    account.newest_events[newest["id"]] = newest
    event = account.events.put(rendered(account, newest, account.api_version))
    call.announce(account, event)
    return event


def rendered(account: Account, newest: Obj, version: str) -> Obj:
    """The event with its object in the shape of an API version."""
    if version == newest["api_version"]:
        return newest
    shown = {**newest["data"], "object": in_version(newest["data"]["object"], version,
                                                    account.tables)}  # fmt: skip
    return {**newest, "api_version": version, "data": shown}


def retrieve(call: Call) -> Obj:
    """GET /v1/events/{id}."""
    return call.find("event", call.path[0], "id")


def retry(call: Call) -> Obj:
    """POST /v1/events/{id}/retry, what `stripe events resend` sends: delivered once more."""
    event = call.find("event", call.path[0], "id")
    endpoint = call.params.get("webhook_endpoint")
    if endpoint is not None:
        call.named("webhook_endpoint", endpoint, "webhook_endpoint")
    call.resend(call.account, event, endpoint)
    return event


def list_(call: Call) -> Obj:
    """GET /v1/events: of one type, of several, or all; the last 30 days."""
    params = call.params
    if "type" in params and "types" in params:
        raise invalid("Pass either `type` or `types`, not both.", param="type")
    type_ = params.get("type")
    of = ("type", type_) if type_ is not None and "*" not in type_ else None
    wanted = params.get("types", [type_] if type_ is not None and of is None else [])
    oldest = call.now - call.settings.event_life_s
    delivered = params.get("delivery_success")

    def keep(event: Obj) -> bool:
        return event["created"] >= oldest and _is(event, wanted) and _was(event, delivered)

    return page(call.account.events, params, "/v1/events", of=of, keep=keep)


def _is(event: Obj, wanted: list[Any]) -> bool:
    return not wanted or any(
        event["type"] == name or (name.endswith("*") and event["type"].startswith(name[:-1]))
        for name in wanted
    )


def _was(event: Obj, delivered: bool | None) -> bool:  # noqa: FBT001 - a filter's value
    return delivered is None or (event["pending_webhooks"] == 0) == delivered
