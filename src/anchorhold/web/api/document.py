"""The OpenAPI document: what every route answers, from the same rows that the answers are made of.

The schema of an object is derived from the columns of its view, so that it cannot say a field that
is not there nor leave one out.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, time
from enum import Enum
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from anchorhold.domain.alarms import Overdue
from anchorhold.domain.api_key import VERSION
from anchorhold.domain.attempt import AttemptKind, AttemptState
from anchorhold.domain.hold import HoldState
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.notices import Weight
from anchorhold.domain.refund import Standing
from anchorhold.domain.refusals import CODES
from anchorhold.objects import HELD
from anchorhold.store.accounts import Account
from anchorhold.store.endpoints import Endpoint
from anchorhold.store.views_attempts import AttemptView
from anchorhold.store.views_customers import CustomerView
from anchorhold.store.views_events import EventRow
from anchorhold.store.views_invoices import InvoiceView
from anchorhold.store.views_notices import NoticeView
from anchorhold.store.views_payments import PaymentView
from anchorhold.store.views_refunds import RefundRowView
from anchorhold.store.views_webhooks import DeliveryView

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
ONE_NUMBER: Final[Schema] = {"type": "integer"}
MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}
DISPLAY: Final[Schema] = {"type": "object", "additionalProperties": TEXT}


@dataclass(frozen=True, slots=True)
class Shape:
    """One object: the view whose columns it has, fields beside them, columns that it has not."""

    view: type
    more: Mapping[str, Schema]
    without: frozenset[str] = frozenset()


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _enum(values: type[Enum]) -> Schema:
    return {"type": "string", "enum": [member.value for member in values]}


HOLD: Final[Schema] = {
    "state": _enum(HoldState),
    "since": _maybe(MOMENT),
    "until": _maybe(MOMENT),
    "next_check_at": _maybe(MOMENT),
    "asked_at": _maybe(MOMENT),
    "attempt_id": _maybe(TEXT),
    "attempt_state": _maybe(_enum(AttemptState)),
    "kind": _maybe(_enum(AttemptKind)),
    "actor": _maybe(TEXT),
    "overdue": _maybe(_enum(Overdue)),
}
SHAPES: Final[Mapping[str, Shape]] = {
    "account": Shape(Account, {}),
    "customer": Shape(CustomerView, {}),
    "invoice": Shape(
        InvoiceView,
        {
            "amount_remaining": ONE_NUMBER,
            "hold": {"$ref": "#/components/schemas/hold_facts"},
            "display": DISPLAY,
        },
        HELD,
    ),
    "attempt": Shape(AttemptView, {"display": DISPLAY}),
    "payment": Shape(PaymentView, {"status": _enum(Standing), "display": DISPLAY}),
    "refund": Shape(RefundRowView, {"display": DISPLAY}),
    "event": Shape(EventRow, {}),
    "webhook_endpoint": Shape(Endpoint, {}),
    "webhook_delivery": Shape(DeliveryView, {}),
    "notice": Shape(NoticeView, {"weight": _enum(Weight), "happened": TEXT, "to_do": TEXT}),
}
"""TABLE: every object that a view stands behind."""


def schemas() -> dict[str, Schema]:
    """Every schema by its name."""
    made = {name: _of_view(name, shape) for name, shape in SHAPES.items()}
    made["hold_facts"] = _object(HOLD)
    made["hold"] = _object(
        {
            "object": {"const": "hold"},
            **dict.fromkeys(("id", "account_id", "invoice_id", "currency"), TEXT),
            "livemode": {"type": "boolean"},
            "status": _enum(InvoiceStatus),
            "payment_status": _enum(PaymentStatus),
            "amount_remaining": ONE_NUMBER,
            **HOLD,
            "intent_id": _maybe(TEXT),
            "display": DISPLAY,
        }
    )
    made["webhook_test"] = _object(
        {
            "object": {"const": "webhook_test"},
            **dict.fromkeys(("id", "said", "detail", "rule"), TEXT),
            "took_ms": ONE_NUMBER,
        }
    )
    made["check"] = _object(
        {
            "object": {"const": "check"},
            "id": TEXT,
            **dict.fromkeys(("rule", "act", "because"), _maybe(TEXT)),
            "invoice": {"$ref": "#/components/schemas/invoice"},
        }
    )
    made["resend"] = _object(
        {"object": {"const": "resend"}, "id": TEXT, "waiting": {"type": "boolean"}}
    )
    made["error_code"] = _object(
        {
            "object": {"const": "error_code"},
            **dict.fromkeys(("id", "type", "message", "next_step"), TEXT),
            "status": ONE_NUMBER,
        }
    )
    return {**made, "error": ERROR, "problem": PROBLEM}


def _of_view(name: str, shape: Shape) -> Schema:
    hints = typing.get_type_hints(shape.view)
    columns = {
        field.name: _of(hints[field.name])
        for field in fields(shape.view)
        if field.name not in shape.without
    }
    return _object({"object": {"const": name}, **columns, **shape.more})


def _object(properties: Mapping[str, Schema]) -> Schema:
    """All of these are always there; what `expand[]` adds comes beside them."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def _of(hint: Any) -> Schema:
    """The schema of a column of this type."""
    if typing.get_origin(hint) in {types.UnionType, typing.Union}:
        (inner,) = [part for part in typing.get_args(hint) if part is not type(None)]
        return _maybe(_of(inner))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    if typing.get_origin(hint) is tuple or typing.get_origin(hint) is list:
        return {"type": "array", "items": _of(typing.get_args(hint)[0])}
    if typing.get_origin(hint) is dict:
        return {"type": "object"}
    return dict(_PLAIN[getattr(hint, "__supertype__", hint)])


_PLAIN: Final[Mapping[Any, Schema]] = {
    str: TEXT,
    int: ONE_NUMBER,
    bool: {"type": "boolean"},
    datetime: MOMENT,
    time: TEXT,
}

_ERROR: Final[Schema] = {
    "type": TEXT,
    "code": {"type": "string", "enum": sorted(code.code for code in CODES)},
    "message": TEXT,
    "next_step": TEXT,
    "param": _maybe(TEXT),
    "doc_url": TEXT,
    "request_id": TEXT,
}
ERROR: Final = _object({"error": _object(_ERROR)})
PROBLEM: Final = _object(
    {
        **dict.fromkeys(("type", "title", "detail", "instance", "error_type", "next_step"), TEXT),
        "status": ONE_NUMBER,
        "code": _ERROR["code"],
        "param": _maybe(TEXT),
    }
)

ALWAYS: Final = {
    400: "A field is wrong or unknown.",
    401: "There is no key, or no such key.",
    403: "The key may not do this.",
    404: "There is no such object in this account and mode.",
    429: "Too many requests of one key.",
    500: "Something unexpected; it is logged under the request's id.",
    503: "Stripe or the database did not answer; `message` says whether anything was sent.",
}
POSTS: Final = {
    402: "The bank said no.",
    409: "The state says no, or the same request is being worked on.",
    422: "The Idempotency-Key was sent with another request before.",
    504: "It takes longer than 30 s and goes on; repeat it with the same key.",
}


def answers(name: str, *, posts: bool = False) -> dict[int | str, Schema]:
    """What a route answers: the object of this name, or why not."""
    return {200: _json({"$ref": f"#/components/schemas/{name}"}, f"The {name}."), **_errors(posts)}


def explained() -> dict[int | str, Schema]:
    """What the explanation of a code answers; it needs no key."""
    errors = _errors(posts=False)
    kept = {status: errors[status] for status in (400, 404, 500)}
    return {200: _json({"$ref": "#/components/schemas/error_code"}, "The code."), **kept}


def listing(name: str) -> dict[int | str, Schema]:
    """What a list answers."""
    schema = _object(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}},
            "has_more": {"type": "boolean"},
            "url": TEXT,
        }
    )
    return {200: _json(schema, "A page of the list."), **_errors(posts=False)}


def _json(schema: Schema, description: str) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _errors(posts: bool) -> dict[int | str, Schema]:  # noqa: FBT001 - one call each way
    statuses = {**ALWAYS, **(POSTS if posts else {})}
    return {
        status: {
            "description": said,
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/error"}},
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}},
            },
        }
        for status, said in sorted(statuses.items())
    }


DESCRIPTION: Final = """Collect invoices through Stripe: never a second payment, never a lost one.

Amounts are whole minor units beside their currency, times are UTC. Send every POST with an
`Idempotency-Key`: however often it is repeated, there is one effect and one answer.
"""


def describe(api: FastAPI) -> None:
    """`/openapi.json` of the API says all this."""

    def document() -> Schema:
        if api.openapi_schema is None:
            api.openapi_schema = _document(api)
        return api.openapi_schema

    api.openapi = document  # type: ignore[method-assign] - FastAPI's own way to change it


def _document(api: FastAPI) -> Schema:
    made = get_openapi(
        title="Anchorhold",
        version=VERSION,
        description=DESCRIPTION,
        routes=api.routes,
        servers=[{"url": "/v1"}],
    )
    components = made.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **schemas()}
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, item in made["paths"].items():
        for method, operation in item.items():
            if not path.startswith("/errors"):
                operation["security"] = [{"key": []}]
            if method == "post":
                operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
            _tidy(operation["responses"])
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    return made


IDEMPOTENCY_KEY: Final[Schema] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Required where money can move. One for each act, the same in its repetitions.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}


def _tidy(responses: Schema) -> None:
    """FastAPI's own answer to a wrong field is none of ours."""
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
