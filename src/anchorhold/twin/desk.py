"""The front desk: who asks, whether the key was seen before, then the endpoint, once.

The order is Stripe's: key, endpoint, permission, idempotency, parameters, locks, execution.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from anchorhold.twin.clock import Seconds
from anchorhold.twin.errors import StripeError, lock_timeout, server_error, unrecognized_url
from anchorhold.twin.expansion import expand
from anchorhold.twin.form import pairs, tree
from anchorhold.twin.idempotency import Saved, form_of
from anchorhold.twin.journal import Entry
from anchorhold.twin.keyring import ApiKey, Keyring, may_use, version_of
from anchorhold.twin.routes import Match, match
from anchorhold.twin.shapes import in_version
from anchorhold.twin.state import Account, Call
from anchorhold.twin.wire import Obj, Request, Response, encode


class Overrule(Enum):
    """An execution that ends in 500 whatever the endpoint says."""

    BEFORE = "before"
    """It failed before it did anything."""
    AFTER = "after"
    """It failed after it had done everything."""


NewCall = Callable[[Account, Entry], Call]

_PUBLIC = frozenset(
    {
        "id", "object", "allowed_payment_method_types", "amount", "amount_details",
        "automatic_payment_methods", "canceled_at",
        "cancellation_reason", "capture_method", "client_secret", "confirmation_method", "created",
        "currency", "description", "excluded_payment_method_types", "last_payment_error",
        "livemode", "next_action", "payment_method", "payment_method_configuration_details",
        "payment_method_types", "processing", "receipt_email", "setup_future_usage", "shipping",
        "status",
    }
)  # fmt: skip
"""What a browser sees of an intent: no metadata, no customer, no charge."""


@dataclass(frozen=True, slots=True)
class _Result:
    status: int
    body: bytes
    retry: bool | None
    code: str | None


class Desk:
    """Answers requests; the same for every account of a twin."""

    def __init__(self, keyring: Keyring, new_call: NewCall, now: Seconds) -> None:
        self._keyring = keyring
        self._new_call = new_call
        self._now = now

    def answer(self, request: Request, entry: Entry, overrule: Overrule | None = None) -> Response:
        """The answer, and everything that Stripe does for it."""
        try:
            key = self._keyring.admit(request)
            entry.account = key.account.id
            found = match(request.method, request.path)
            if found is None:
                raise unrecognized_url(request.method, request.path)
            endpoint = found.endpoint
            may_use(key, endpoint.method, endpoint.template, browser=endpoint.browser)
            entry.version = version_of(request, key.account)
            return self._once(request, entry, key, found, overrule)
        except StripeError as refusal:
            return _response(request, entry, _refused(refusal, entry))

    def _once(
        self,
        request: Request,
        entry: Entry,
        key: ApiKey,
        found: Match,
        overrule: Overrule | None,
    ) -> Response:
        name = entry.idempotency_key
        keys = key.account.keys
        if name is not None:
            saved = keys.find(name, request, self._now())
            if saved is not None:
                return _replay(request, entry, saved)
        params = found.endpoint.read(tree(pairs(form_of(request))), entry.version)
        if found.endpoint.locks and key.account.locked.get(found.ids[0]):
            raise lock_timeout()
        call = self._new_call(key.account, entry)
        call.params, call.path, call.publishable = params, found.ids, key.publishable
        call.version = entry.version
        if name is not None:
            keys.begin(name, request, entry.request_id, self._now())
        result = _run(call, entry, found, overrule)
        if name is not None:
            keys.keep(name, result.status, result.body, retry=result.retry)
        return _response(request, entry, result)

    def admits(self, request: Request) -> bool:
        """Whether the request carries a key that counts now."""
        try:
            self._keyring.admit(request)
        except StripeError:
            return False
        return True

    def reserve(self, request: Request, entry: Entry) -> Callable[[], None]:
        """Hold the key and the object of a request that runs later; call the result to let go."""
        try:
            account = self._keyring.admit(request).account
        except StripeError:
            return lambda: None
        entry.account = account.id
        found = match(request.method, request.path)
        name, keys = entry.idempotency_key, account.keys
        held = self._held_key(account, request, entry) if name is not None else None
        lock = found.ids[0] if found is not None and found.endpoint.locks else None
        if lock is not None:
            account.locked[lock] = account.locked.get(lock, 0) + 1

        def release() -> None:
            if held is not None:
                keys.forget(held)
            if lock is not None:
                account.locked[lock] -= 1

        return release

    def _held_key(self, account: Account, request: Request, entry: Entry) -> str | None:
        name, now = entry.idempotency_key or "", self._now()
        try:
            if account.keys.find(name, request, now) is not None:
                return None
        except StripeError:
            return None
        account.keys.begin(name, request, entry.request_id, now)
        return name

    def carry_out(self, request: Request, entry: Entry) -> None:
        """Execute without an answer and without a key: what a reconciliation does."""
        try:
            key = self._keyring.admit(request)
            found = match(request.method, request.path)
            if found is None:
                return
            entry.version = version_of(request, key.account)
            params = found.endpoint.read(tree(pairs(form_of(request))), entry.version)
        except StripeError:
            return
        call = self._new_call(key.account, entry)
        call.params, call.path, call.version = params, found.ids, entry.version
        _run(call, entry, found, None)


def _run(call: Call, entry: Entry, found: Match, overrule: Overrule | None) -> _Result:
    entry.executed, entry.executed_at = True, float(call.now)
    if overrule is Overrule.BEFORE:
        entry.executed = False
        return _refused(server_error(), entry)
    try:
        obj = found.endpoint.run(call)
        body = encode(_shown(call, obj))
    except StripeError as refusal:
        if overrule is None:
            refusal.error = in_version(refusal.error, call.version, call.account.tables)
            return _refused(refusal, entry)
    else:
        if overrule is None:
            return _Result(200, body, None, None)
    return _refused(server_error(), entry)


def _shown(call: Call, obj: Obj) -> Obj:
    if call.publishable and obj["object"] == "payment_intent":
        obj = {name: value for name, value in obj.items() if name in _PUBLIC}
    else:
        obj = expand(obj, call.params.get("expand") or [], call.account.tables)
        obj = in_version(obj, call.version, call.account.tables)
    return obj


def _refused(refusal: StripeError, entry: Entry) -> _Result:
    error = {
        **refusal.error,
        "request_log_url": f"https://dashboard.stripe.com/test/logs/{entry.request_id}",
    }
    code = refusal.error.get("code")
    return _Result(refusal.status, encode({"error": error}), refusal.retry, code)


def _replay(request: Request, entry: Entry, saved: Saved) -> Response:
    entry.replayed = True
    result = _Result(saved.status or 500, saved.body, saved.retry, None)
    again = _response(request, entry, result)
    headers = {
        **again.headers,
        "Idempotent-Replayed": "true",
        "Original-Request": saved.request_id,
    }
    return Response(again.status, headers, again.body)


def _response(request: Request, entry: Entry, result: _Result) -> Response:
    entry.status, entry.error_code = result.status, result.code
    headers = {
        "Content-Type": "application/json",
        "Request-Id": entry.request_id,
        "Stripe-Version": entry.version,
    }
    if entry.idempotency_key is not None:
        headers["Idempotency-Key"] = entry.idempotency_key
        headers["Original-Request"] = entry.request_id
    if result.retry is not None:
        headers["Stripe-Should-Retry"] = "true" if result.retry else "false"
    return Response(result.status, headers, result.body)
