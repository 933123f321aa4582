"""Events: made with each change, listed, retrieved.

Source: https://docs.stripe.com/api/events. `request` names the request that caused the change and
its idempotency key; both are null when Stripe acted by itself.
"""

from typing import Any

from anchorhold.twin.errors import invalid
from anchorhold.twin.lists import DATED, page
from anchorhold.twin.params import Bool, ListOf, Param, Str
from anchorhold.twin.settings import API_VERSION
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

LIST: dict[str, Param] = {
    **DATED,
    "type": Str(),
    "types": ListOf(most=20),
    "delivery_success": Bool(),
}


def emit(call: Call, type_: str, obj: Obj, before: Obj | None = None) -> Obj:
    """Store the event of a change, and tell whoever listens; `before` gives previous_attributes."""
    data: Obj = {"object": obj}
    if before is not None:
        data["previous_attributes"] = {
            name: value for name, value in before.items() if value != obj.get(name)
        }
    event: Obj = {
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
    call.account.events.put(event)
    call.announce(call.account, event)
    return event


def retrieve(call: Call) -> Obj:
    """GET /v1/events/{id}."""
    return call.find("event", call.path[0], "id")


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
