"""PaymentIntents: create, update, retrieve, list, cancel. Source: .../docs/api/payment_intents.

Confirming, and what follows from it, is in `confirmation`.
"""

from typing import Any

from anchorhold.twin import debits, method_types, payment_methods
from anchorhold.twin.confirmation import confirm_intent
from anchorhold.twin.currencies import check_amount
from anchorhold.twin.errors import invalid, missing, unexpected_state
from anchorhold.twin.events import emit
from anchorhold.twin.intent_params import CLOSED_TO_UPDATE, ONLY_WITH_CONFIRM
from anchorhold.twin.lists import empty, page
from anchorhold.twin.params import merged_metadata
from anchorhold.twin.settings import ClockTime, GoneCustomer
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

URL = "/v1/payment_intents"
_COPIED = ("description", "receipt_email", "setup_future_usage", "statement_descriptor_suffix",
           "statement_descriptor", "shipping")  # fmt: skip

CANCELLABLE = ("requires_payment_method", "requires_capture", "requires_confirmation",
               "requires_action")  # fmt: skip


def check_create(params: dict[str, Any]) -> None:
    """What can be refused of a create before anything is looked up or done."""
    check_amount(params["amount"], params["currency"])
    if not params.get("confirm"):
        for name in ONLY_WITH_CONFIRM:
            if name in params:
                raise invalid(
                    f"The parameter `{name}` cannot be passed when creating a PaymentIntent unless "
                    "`confirm` is set to true.",
                    param=name,
                )
    method_types.check(params)
    types = method_types.fields(params, params["currency"])["payment_method_types"]
    if "statement_descriptor" in params and "card" in types:
        raise invalid(
            "The `statement_descriptor` param is no longer supported for charges with "
            "payment_method_type `card`. Use `statement_descriptor_suffix` instead.",
            param="statement_descriptor",
        )


def create(call: Call) -> Obj:
    """POST /v1/payment_intents, confirmed in the same call when asked."""
    intent = _changed(call, _blank(call))
    intent = call.account.payment_intents.put(intent)
    emit(call, "payment_intent.created", intent)
    if call.params.get("confirm"):
        return confirm_intent(call, intent)
    return intent


def _blank(call: Call) -> Obj:
    params = call.params
    id_ = call.ids.new("pi")
    return {
        "id": id_,
        "object": "payment_intent",
        "amount": params["amount"],
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "application_fee_amount": None,
        "canceled_at": None,
        "cancellation_reason": None,
        "capture_method": params.get("capture_method", _capture(call.version)),
        "client_secret": f"{id_}_secret_{call.ids.new('x')[2:]}",
        "confirmation_method": params.get("confirmation_method", "automatic"),
        "created": _created(call),
        "currency": params["currency"],
        "customer": None,
        "customer_account": None,
        "description": None,
        "excluded_payment_method_types": None,
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": call.account.livemode,
        "metadata": {},
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_configuration_details": None,
        "payment_method_options": {},
        "processing": None,
        "receipt_email": None,
        "review": None,
        "setup_future_usage": None,
        "shipping": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": "requires_payment_method",
        "transfer_data": None,
        "transfer_group": None,
        **method_types.fields(params, params["currency"], call.version),
    }


def _capture(version: str) -> str:
    """Source: .../changelog/2024-04-10/automatic-sync-default-paymentintents."""
    return "automatic_async" if version[:10] >= "2024-04-10" else "automatic"


def _created(call: Call) -> int:
    customer = call.account.customers.get(call.params.get("customer", ""))
    clock = customer and customer.get("test_clock")
    if not clock or call.settings.clock_time is ClockTime.REAL:
        return call.now
    created: int = call.named("test_helpers.test_clock", clock, "customer")["frozen_time"]
    return created


def _changed(call: Call, intent: Obj) -> Obj:
    """The intent with the parameters of a create or an update in it."""
    params = call.params
    new = {**intent, **{name: params[name] for name in _COPIED if name in params}}
    if params.get("customer") is not None:
        new["customer"] = call.customer(params["customer"])["id"]
    if "metadata" in params:
        new["metadata"] = merged_metadata(intent["metadata"], params["metadata"])
    method = _method(call, new)
    if method is not None:
        new["payment_method"] = method["id"]
        new["next_action"] = None
        new["status"] = "requires_confirmation"
    return new


def _method(call: Call, intent: Obj) -> Obj | None:
    params = call.params
    if "payment_method_data" in params:
        return payment_methods.from_data(
            call, params["payment_method_data"], "payment_method_data[type]"
        )
    if "payment_method" not in params:
        return None
    method = payment_methods.usable(call, params["payment_method"])
    owner = method["customer"]
    if owner is not None and owner != intent["customer"]:
        raise _foreign(method, intent)
    return method


def _foreign(method: Obj, intent: Obj) -> Exception:
    if intent["customer"] is None:
        message = (
            f"The PaymentMethod {method['id']} belongs to the Customer {method['customer']}. "
            "Please include the Customer in the `customer` parameter on the PaymentIntent."
        )
    else:
        message = (
            f"The PaymentMethod {method['id']} does not belong to the Customer "
            f"{intent['customer']}. Please use a PaymentMethod of that Customer."
        )
    return invalid(message, param="payment_method")


def update(call: Call) -> Obj:
    """POST /v1/payment_intents/{id}: not once it is processing, succeeded or cancelled."""
    before = call.find("payment_intent", call.path[0], "intent")
    if before["status"] in CLOSED_TO_UPDATE:
        raise unexpected_state(
            "This PaymentIntent's parameters could not be updated because it has a status of "
            f"{before['status']}. You may only update a PaymentIntent with one of the following "
            "statuses: requires_payment_method, requires_confirmation, requires_action.",
            before,
        )
    after = _changed(call, before)
    for name in ("amount", "currency", "capture_method"):
        after[name] = call.params.get(name, before[name])
    check_amount(after["amount"], after["currency"])
    after |= method_types.changed(before, call.params, after["currency"])
    return call.account.payment_intents.put(after)


def confirm(call: Call) -> Obj:
    """POST /v1/payment_intents/{id}/confirm, by a secret key or with the client secret."""
    intent = _theirs(call)
    return confirm_intent(call, intent, _method)


def retrieve(call: Call) -> Obj:
    """GET /v1/payment_intents/{id}, by a secret key or with the client secret."""
    return _theirs(call)


def _theirs(call: Call) -> Obj:
    intent = call.find("payment_intent", call.path[0], "intent")
    secret = call.params.get("client_secret")
    if secret is None and call.publishable:
        raise invalid(
            "Missing required param: client_secret.", code="parameter_missing",
            param="client_secret",
        )  # fmt: skip
    if secret is not None and secret != intent["client_secret"]:
        raise invalid(
            "The client_secret provided does not match the client_secret associated with the "
            "PaymentIntent.",
            param="client_secret",
        )
    return intent


def cancel(call: Call) -> Obj:
    """POST /v1/payment_intents/{id}/cancel: refused once it succeeded, or was cancelled before."""
    before = call.find("payment_intent", call.path[0], "intent")
    if before["status"] not in CANCELLABLE and not debits.stoppable(call, before):
        raise unexpected_state(
            f"You cannot cancel this PaymentIntent because it has a status of {before['status']}. "
            "Only a PaymentIntent with one of the following statuses may be canceled: "
            f"{', '.join(CANCELLABLE)}.",
            before,
        )
    after = {
        **before,
        "amount_capturable": 0,
        "canceled_at": call.now,
        "cancellation_reason": call.params.get("cancellation_reason"),
        "next_action": None,
        "status": "canceled",
    }
    call.account.payment_intents.put(after)
    debits.stop(call, before)
    emit(call, "payment_intent.canceled", after)
    return after


def list_(call: Call) -> Obj:
    """GET /v1/payment_intents: all but those of test clocks, or everything of one customer."""
    customer = call.params.get("customer")
    intents = call.account.payment_intents
    if customer is None:
        return page(intents, call.params, URL, keep=lambda intent: not _on_clock(call, intent))
    found = call.account.customers.get(customer)
    gone = found is None or found.get("deleted", False)
    if gone and call.settings.gone_customer is GoneCustomer.REFUSED:
        raise missing("customer", customer, "customer", 400)
    if found is None:
        return empty(URL)
    return page(intents, call.params, URL, of=("customer", customer))


def _on_clock(call: Call, intent: Obj) -> bool:
    customer = call.account.customers.get(intent["customer"] or "")
    return bool(customer and customer.get("test_clock"))
