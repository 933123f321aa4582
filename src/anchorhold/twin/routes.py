"""Every endpoint of the twin as one literal table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anchorhold.twin import (
    accounts,
    charges,
    customers,
    disputes,
    events,
    intent_params,
    method_params,
    method_types,
    payment_intents,
    payment_methods,
    refunds,
    test_clocks,
    webhook_endpoints,
)
from anchorhold.twin.expansion import check as check_expand
from anchorhold.twin.form import Tree
from anchorhold.twin.params import ListOf, Param
from anchorhold.twin.state import Call
from anchorhold.twin.versions import DatedTable, read_form
from anchorhold.twin.wire import Obj


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method on one path template. `kind` is the object that it answers with."""

    method: str
    template: str
    run: Callable[[Call], Obj]
    params: DatedTable
    kind: str
    required: tuple[str, ...] = ()
    check: Callable[[dict[str, Any]], None] | None = None
    """What else can be refused before execution begins."""
    in_list: bool = False
    locks: bool = False
    """Works on the object that the path names, and waits for others that do."""
    browser: bool = False
    """A publishable key may call it."""

    def read(self, form: Tree, version: str) -> dict[str, Any]:
        """The parameters, typed, in this API version; a 400 means that nothing was executed."""
        values = read_form(self.params, self.required, form, version)
        if self.check is not None:
            self.check(values)
        if "expand" in values:
            check_expand(self.kind, values["expand"], in_list=self.in_list)
        return values


_PI, _PM, _CUS, _CH = "payment_intent", "payment_method", "customer", "charge"
_ONLY_EXPAND: dict[str, Param] = {"expand": ListOf()}


def _list(template: str, run: Callable[[Call], Obj], params: DatedTable, kind: str) -> Endpoint:
    return Endpoint("GET", template, run, params, kind, in_list=True)


# fmt: off
ENDPOINTS = (
    Endpoint("POST", "/v1/customers", customers.create, customers.CREATE, _CUS),
    _list("/v1/customers", customers.list_, customers.LIST, _CUS),
    Endpoint("GET", "/v1/customers/{id}", customers.retrieve, customers.RETRIEVE, _CUS),
    Endpoint("POST", "/v1/customers/{id}", customers.update, customers.UPDATE, _CUS, locks=True),
    Endpoint("DELETE", "/v1/customers/{id}", customers.delete, {}, _CUS),
    _list("/v1/customers/{id}/payment_methods", payment_methods.list_of_customer,
          method_params.LIST_OF_CUSTOMER, _PM),
    Endpoint("GET", "/v1/customers/{id}/payment_methods/{id}",
             payment_methods.retrieve_of_customer, _ONLY_EXPAND, _PM),

    Endpoint("POST", "/v1/payment_methods", payment_methods.create, method_params.CREATE, _PM,
             browser=True),
    _list("/v1/payment_methods", payment_methods.list_, method_params.LIST, _PM),
    Endpoint("GET", "/v1/payment_methods/{id}", payment_methods.retrieve, _ONLY_EXPAND, _PM),
    Endpoint("POST", "/v1/payment_methods/{id}", payment_methods.update,
             method_params.UPDATE, _PM),
    Endpoint("POST", "/v1/payment_methods/{id}/attach", payment_methods.attach,
             method_params.ATTACH, _PM),
    Endpoint("POST", "/v1/payment_methods/{id}/detach", payment_methods.detach,
             _ONLY_EXPAND, _PM),

    Endpoint("POST", "/v1/payment_intents", payment_intents.create, intent_params.CREATE, _PI,
             required=("amount", "currency"), check=payment_intents.check_create),
    _list("/v1/payment_intents", payment_intents.list_, intent_params.LIST, _PI),
    Endpoint("GET", "/v1/payment_intents/{id}", payment_intents.retrieve,
             intent_params.RETRIEVE, _PI, browser=True),
    Endpoint("POST", "/v1/payment_intents/{id}", payment_intents.update,
             intent_params.UPDATE, _PI, check=method_types.check, locks=True),
    Endpoint("POST", "/v1/payment_intents/{id}/confirm", payment_intents.confirm,
             intent_params.CONFIRM, _PI, check=method_types.check, locks=True,
             browser=True),
    Endpoint("POST", "/v1/payment_intents/{id}/cancel", payment_intents.cancel,
             intent_params.CANCEL, _PI, locks=True),

    _list("/v1/charges", charges.list_, charges.LIST, _CH),
    Endpoint("GET", "/v1/charges/{id}", charges.retrieve, _ONLY_EXPAND, _CH),
    Endpoint("POST", "/v1/charges/{id}", charges.update, charges.UPDATE, _CH, locks=True),

    Endpoint("POST", "/v1/refunds", refunds.create, refunds.CREATE, "refund",
             check=refunds.check_create),
    _list("/v1/refunds", refunds.list_, refunds.LIST, "refund"),
    Endpoint("GET", "/v1/refunds/{id}", refunds.retrieve, _ONLY_EXPAND, "refund"),
    Endpoint("POST", "/v1/refunds/{id}", refunds.update, refunds.UPDATE, "refund"),

    _list("/v1/disputes", disputes.list_, disputes.LIST, "dispute"),
    Endpoint("GET", "/v1/disputes/{id}", disputes.retrieve, _ONLY_EXPAND, "dispute"),
    Endpoint("POST", "/v1/disputes/{id}", disputes.update, disputes.UPDATE, "dispute"),
    Endpoint("POST", "/v1/disputes/{id}/close", disputes.accept, _ONLY_EXPAND, "dispute"),

    _list("/v1/events", events.list_, events.LIST, "event"),
    Endpoint("GET", "/v1/events/{id}", events.retrieve, _ONLY_EXPAND, "event"),

    Endpoint("GET", "/v1/account", accounts.retrieve, _ONLY_EXPAND, "account"),
    Endpoint("GET", "/v1/balance", accounts.balance, _ONLY_EXPAND, "balance"),

    Endpoint("POST", "/v1/test_helpers/test_clocks", test_clocks.create, test_clocks.CREATE,
             test_clocks.KIND, required=("frozen_time",)),
    _list("/v1/test_helpers/test_clocks", test_clocks.list_, test_clocks.LIST, test_clocks.KIND),
    Endpoint("GET", "/v1/test_helpers/test_clocks/{id}", test_clocks.retrieve,
             _ONLY_EXPAND, test_clocks.KIND),
    Endpoint("POST", "/v1/test_helpers/test_clocks/{id}/advance", test_clocks.advance,
             test_clocks.ADVANCE, test_clocks.KIND, required=("frozen_time",)),
    Endpoint("DELETE", "/v1/test_helpers/test_clocks/{id}", test_clocks.delete, {},
             test_clocks.KIND),

    Endpoint("POST", "/v1/webhook_endpoints", webhook_endpoints.create, webhook_endpoints.CREATE,
             webhook_endpoints.KIND, required=("enabled_events", "url")),
    _list("/v1/webhook_endpoints", webhook_endpoints.list_, webhook_endpoints.LIST,
          webhook_endpoints.KIND),
    Endpoint("GET", "/v1/webhook_endpoints/{id}", webhook_endpoints.retrieve, _ONLY_EXPAND,
             webhook_endpoints.KIND),
    Endpoint("POST", "/v1/webhook_endpoints/{id}", webhook_endpoints.update,
             webhook_endpoints.UPDATE, webhook_endpoints.KIND),
    Endpoint("DELETE", "/v1/webhook_endpoints/{id}", webhook_endpoints.delete, {},
             webhook_endpoints.KIND),
)
"""Every endpoint that Stripe documents and the twin has."""

OF_THE_CLI = (
    Endpoint("POST", "/v1/events/{id}/retry", events.retry, events.RETRY, "event"),
)
"""What Stripe's own command line calls and no document lists."""
# fmt: on


@dataclass(frozen=True, slots=True)
class Match:
    """An endpoint and the ids in the path, in order."""

    endpoint: Endpoint
    ids: tuple[str, ...]


_Pattern = tuple[Endpoint, tuple[str, ...]]


def _by_shape() -> dict[tuple[str, int], list[_Pattern]]:
    shapes: dict[tuple[str, int], list[_Pattern]] = {}
    for endpoint in (*ENDPOINTS, *OF_THE_CLI):
        parts = tuple(endpoint.template.split("/"))
        shapes.setdefault((endpoint.method, len(parts)), []).append((endpoint, parts))
    return shapes


_SHAPES = _by_shape()


def match(method: str, path: str) -> Match | None:
    """The endpoint for a request, or None when the twin has none."""
    parts = path.rstrip("/").split("/")
    for endpoint, pattern in _SHAPES.get((method, len(parts)), ()):
        if all(
            want == have or (want == "{id}" and have)
            for want, have in zip(pattern, parts, strict=True)
        ):
            ids = [have for want, have in zip(pattern, parts, strict=True) if want == "{id}"]
            return Match(endpoint, tuple(ids))
    return None
