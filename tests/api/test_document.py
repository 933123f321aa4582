"""The OpenAPI document is true: every answer is one that it describes."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.api.desk import Desk, Got
from tests.api.test_strangers import everything, routes

INVOICE = {"customer": "acme", "amount": 100, "currency": "eur"}


def described(document: Any, method: str, path: str, got: Got) -> list[str]:
    """What is wrong with an answer by the document."""
    responses = document["paths"][path][method.lower()]["responses"]
    if str(got.status) not in responses:
        return [f"{method} {path}: {got.status} is not described: {got.text!r}"]
    kind = got.headers["content-type"]
    schema = responses[str(got.status)]["content"][kind]["schema"]
    whole = {**schema, "components": document["components"]}
    found = Draft202012Validator(whole).iter_errors(got.body)
    return [f"{method} {path}: {error.json_path} {error.message}" for error in found]


async def test_every_read_answers_what_is_described(desk: Desk) -> None:
    ids = await everything(desk)
    document = (await desk.get("/openapi.json")).body
    wrong: list[str] = []
    for method, path in routes(document):
        if method == "GET":
            name = path.partition("{")[2].partition("}")[0]
            asked = path.replace(f"{{{name}}}", ids.get(name, "payment_in_flight"))
            if path == "/refunds":
                asked += f"?payment={ids['payment']}"
            got = await desk.get(asked)
            assert got.status == 200 or path == "/events/{event}", (path, got.text)
            wrong += described(document, method, path, got)
    assert not wrong


@pytest.mark.parametrize(
    ("method", "path", "body", "how"),
    [
        ("POST", "/invoices", INVOICE, {}),
        ("POST", "/invoices", {**INVOICE, "amount": 0}, {}),
        ("POST", "/invoices", {"x": 1}, {}),
        ("POST", "/invoices", INVOICE, {"key": None}),
        ("POST", "/invoices", INVOICE, {"accept": "application/problem+json", "key": "sk_test_"}),
        ("POST", "/customers", {"reference": "new"}, {}),
        ("POST", "/webhook_endpoints", {"url": "https://example.com/h"}, {}),
        ("POST", "/webhook_endpoints", {"url": "http//"}, {}),
        ("POST", "/refunds", {"payment": "pay_none", "reason": "x"}, {"once": "a"}),
        ("POST", "/refunds", {"payment": "pay_none", "reason": "x"}, {}),
        ("GET", "/invoices", None, {}),
    ],
)
async def test_every_answer_is_described(
    desk: Desk, method: str, path: str, body: Any, how: dict[str, Any]
) -> None:
    document = (await desk.get("/openapi.json")).body
    assert not described(document, method, path, await desk.ask(method, path, body, **how))


async def test_the_document_is_openapi_3_1_and_names_every_reference(desk: Desk) -> None:
    document = (await desk.get("/openapi.json", key=None)).body
    assert document["openapi"].startswith("3.1")
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    named = set(references(document))
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert named <= known


def references(value: Any) -> list[str]:
    """Every `$ref` in it."""
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for each in value.values() for found in references(each)]
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    return []
