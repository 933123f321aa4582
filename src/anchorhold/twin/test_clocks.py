"""Test clocks: made, retrieved, advanced, listed, deleted. Source: .../docs/api/test_clocks.

In the twin a test clock only decides `created` of the objects of its customers.
"""

from anchorhold.twin.errors import invalid
from anchorhold.twin.events import emit
from anchorhold.twin.lists import PAGING, page
from anchorhold.twin.params import Int, ListOf, NotSimulated, Param, Str
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

KIND = "test_helpers.test_clock"
CREATE: dict[str, Param] = {"frozen_time": Int(), "name": Str(300), "expand": ListOf(),
                           "customer": NotSimulated()}  # fmt: skip
ADVANCE: dict[str, Param] = {"frozen_time": Int(), "expand": ListOf()}
RETRIEVE: dict[str, Param] = {"expand": ListOf()}
DELETE: dict[str, Param] = {}
LIST: dict[str, Param] = PAGING


def create(call: Call) -> Obj:
    """POST /v1/test_helpers/test_clocks: only in test mode."""
    if call.account.livemode:
        raise invalid("Test clocks can only be used in test mode.")
    clock = call.account.test_clocks.put(
        {
            "id": call.ids.new("clock"),
            "object": KIND,
            "created": call.now,
            "deletes_after": call.now + 30 * 86_400,
            "frozen_time": call.params["frozen_time"],
            "livemode": False,
            "name": call.params.get("name"),
            "status": "ready",
            "status_details": {},
        }
    )
    emit(call, "test_helpers.test_clock.created", clock)
    return clock


def advance(call: Call) -> Obj:
    """POST /v1/test_helpers/test_clocks/{id}/advance: forward only."""
    before = _living(call)
    to = call.params["frozen_time"]
    if to <= before["frozen_time"]:
        raise invalid("A test clock can only be moved forward.", param="frozen_time")
    after = call.account.test_clocks.put({**before, "frozen_time": to})
    emit(call, "test_helpers.test_clock.ready", after, before)
    return after


def retrieve(call: Call) -> Obj:
    """GET /v1/test_helpers/test_clocks/{id}."""
    return _living(call)


def delete(call: Call) -> Obj:
    """DELETE /v1/test_helpers/test_clocks/{id}: its customers go with it."""
    clock = _living(call)
    for customer in call.account.customers.where("test_clock", clock["id"]):
        call.account.customers.put({"id": customer["id"], "object": "customer", "deleted": True})
    gone: Obj = {"id": clock["id"], "object": KIND, "deleted": True}
    call.account.test_clocks.put(gone)
    emit(call, "test_helpers.test_clock.deleted", clock)
    return gone


def list_(call: Call) -> Obj:
    """GET /v1/test_helpers/test_clocks."""
    return page(
        call.account.test_clocks,
        call.params,
        "/v1/test_helpers/test_clocks",
        keep=lambda clock: not clock.get("deleted"),
    )


def _living(call: Call) -> Obj:
    clock = call.find(KIND, call.path[0])
    if clock.get("deleted"):
        raise invalid(f"No such test_clock: '{clock['id']}'", code="resource_missing", status=404)
    return clock
