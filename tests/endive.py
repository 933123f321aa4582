"""What Stripe's API changed between the OpenAPI document and the version that we pin.

The document is of 2026-05-27.dahlia, the pin is 2026-10-28.endive. Listed is what touches anything
that we send or read, or that the twin serves; each row names its source. The newest values come
from stripe-python, which is generated from the pinned version.
"""

from dataclasses import dataclass
from typing import Any

from tests.sdk import words

Json = dict[str, Any]

_LOG = "https://docs.stripe.com/changelog"
_ALLOWED = f"{_LOG}/dahlia/2026-07-29/allowed-payment-method-types-parameter"
_REMOVED = (
    f"{_LOG}/endive/2026-09-30/"
    "removes-the-payment-method-types-parameter-from-payment-intents-and-setup-intents"
)
_REFUNDS = f"{_LOG}/dahlia/2026-07-29/adds-customer-and-payment-method-details-to-the-refunds-api"
_SDK_16_0 = "stripe-python 16.0.0 (2026-09-30.endive) beside 15.6.0 (2026-08-26.dahlia)"
_SDK_16_1 = "stripe-python 16.1.0 (2026-10-28.endive) beside 16.0.0 (2026-09-30.endive)"

_TYPES: Json = {
    "type": "array",
    "items": {
        "type": "string",
        "enum": sorted(words("POST /v1/payment_intents", "allowed_payment_method_types")),
    },
}
_ID: Json = {"type": "string", "maxLength": 5000, "nullable": True}


def _id_or(schema: str) -> Json:
    return {
        "nullable": True,
        "anyOf": [{"type": "string"}, {"$ref": f"#/components/schemas/{schema}"}],
    }


@dataclass(frozen=True, slots=True)
class Difference:
    """One name that came (with its schema) or went (None).

    `where` is a request, as `POST /v1/refunds`, or the schema of an object.
    """

    where: str
    name: str
    schema: Json | None
    source: str
    required: bool = False
    """Whether every answer has it."""


_CREATE = "POST /v1/payment_intents"
_UPDATE = "POST /v1/payment_intents/{intent}"
_CONFIRM = "POST /v1/payment_intents/{intent}/confirm"
_METHOD = "POST /v1/payment_methods/{payment_method}"

# fmt: off
DIFFERENCES = (
    Difference(_CREATE, "allowed_payment_method_types", _TYPES, _ALLOWED),
    Difference(_UPDATE, "allowed_payment_method_types", _TYPES, _ALLOWED),
    Difference(_CONFIRM, "allowed_payment_method_types", _TYPES, _ALLOWED),
    Difference(_CREATE, "payment_method_types", None, _REMOVED),
    Difference(_UPDATE, "payment_method_types", None, _REMOVED),
    Difference(_CONFIRM, "payment_method_types", None, _REMOVED),
    Difference(_METHOD, "payto", None, _SDK_16_0),
    Difference("payment_intent", "allowed_payment_method_types",
               {**_TYPES, "nullable": True}, _ALLOWED),
    Difference("refund", "customer", _id_or("customer"), _REFUNDS),
    Difference("refund", "customer_account", _ID, _REFUNDS),
    Difference("refund", "payment_method", _id_or("payment_method"), _REFUNDS),
    Difference("dispute_evidence_details", "submission_method",
               {"type": "string", "enum": ["manual", "not_submitted", "smart_disputes"]},
               _SDK_16_1, required=True),
)
# fmt: on


def apply(document: Json) -> None:
    """The OpenAPI document is of the pinned version now, as far as the list goes.

    AssertionError on a difference that the document has already: it became needless.
    """
    for one in DIFFERENCES:
        schema = _schema(document, one.where)
        properties = schema["properties"]
        assert (one.name in properties) == (one.schema is None), f"no difference: {one}"
        if one.schema is None:
            del properties[one.name]
        else:
            properties[one.name] = one.schema
        if one.required:
            schema["required"] = [*schema.get("required", []), one.name]


def _schema(document: Json, where: str) -> Json:
    verb, _, path = where.partition(" ")
    if not path:
        schema: Json = document["components"]["schemas"][where]
        return schema
    content = document["paths"][path][verb.lower()]["requestBody"]["content"]
    form: Json = next(iter(content.values()))["schema"]
    return form
