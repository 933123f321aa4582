"""Objects in the shape of an older API version. The twin keeps them in the newest.

Source: https://docs.stripe.com/changelog. Each row undoes one change; what Stripe merely adds to an
object is left in where no row takes it out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anchorhold.twin.tables import Table
from anchorhold.twin.wire import Obj

Tables = Mapping[str, Table]
Older = Callable[[Obj, Tables], Obj]


@dataclass(frozen=True, slots=True)
class Change:
    """What an API version, a date, changed in objects of one kind, and how to undo it."""

    date: str
    kind: str
    older: Older
    page: str
    """Under https://docs.stripe.com/changelog/."""


def _without(*names: str) -> Older:
    def older(obj: Obj, _tables: Tables) -> Obj:
        return {name: value for name, value in obj.items() if name not in names}

    return older


def _with(**more: None) -> Older:
    return lambda obj, _tables: {**obj, **more}


def _submitted_unsaid(obj: Obj, tables: Tables) -> Obj:
    details = _without("submission_method")(obj["evidence_details"], tables)
    return {**obj, "evidence_details": details}


def _with_charges(obj: Obj, tables: Tables) -> Obj:
    made = tables["charge"].where("payment_intent", obj["id"])
    return {**obj, "charges": _listed(made, f"/v1/charges?payment_intent={obj['id']}")}


def _with_refunds(obj: Obj, tables: Tables) -> Obj:
    made = tables["refund"].where("charge", obj["id"])
    return {**obj, "refunds": _listed(made, f"/v1/charges/{obj['id']}/refunds")}


def _listed(rows: list[Obj], url: str) -> Obj:
    newest = rows[::-1][:10]
    return {"object": "list", "data": newest, "has_more": len(rows) > len(newest),
            "total_count": len(rows), "url": url}  # fmt: skip


# fmt: off
CHANGES = (
    Change("2026-10-28", "dispute", _submitted_unsaid, "endive/2026-10-28"),
    Change("2026-07-29", "payment_intent", _without("allowed_payment_method_types"),
           "dahlia/2026-07-29/allowed-payment-method-types-parameter"),
    Change("2026-07-29", "refund", _without("customer", "customer_account", "payment_method"),
           "dahlia/2026-07-29/adds-customer-and-payment-method-details-to-the-refunds-api"),
    Change("2025-03-31", "payment_intent", _with(invoice=None),
           "basil/2025-03-31/add-support-for-multiple-partial-payments-on-invoices"),
    Change("2025-03-31", "charge", _with(invoice=None),
           "basil/2025-03-31/add-support-for-multiple-partial-payments-on-invoices"),
    Change("2022-11-15", "payment_intent", _with_charges,
           "2022-11-15/removes-charges-attribute-paymentintent"),
    Change("2022-11-15", "charge", _with_refunds, "2022-11-15/deprecates-charges-auto-expand"),
)
"""Newest first."""
# fmt: on


def in_version(obj: Obj, version: str, tables: Tables) -> Obj:
    """The object, and every object inside of it, as this API version shows it.

    Events are left as they are: they were rendered when they were made.
    """
    changes = [change for change in CHANGES if version[:10] < change.date]
    shown: Obj = _older(obj, changes, tables) if changes else obj
    return shown


def _older(value: Any, changes: list[Change], tables: Tables) -> Any:
    if isinstance(value, list):
        return [_older(item, changes, tables) for item in value]
    if not isinstance(value, dict) or value.get("object") == "event":
        return value
    shown = value
    if not value.get("deleted"):
        for change in changes:
            if change.kind == value.get("object"):
                shown = change.older(shown, tables)
    return {name: _older(part, changes, tables) for name, part in shown.items()}
