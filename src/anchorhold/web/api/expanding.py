"""`expand[]`: what an object may show within itself, two steps deep, by a fixed list."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from anchorhold import objects
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import InvoiceId, PaymentId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.objects import Object
from anchorhold.store import (
    views_attempts,
    views_customers,
    views_invoices,
    views_payments,
    views_refunds,
)
from anchorhold.web.api.calling import Api

DEPTH: Final = 2
ROWS: Final = 10
"""So many rows are shown within an object; the rest is a list of its own."""

Expander = Callable[[Api, Scope, Object], Awaitable[Object | list[Object] | None]]


async def _customer(api: Api, scope: Scope, shown: Object) -> Object | None:
    row = await views_customers.one(api.db, scope, str(shown["customer_id"]))
    return objects.customer(row) if row else None


async def _invoice(api: Api, scope: Scope, shown: Object) -> Object | None:
    row = await views_invoices.one(api.db, scope, str(shown["invoice_id"]))
    return objects.invoice(row, api.app.settings.timing) if row else None


async def _attempts(api: Api, scope: Scope, shown: Object) -> list[Object]:
    rows = await views_attempts.page(
        api.db, scope, state=None, invoice_id=InvoiceId(str(shown["id"])), after=None, limit=ROWS
    )
    return [objects.attempt(row) for row in rows]


async def _payments(api: Api, scope: Scope, shown: Object) -> list[Object]:
    rows = await views_payments.page(
        api.db, scope, invoice_id=InvoiceId(str(shown["id"])), after=None, limit=ROWS
    )
    return [objects.payment(row) for row in rows]


async def _refunds(api: Api, scope: Scope, shown: Object) -> list[Object]:
    rows = await views_refunds.of_payment(api.db, scope, PaymentId(str(shown["id"])))
    return [objects.refund(row) for row in rows]


async def _payment(api: Api, scope: Scope, shown: Object) -> Object | None:
    row = await views_payments.one(api.db, scope, str(shown["payment_id"]))
    return objects.payment(row) if row else None


EXPANDS: Final[Mapping[str, Mapping[str, Expander]]] = {
    "invoice": {"customer": _customer, "attempts": _attempts, "payments": _payments},
    "attempt": {"invoice": _invoice},
    "payment": {"invoice": _invoice, "refunds": _refunds},
    "refund": {"invoice": _invoice, "payment": _payment},
    "hold": {"invoice": _invoice},
}
"""TABLE: what each object can show within itself."""


async def expanded(
    api: Api, scope: Scope, shown: Object, paths: Sequence[str], *, listed: bool = False
) -> Object:
    """The object with what was asked for within it; in lists a path begins with `data.`.

    Refuses what the table does not have (FIELD_INVALID).
    """
    for path in paths:
        if listed and not path.startswith("data."):
            raise _wrong(path, "in a list it begins with data.")
        steps = (path.removeprefix("data.") if listed else path).split(".")
        if len(steps) > DEPTH:
            raise _wrong(path, f"at most {DEPTH} steps are followed")
        await _expand(api, scope, shown, path, steps)
    return shown


async def _expand(api: Api, scope: Scope, shown: Object, path: str, steps: list[str]) -> None:
    if not steps:
        return
    known = EXPANDS.get(str(shown["object"]), {})
    if steps[0] not in known:
        near = get_close_matches(steps[0], known, n=1)
        said = f"perhaps {near[0]} was meant" if near else f"there are {', '.join(known) or 'none'}"
        raise _wrong(path, said)
    if steps[0] not in shown:
        shown[steps[0]] = await known[steps[0]](api, scope, shown)
    for inner in _each(shown[steps[0]]):
        await _expand(api, scope, inner, path, steps[1:])


def _each(value: Any) -> list[Object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _wrong(path: str, reason: str) -> Refusal:
    name = "expand[]"
    return Refusal(ApiCode.FIELD_INVALID, name=name, reason=f"{path[:60]!r}: {reason}", param=name)
