"""Stripe's JSON into views: pure, and total.

`shown` and `refused` never raise: a shape that cannot be read is an answer that nobody can act
on, so it is `Unclear(UNREADABLE_ANSWER)`. Newest charge only: lists of charges left the
PaymentIntent in version 2022-11-15.
"""

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from anchorhold.domain.answer import (
    ChargeView,
    CustomerView,
    Decline,
    Doubt,
    EventView,
    IntentStatus,
    IntentView,
    Refused,
    Shown,
    Unclear,
)
from anchorhold.domain.disputes import DisputeView
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.refund import RefundState, RefundView

T = TypeVar("T")
Read = Callable[[object], T]
"""Reads one object; raises `UnreadableError`."""

Object = Mapping[str, object]
Headers = Mapping[str, str]


class UnreadableError(ValueError):
    """The object has not the shape that Stripe documents; says which field."""


def shown(data: object, headers: Headers, key: str | None, read: Read[T]) -> Shown[T] | Unclear:
    """A 2xx answer: the object it shows, if it is readable and answers this request."""
    try:
        _expect_key(headers, key)
        value = read(data)
    except UnreadableError as fault:
        return Unclear(Doubt.UNREADABLE_ANSWER, str(fault))
    return Shown(value, headers.get("Request-Id"), _replayed(headers))


def refused(status: int, body: str | None, headers: Headers, key: str | None) -> Refused | Unclear:
    """Any other answer, all from the JSON body (Stripe API: Errors).

    A status below 500 without Stripe's error object did not come from Stripe's API: it refuses
    nothing, and nobody can tell. A 5xx is indeterminate with or without a body.
    """
    try:
        _expect_key(headers, key)
        error = _error_of(body)
    except UnreadableError as fault:
        if status < 500:
            return Unclear(Doubt.UNREADABLE_ANSWER, f"HTTP {status}: {fault}")
        error = {"message": f"HTTP {status}: {fault}"}
    if status < 400:
        return Unclear(Doubt.UNREADABLE_ANSWER, f"HTTP {status} is no answer of this API")
    return _refusal(status, error, headers)


def _refusal(status: int, error: Object, headers: Headers) -> Refused:
    return Refused(
        status=status,
        type=_known(error, "type"),
        code=_known(error, "code"),
        param=_known(error, "param"),
        message=_known(error, "message") or "",
        decline=_decline(error) if error.get("type") == "card_error" else None,
        charge_id=_maybe(reference, error.get("charge")),
        intent=_maybe(intent, error.get("payment_intent")),
        request_id=headers.get("Request-Id"),
        replayed=_replayed(headers),
        retry_after=_seconds(headers.get("Retry-After")),
    )


def _expect_key(headers: Headers, key: str | None) -> None:
    """Stripe echoes the idempotency key; another one means another request's answer."""
    echoed = headers.get("Idempotency-Key")
    if key is not None and echoed is not None and echoed != key:
        raise UnreadableError("the answer carries the idempotency key of another request")


def _error_of(body: str | None) -> Object:
    try:
        parsed: object = json.loads(body or "")
    except (ValueError, RecursionError):
        raise UnreadableError("the body is not JSON") from None
    error = parsed.get("error") if isinstance(parsed, Mapping) else None
    if not isinstance(error, Mapping):
        raise UnreadableError("the body has no error object")
    return error


def _replayed(headers: Headers) -> bool:
    return headers.get("Idempotent-Replayed", "").lower() == "true"


def _seconds(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdigit() else None


def intent(data: object) -> IntentView:
    """A PaymentIntent; `latest_charge` only where it was expanded."""
    pi = _object(data, "payment_intent")
    charge = pi.get("latest_charge")
    return IntentView(
        id=_text(pi, "id"),
        status=_status(pi),
        amount=_int(pi, "amount"),
        amount_received=_int(pi, "amount_received"),
        currency=_text(pi, "currency"),
        customer=reference(pi.get("customer")),
        payment_method=reference(pi.get("payment_method")),
        created=_int(pi, "created"),
        metadata=_metadata(pi),
        latest_charge=charge_view(charge) if isinstance(charge, Mapping) else None,
        last_error=_maybe(_decline, pi.get("last_payment_error")),
        latest_charge_id=reference(charge),
    )


def intent_named(name: str) -> Read[IntentView]:
    """Reads the PaymentIntent of this id, and no other."""

    def read(data: object) -> IntentView:
        view = intent(data)
        if view.id != name:
            raise UnreadableError(f"asked for {name}, shown {view.id}")
        return view

    return read


def secret_of(name: str) -> Read[str]:
    """Reads the client secret of the PaymentIntent of this id."""

    def read(data: object) -> str:
        intent_named(name)(data)
        return _text(_object(data, "payment_intent"), "client_secret")

    return read


def charge_view(data: object) -> ChargeView:
    """A charge, with its failure when it failed."""
    charge = _object(data, "charge")
    return ChargeView(
        id=_text(charge, "id"),
        status=_text(charge, "status"),
        amount=_int(charge, "amount"),
        amount_refunded=_int(charge, "amount_refunded"),
        currency=_text(charge, "currency"),
        payment_method=reference(charge.get("payment_method")),
        created=_int(charge, "created"),
        failure=_failure(charge),
    )


def customer(data: object) -> CustomerView:
    """A customer; a deleted one is an object with `deleted: true` and little else."""
    found = _object(data, "customer")
    clock = reference(found.get("test_clock"))
    return CustomerView(_text(found, "id"), found.get("deleted") is True, clock is not None)


def event(data: object) -> EventView:
    """An event; one that no request caused carries no key."""
    found = _object(data, "event")
    inner = found.get("data")
    about = inner.get("object") if isinstance(inner, Mapping) else None
    request = found.get("request")
    return EventView(
        id=_text(found, "id"),
        type=_text(found, "type"),
        created=_int(found, "created"),
        object_id=(_known(about, "id") or "") if isinstance(about, Mapping) else "",
        idempotency_key=(
            _known(request, "idempotency_key") if isinstance(request, Mapping) else None
        ),
        decline=(
            _maybe(_decline, about.get("last_payment_error"))
            if isinstance(about, Mapping)
            else None
        ),
    )


def changed_intent(data: object) -> IntentView:
    """The PaymentIntent that an event is about, as it was then; its charge is only named."""
    inner = _object(_object(data, "event").get("data"), None)
    return intent(inner.get("object"))


def news(data: object) -> StripeEvent:
    """An event with the safe fields of its object, as `store/events.py` keeps it."""
    found = _object(data, "event")
    inner = found.get("data")
    held = inner.get("object") if isinstance(inner, Mapping) else None
    about: Object = held if isinstance(held, Mapping) else {}
    request = found.get("request")
    key = _known(request, "idempotency_key") if isinstance(request, Mapping) else None
    is_intent = about.get("object") == "payment_intent"
    named = about.get("id") if is_intent else about.get("payment_intent")
    return StripeEvent(
        id=_text(found, "id"),
        type=_text(found, "type"),
        created=_int(found, "created"),
        object_id=_known(about, "id") or "",
        intent_id=_maybe(reference, named),
        idempotency_key=key,
        metadata=_maybe(_metadata_of, about) or {},
        summary=_summary(about) | _of_customer(about, inner),
    )


_NUMBERS = ("amount", "amount_received", "amount_refunded")
_WORDS = ("object", "status", "currency", "reason", "failure_reason", "cancellation_reason")


def _summary(about: Object) -> dict[str, object]:
    """Statuses, amounts, ids and decline codes: nothing about a card or a person."""
    charge = about.get("latest_charge") or about.get("charge")
    decline = _maybe(_decline, about.get("last_payment_error"))
    facts: dict[str, object] = {name: _known(about, name) for name in _WORDS}
    facts |= {name: about[name] for name in _NUMBERS if type(about.get(name)) is int}
    facts["charge"] = _maybe(reference, charge)
    if decline is not None:
        facts["decline"] = {
            "code": decline.code,
            "decline_code": decline.decline_code,
            "advice_code": decline.advice_code,
            "message": decline.message,
        }
    return {name: value for name, value in facts.items() if value is not None}


def _of_customer(about: Object, inner: object) -> dict[str, object]:
    """Whose card it is, or which customer, and the names of what changed: no value of it."""
    kind = about.get("object")
    if kind not in {"customer", "payment_method"}:
        return {}
    whose = about.get("id") if kind == "customer" else about.get("customer")
    before = inner.get("previous_attributes") if isinstance(inner, Mapping) else None
    changed = sorted(str(name) for name in before) if isinstance(before, Mapping) else []
    return {"customer": _maybe(reference, whose), "changed": changed[:20]}


def _metadata_of(data: object) -> Mapping[str, str]:
    return _metadata(_object(data, None))


def refund(data: object) -> RefundView:
    """A refund, with the metadata that say which request of ours made it."""
    found = _object(data, "refund")
    return RefundView(
        id=_text(found, "id"),
        status=_refund_state(found),
        amount=_int(found, "amount"),
        currency=_text(found, "currency"),
        reason=_known(found, "failure_reason") or _known(found, "reason") or "",
        metadata=_metadata(found),
    )


def _refund_state(found: Object) -> RefundState:
    try:
        return RefundState(_text(found, "status"))
    except ValueError:
        raise UnreadableError(f"unknown status {found.get('status')}") from None


def dispute(data: object) -> DisputeView:
    """A dispute: which payment, and how far it came."""
    found = _object(data, "dispute")
    return DisputeView(
        id=_text(found, "id"),
        status=_text(found, "status"),
        amount=_int(found, "amount"),
        currency=_text(found, "currency"),
        reason=_known(found, "reason") or "",
        intent_id=reference(found.get("payment_intent")),
    )


def own_id(kind: str) -> Read[str]:
    """Reads the id of an object of this kind."""
    return lambda data: _text(_object(data, kind), "id")


def page(read: Read[T]) -> Read[tuple[tuple[T, ...], str | None]]:
    """Reads one page: its rows, and the id after which the next page starts, if there is one."""

    def read_page(data: object) -> tuple[tuple[T, ...], str | None]:
        found = _object(data, "list")
        rows, more = found.get("data"), found.get("has_more")
        if not isinstance(rows, list) or not isinstance(more, bool):
            raise UnreadableError("the list has no data or no has_more")
        if more and not rows:
            raise UnreadableError("the list is empty and says that it has more")
        views = tuple(read(row) for row in rows)
        return views, _text(_object(rows[-1], None), "id") if more else None

    return read_page


def reference(value: object) -> str | None:
    """The id of an object, expanded or not; None where there is none."""
    if isinstance(value, Mapping):
        return _text(value, "id")
    if value is None or isinstance(value, str):
        return value or None
    raise UnreadableError("an object is neither an id nor expanded")


def _failure(charge: Object) -> Decline | None:
    code = _known(charge, "failure_code")
    if code is None:
        return None
    found = charge.get("outcome")
    outcome: Object = found if isinstance(found, Mapping) else {}
    by_issuer = outcome.get("type") == "issuer_declined"
    return Decline(
        code,
        _known(outcome, "reason") if by_issuer else None,
        _known(outcome, "advice_code"),
        _known(charge, "failure_message") or "",
    )


def _decline(data: object) -> Decline:
    error = _object(data, None)
    return Decline(
        _known(error, "code") or _known(error, "type") or "card_error",
        _known(error, "decline_code"),
        _known(error, "advice_code"),
        _known(error, "message") or "",
    )


def _object(data: object, kind: str | None) -> Object:
    if not isinstance(data, Mapping):
        raise UnreadableError(f"not an object of kind {kind}")
    if kind is not None and data.get("object") != kind:
        raise UnreadableError(f"not a {kind}")
    return data


def _status(pi: Object) -> IntentStatus:
    try:
        return IntentStatus(_text(pi, "status"))
    except ValueError:
        raise UnreadableError(f"unknown status {pi.get('status')}") from None


def _metadata(pi: Object) -> Mapping[str, str]:
    found = pi.get("metadata")
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(v, str) for v in found.values()):
        raise UnreadableError("metadata are not text")
    return {str(key): str(value) for key, value in found.items()}


def _text(data: Object, field: str) -> str:
    value = data.get(field)
    if not isinstance(value, str) or not value:
        raise UnreadableError(f"no text in {field}")
    return value


def _int(data: Object, field: str) -> int:
    value = data.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableError(f"no whole number in {field}")
    return value


def _known(data: Object, field: str) -> str | None:
    value = data.get(field)
    return value if isinstance(value, str) else None


def _maybe(read: Read[T], data: object) -> T | None:
    """What stands beside the answer: None where there is none or where it cannot be read."""
    try:
        return None if data is None else read(data)
    except UnreadableError:
        return None
