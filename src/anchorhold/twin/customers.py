"""Customers. Source: https://docs.stripe.com/api/customers.

A deleted customer stays readable as a tombstone and drops out of the list.
"""

from typing import Any

from anchorhold.twin import payment_methods
from anchorhold.twin.errors import missing
from anchorhold.twin.events import emit
from anchorhold.twin.lists import DATED, page
from anchorhold.twin.params import (
    Hash,
    Int,
    ListOf,
    Metadata,
    NotSimulated,
    OneOf,
    Param,
    Str,
    merged_metadata,
)
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

ADDRESS: dict[str, Param] = dict.fromkeys(
    ("city", "country", "line1", "line2", "postal_code", "state"), Str(clear=True)
)
_SHIPPING: dict[str, Param] = {
    "address": Hash(ADDRESS),
    "name": Str(),
    "phone": Str(clear=True),
}
_INVOICE_SETTINGS: dict[str, Param] = {
    "default_payment_method": Str(clear=True),
    **dict.fromkeys(("custom_fields", "footer", "rendering_options"), NotSimulated()),
}
_PLAIN = ("description", "email", "name", "phone", "balance", "preferred_locales", "tax_exempt")
_COMMON: dict[str, Param] = {
    "address": Hash(ADDRESS, clear=True),
    "balance": Int(-(2**53)),
    "description": Str(clear=True),
    "email": Str(512, clear=True),
    "expand": ListOf(),
    "invoice_settings": Hash(_INVOICE_SETTINGS),
    "metadata": Metadata(),
    "name": Str(256, clear=True),
    "phone": Str(20, clear=True),
    "preferred_locales": ListOf(),
    "shipping": Hash(_SHIPPING, ("address", "name"), clear=True),
    "tax_exempt": OneOf(("exempt", "none", "reverse"), clear=True),
    **dict.fromkeys(
        (
            "business_name",
            "cash_balance",
            "individual_name",
            "invoice_prefix",
            "next_invoice_sequence",
            "source",
            "tax",
            "validate",
        ),
        NotSimulated(),
    ),
}
CREATE: dict[str, Param] = {
    **_COMMON,
    "payment_method": Str(),
    "test_clock": Str(),
    "tax_id_data": NotSimulated(),
}
UPDATE: dict[str, Param] = {
    **_COMMON,
    **dict.fromkeys(
        (
            "bank_account",
            "card",
            "default_alipay_account",
            "default_bank_account",
            "default_card",
            "default_source",
        ),
        NotSimulated(),
    ),
}
RETRIEVE: dict[str, Param] = {"expand": ListOf()}
LIST: dict[str, Param] = {**DATED, "email": Str(512), "test_clock": Str()}


def create(call: Call) -> Obj:
    """POST /v1/customers; with `payment_method` that one is attached."""
    clock = call.params.get("test_clock")
    made = call.now
    if clock is not None:
        made = call.named("test_helpers.test_clock", clock, "test_clock")["frozen_time"]
    customer = call.account.customers.put(_changed(call, _blank(call, made, clock)))
    emit(call, "customer.created", customer)
    method = call.params.get("payment_method")
    if method is not None:
        payment_methods.attach_to(call, method, customer)
    return customer


def _blank(call: Call, created: int, clock: str | None) -> Obj:
    return {
        "id": call.ids.new("cus"),
        "object": "customer",
        "address": None,
        "balance": 0,
        "created": created,
        "currency": None,
        "customer_account": None,
        "default_source": None,
        "delinquent": False,
        "description": None,
        "discount": None,
        "email": None,
        "invoice_prefix": call.ids.short("I")[2:10].upper(),
        "invoice_settings": {
            "custom_fields": None,
            "default_payment_method": None,
            "footer": None,
            "rendering_options": None,
        },
        "livemode": call.account.livemode,
        "metadata": {},
        "name": None,
        "next_invoice_sequence": 1,
        "phone": None,
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "test_clock": clock,
    }


def _changed(call: Call, customer: Obj) -> Obj:
    params = call.params
    new = {**customer, **{name: params[name] for name in _PLAIN if name in params}}
    if "metadata" in params:
        new["metadata"] = merged_metadata(customer["metadata"], params["metadata"])
    if "address" in params:
        new["address"] = _address(params["address"])
    if "shipping" in params:
        new["shipping"] = _shipping(params["shipping"])
    if "invoice_settings" in params:
        new["invoice_settings"] = _invoice_settings(call, customer, params["invoice_settings"])
    if new["tax_exempt"] is None:
        new["tax_exempt"] = "none"
    return new


def _address(address: dict[str, Any] | None) -> Obj | None:
    return None if address is None else {**dict.fromkeys(ADDRESS), **address}


def _shipping(shipping: dict[str, Any] | None) -> Obj | None:
    if shipping is None:
        return None
    blank: Obj = {"carrier": None, "phone": None, "tracking_number": None}
    return {**blank, **shipping, "address": _address(shipping["address"])}


def _invoice_settings(call: Call, customer: Obj, given: dict[str, Any]) -> Obj:
    method = given.get("default_payment_method")
    if method is not None:
        param = "invoice_settings[default_payment_method]"
        found = call.named("payment_method", method, param)
        if found["customer"] != customer["id"]:
            raise missing("payment_method", method, param, status=400)
    return {**customer["invoice_settings"], **given}


def _own(call: Call) -> Obj:
    customer = call.find("customer", call.path[0], "id")
    if customer.get("deleted"):
        raise missing("customer", call.path[0], "id")
    return customer


def update(call: Call) -> Obj:
    """POST /v1/customers/{id}."""
    before = _own(call)
    after = call.account.customers.put(_changed(call, before))
    if after != before:
        emit(call, "customer.updated", after, before)
    return after


def retrieve(call: Call) -> Obj:
    """GET /v1/customers/{id}: also a deleted one, as its tombstone."""
    return call.find("customer", call.path[0], "id")


def delete(call: Call) -> Obj:
    """DELETE /v1/customers/{id}: leaves the tombstone."""
    customer = _own(call)
    tombstone: Obj = {"id": customer["id"], "object": "customer", "deleted": True}
    call.account.customers.put(tombstone)
    emit(call, "customer.deleted", customer)
    return tombstone


def list_(call: Call) -> Obj:
    """GET /v1/customers: those of test clocks only when `test_clock` names theirs."""
    email, clock = call.params.get("email"), call.params.get("test_clock")

    def keep(customer: Obj) -> bool:
        if customer.get("deleted") or customer["test_clock"] != clock:
            return False
        return email is None or customer["email"] == email

    return page(call.account.customers, call.params, "/v1/customers", keep=keep)
