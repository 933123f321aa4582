"""The parameters that stripe-python's generated types know: the newest specification there is.

The package is generated from the very API version that it pins, so its `TypedDict`s list every
parameter of that version. They are read from the annotations, without a request.
"""

import re
import typing
from functools import cache
from importlib import import_module
from typing import Any, ForwardRef, NotRequired, Required, get_args, get_origin
from urllib.parse import parse_qsl

from stripe import RequestOptions
from typing_extensions import is_typeddict

Names = dict[str, "Names"]
"""Parameter names, each with the names inside it."""

# fmt: off
REQUESTS = {
    "POST /v1/customers": "CustomerCreate",
    "GET /v1/customers": "CustomerList",
    "GET /v1/customers/{id}": "CustomerRetrieve",
    "POST /v1/customers/{id}": "CustomerUpdate",
    "DELETE /v1/customers/{id}": "CustomerDelete",
    "GET /v1/customers/{id}/payment_methods": "CustomerPaymentMethodList",
    "GET /v1/customers/{id}/payment_methods/{id}": "CustomerPaymentMethodRetrieve",
    "POST /v1/payment_methods": "PaymentMethodCreate",
    "GET /v1/payment_methods": "PaymentMethodList",
    "GET /v1/payment_methods/{id}": "PaymentMethodRetrieve",
    "POST /v1/payment_methods/{id}": "PaymentMethodUpdate",
    "POST /v1/payment_methods/{id}/attach": "PaymentMethodAttach",
    "POST /v1/payment_methods/{id}/detach": "PaymentMethodDetach",
    "POST /v1/payment_intents": "PaymentIntentCreate",
    "GET /v1/payment_intents": "PaymentIntentList",
    "GET /v1/payment_intents/{id}": "PaymentIntentRetrieve",
    "POST /v1/payment_intents/{id}": "PaymentIntentUpdate",
    "POST /v1/payment_intents/{id}/confirm": "PaymentIntentConfirm",
    "POST /v1/payment_intents/{id}/cancel": "PaymentIntentCancel",
    "GET /v1/charges": "ChargeList",
    "GET /v1/charges/{id}": "ChargeRetrieve",
    "POST /v1/charges/{id}": "ChargeUpdate",
    "POST /v1/refunds": "RefundCreate",
    "GET /v1/refunds": "RefundList",
    "GET /v1/refunds/{id}": "RefundRetrieve",
    "POST /v1/refunds/{id}": "RefundUpdate",
    "GET /v1/disputes": "DisputeList",
    "GET /v1/disputes/{id}": "DisputeRetrieve",
    "POST /v1/disputes/{id}": "DisputeUpdate",
    "POST /v1/disputes/{id}/close": "DisputeClose",
    "GET /v1/events": "EventList",
    "GET /v1/events/{id}": "EventRetrieve",
    "GET /v1/account": "AccountRetrieveCurrent",
    "GET /v1/balance": "BalanceRetrieve",
    "POST /v1/test_helpers/test_clocks": "TestClockCreate",
    "GET /v1/test_helpers/test_clocks": "TestClockList",
    "GET /v1/test_helpers/test_clocks/{id}": "TestClockRetrieve",
    "POST /v1/test_helpers/test_clocks/{id}/advance": "TestClockAdvance",
    "DELETE /v1/test_helpers/test_clocks/{id}": "TestClockDelete",
    "POST /v1/webhook_endpoints": "WebhookEndpointCreate",
    "GET /v1/webhook_endpoints": "WebhookEndpointList",
    "GET /v1/webhook_endpoints/{id}": "WebhookEndpointRetrieve",
    "POST /v1/webhook_endpoints/{id}": "WebhookEndpointUpdate",
    "DELETE /v1/webhook_endpoints/{id}": "WebhookEndpointDelete",
}
# fmt: on
"""The SDK's name of each request that the twin answers, by method and path template."""

_OF_THE_REQUEST = frozenset(RequestOptions.__annotations__)
"""Options that are not sent as parameters: the key, the version and so on."""


@cache
def parameters(endpoint: str) -> Names:
    """The parameters of a request to an endpoint, such as `POST /v1/refunds`."""
    shape, space = _shape(REQUESTS[endpoint])
    return _names(shape, space)


def strangers(endpoint: str, form: str) -> set[str]:
    """The parameters of an encoded form that this endpoint does not know, as they are written."""
    found = set()
    for written, _ in parse_qsl(form, keep_blank_values=True):
        at = parameters(endpoint)
        for step in written.replace("]", "").split("["):
            if step.isdigit():
                continue
            if step not in at:
                found.add(written)
            at = at.get(step, {})
            if not at:
                break
    return found


@cache
def words(endpoint: str, parameter: str) -> frozenset[str]:
    """The words that a parameter of the request may be, or be a list of."""
    shape, space = _shape(REQUESTS[endpoint])
    return frozenset(_literals(_resolved(shape.__annotations__[parameter], space)))


def _shape(request: str) -> tuple[Any, dict[str, Any]]:
    room = "test_helpers." if request.startswith("TestClock") else ""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", request).lower()
    module = import_module(f"stripe.params.{room}_{snake}_params")
    return getattr(module, f"{request}Params"), vars(module)


def _resolved(annotation: Any, space: dict[str, Any]) -> Any:
    if isinstance(annotation, ForwardRef):
        annotation = eval(annotation.__forward_arg__, space)
    if get_origin(annotation) in {NotRequired, Required}:
        return _resolved(get_args(annotation)[0], space)
    return annotation


def _names(annotation: Any, space: dict[str, Any]) -> Names:
    shape = _resolved(annotation, space)
    if is_typeddict(shape):
        return {
            name: _names(inner, space)
            for name, inner in shape.__annotations__.items()
            if name not in _OF_THE_REQUEST
        }
    found: Names = {}
    if get_origin(shape) in {typing.Union, list}:
        for part in get_args(shape):
            found |= _names(part, space)
    return found


def _literals(shape: Any) -> set[str]:
    found: set[str] = set()
    for part in get_args(shape):
        found |= {part} if isinstance(part, str) else _literals(part)
    return found
