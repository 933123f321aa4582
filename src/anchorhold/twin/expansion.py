"""`expand[]`: ids replaced by their objects, four levels deep.

Source: https://docs.stripe.com/expand. The table says what may be expanded in which object.
"""

from collections.abc import Mapping
from typing import Any

from anchorhold.twin.errors import invalid
from anchorhold.twin.tables import Table
from anchorhold.twin.wire import Obj

# fmt: off
EXPANDABLE: Mapping[str, Mapping[str, str | None]] = {
    "payment_intent": {
        "customer": "customer", "latest_charge": "charge", "payment_method": "payment_method",
        "application": None, "on_behalf_of": None, "review": None,
    },
    "charge": {
        "customer": "customer", "payment_intent": "payment_intent", "balance_transaction": None,
        "refunds": None, "application": None, "application_fee": None, "review": None,
        "failure_balance_transaction": None,
    },
    "refund": {
        "charge": "charge", "customer": "customer", "payment_intent": "payment_intent",
        "payment_method": "payment_method", "balance_transaction": None,
        "failure_balance_transaction": None,
    },
    "dispute": {"charge": "charge", "payment_intent": "payment_intent"},
    "payment_method": {"customer": "customer"},
    "customer": {"default_source": None, "test_clock": "test_helpers.test_clock"},
    "event": {}, "account": {}, "balance": {}, "test_helpers.test_clock": {},
    "webhook_endpoint": {},
}
# fmt: on


def check(kind: str, paths: list[str], *, in_list: bool) -> None:
    """400 when one of the paths does not lead to something expandable in an object of `kind`."""
    for path in paths:
        steps = path.split(".")
        if len(steps) > 4 + in_list:
            raise invalid(f"You cannot expand more than 4 levels of a property ({path}).")
        if in_list and steps.pop(0) != "data":
            raise _cannot(path)
        if not steps or not _leads(kind, steps):
            raise _cannot(path)


def _leads(kind: str, steps: list[str]) -> bool:
    at: str | None = kind
    for step in steps:
        if at is None or step not in EXPANDABLE[at]:
            return False
        at = EXPANDABLE[at][step]
    return True


def _cannot(path: str) -> Exception:
    return invalid(f"This property cannot be expanded ({path}).", param="expand")


def expand(obj: Obj, paths: list[str], tables: Mapping[str, Table]) -> Obj:
    """The object with its ids replaced along the paths; the stored one stays as it is."""
    for path in paths:
        obj = _expand(obj, path.split("."), tables)
    return obj


def _expand(obj: Any, steps: list[str], tables: Mapping[str, Table]) -> Any:
    if not steps or not isinstance(obj, dict):
        return obj
    step, rest = steps[0], steps[1:]
    value = obj.get(step)
    if isinstance(value, list):
        return {**obj, step: [_expand(item, rest, tables) for item in value]}
    if isinstance(value, str):
        kind = EXPANDABLE.get(obj["object"], {}).get(step)
        value = tables[kind].get(value) if kind is not None else value
    return {**obj, step: _expand(value, rest, tables)}
