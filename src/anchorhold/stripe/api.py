"""Stripe itself as the provider: stripe-python over a transport that sends once.

Only raw requests: plain dictionaries, no SDK objects (114 ms for a page of 100). Every verb sends
what it was given and nothing else, apart from `expand`, which is the same in every request.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from urllib.parse import quote

import stripe

from anchorhold.domain.answer import (
    ChargeView,
    CustomerView,
    Deadline,
    Doubt,
    EventView,
    IntentView,
    NothingSent,
    NotSent,
    Page,
    Refused,
    Result,
    Shown,
    Slice,
    Unclear,
)
from anchorhold.domain.disputes import DisputeView
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.refund import RefundView
from anchorhold.stripe import views
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Lane, Limiter
from anchorhold.stripe.port import Params
from anchorhold.stripe.transport import CallFailedError, Clock, under

API_VERSION = "2026-10-28.endive"
"""Sent with every request; answers are read in this version's shape."""

API_BASE = "https://api.stripe.com"
PAGE_SIZE = 100
EXPAND = ["latest_charge"]
EXPAND_ROWS = ["data.latest_charge"]
INTENT_EVENTS = (
    "payment_intent.succeeded",
    "payment_intent.processing",
    "payment_intent.canceled",
    "payment_intent.requires_action",
    "payment_intent.payment_failed",
)
"""What happens to a PaymentIntent after it was made (Stripe API: Types of events)."""

Observe = Callable[[str, Result[object], float], object]
"""Told of each request that left: endpoint, how it ended, after how many seconds."""

_HEADER_VALUE = re.compile(r"[!-~]+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """One request to one endpoint; `name` fills the place of the id in the path."""

    method: str
    path: str
    deadline: Deadline
    read: views.Read[T]
    params: Params = field(default_factory=dict)
    key: str | None = None
    name: str = ""

    @property
    def endpoint(self) -> str:
        """What Stripe counts by: the verb and the path with the id left out."""
        return f"{self.method} {self.path}"

    def url(self) -> str:
        """The path with the id in it."""
        return self.path.format(quote(self.name, safe=""))


class StripeProvider:
    """One Stripe account in one mode, reached with one secret key.

    `transport`, `breaker` and `limiter` are shared by all providers of a process. `account` is
    sent as Stripe-Account: the connected account of a platform's key.
    """

    def __init__(
        self,
        secret_key: str,
        transport: stripe.HTTPClient,
        *,
        breaker: Breaker,
        limiter: Limiter,
        account: str | None = None,
        base: str = API_BASE,
        clock: Clock = time.monotonic,
        observe: Observe = lambda *_: None,
    ) -> None:
        self._observe = observe
        self._usable = bool(_HEADER_VALUE.fullmatch(secret_key))
        self._client = stripe.StripeClient(
            secret_key,
            http_client=transport,
            base_addresses={"api": base.rstrip("/")},
            stripe_version=API_VERSION,
            stripe_account=account,
            max_network_retries=0,
        )
        self._breaker = breaker
        self._limiter = limiter
        self._scope = f"{account or ''}:{hashlib.sha256(secret_key.encode()).hexdigest()}"
        self._clock = clock

    def deadline(self, seconds: float) -> Deadline:
        """The instant this many seconds from now on the clock that the verbs look at."""
        return Deadline(self._clock() + seconds)

    async def create_customer(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[CustomerView]:
        """POST /v1/customers under an idempotency key."""
        return await self._write(
            _Call("post", "/v1/customers", deadline, views.customer, params, key)
        )

    async def retrieve_customer(self, customer: str, deadline: Deadline) -> Result[CustomerView]:
        """GET /v1/customers/{id}; a deleted one is shown as deleted."""
        return await self._read(
            _Call("get", "/v1/customers/{}", deadline, views.customer, name=customer)
        )

    async def attach_payment_method(
        self, payment_method: str, customer: str, key: str, deadline: Deadline
    ) -> Result[str]:
        """POST /v1/payment_methods/{id}/attach; the id of the attached payment method."""
        path, read = "/v1/payment_methods/{}/attach", views.own_id("payment_method")
        params = {"customer": customer}
        return await self._write(
            _Call("post", path, deadline, read, params, key, name=payment_method)
        )

    async def create_intent(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[IntentView]:
        """POST /v1/payment_intents under an idempotency key."""
        sent = {**params, "expand": EXPAND}
        return await self._write(
            _Call("post", "/v1/payment_intents", deadline, views.intent, sent, key)
        )

    async def confirm_intent(
        self, intent: str, params: Params, key: str, deadline: Deadline
    ) -> Result[IntentView]:
        """POST /v1/payment_intents/{id}/confirm. Never sent while the breaker is open."""
        path, read = "/v1/payment_intents/{}/confirm", views.intent_named(intent)
        sent = {**params, "expand": EXPAND}
        return await self._write(_Call("post", path, deadline, read, sent, key, name=intent))

    async def cancel_intent(self, intent: str, deadline: Deadline) -> Result[IntentView]:
        """POST /v1/payment_intents/{id}/cancel under a key of its own that is never used again."""
        path, read = "/v1/payment_intents/{}/cancel", views.intent_named(intent)
        return await self._write(
            _Call("post", path, deadline, read, {"expand": EXPAND}, name=intent)
        )

    async def retrieve_intent(self, intent: str, deadline: Deadline) -> Result[IntentView]:
        """GET /v1/payment_intents/{id} with `latest_charge` expanded; not through the breaker."""
        path, read = "/v1/payment_intents/{}", views.intent_named(intent)
        return await self._read(_Call("get", path, deadline, read, {"expand": EXPAND}, name=intent))

    async def retrieve_secret(self, intent: str, deadline: Deadline) -> Result[str]:
        """GET /v1/payment_intents/{id}: its client secret, which is kept and logged nowhere."""
        path, read = "/v1/payment_intents/{}", views.secret_of(intent)
        return await self._read(_Call("get", path, deadline, read, name=intent))

    async def list_intents(
        self, customer: str, created_gte: int | None, deadline: Deadline
    ) -> Result[Page[IntentView]]:
        """Every page of GET /v1/payment_intents of a customer; not through the breaker."""
        since = {} if created_gte is None else {"created": {"gte": created_gte}}
        params = {"customer": customer, **since, "expand": EXPAND_ROWS}
        return await self._list("/v1/payment_intents", params, deadline, views.intent)

    async def list_charges(self, intent: str, deadline: Deadline) -> Result[Page[ChargeView]]:
        """Every page of GET /v1/charges of one intent; not through the breaker."""
        params = {"payment_intent": intent}
        return await self._list("/v1/charges", params, deadline, views.charge_view)

    async def list_events(
        self, types: tuple[str, ...], created_gte: int, deadline: Deadline
    ) -> Result[Page[EventView]]:
        """Every page of GET /v1/events of these types since then; not through the breaker."""
        params = {"types": list(types), "created": {"gte": created_gte}}
        return await self._list("/v1/events", params, deadline, views.event)

    async def page_of_intents(
        self, created_gte: int, after: str | None, deadline: Deadline
    ) -> Result[Slice[IntentView]]:
        """One page of GET /v1/payment_intents of all customers; not through the breaker."""
        params = {"created": {"gte": created_gte}, "expand": EXPAND_ROWS}
        return await self._page("/v1/payment_intents", params, after, deadline, views.intent)

    async def page_of_changes(
        self, created_gte: int, after: str | None, deadline: Deadline
    ) -> Result[Slice[IntentView]]:
        """One page of GET /v1/events about PaymentIntents; not through the breaker."""
        params = {"types": list(INTENT_EVENTS), "created": {"gte": created_gte}}
        return await self._page("/v1/events", params, after, deadline, views.changed_intent)

    async def list_news(
        self, types: tuple[str, ...], created_gte: int, created_lt: int, deadline: Deadline
    ) -> Result[Page[StripeEvent]]:
        """Every page of GET /v1/events of these types in that time; not through the breaker."""
        params = {"types": list(types), "created": {"gte": created_gte, "lt": created_lt}}
        return await self._list("/v1/events", params, deadline, views.news)

    async def create_refund(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[RefundView]:
        """POST /v1/refunds under an idempotency key. Never sent while the breaker is open."""
        return await self._write(_Call("post", "/v1/refunds", deadline, views.refund, params, key))

    async def list_refunds(self, intent: str, deadline: Deadline) -> Result[Page[RefundView]]:
        """Every page of GET /v1/refunds of one intent; not through the breaker."""
        return await self._list("/v1/refunds", {"payment_intent": intent}, deadline, views.refund)

    async def retrieve_dispute(self, dispute: str, deadline: Deadline) -> Result[DisputeView]:
        """GET /v1/disputes/{id}; not through the breaker."""
        return await self._read(
            _Call("get", "/v1/disputes/{}", deadline, views.dispute, name=dispute)
        )

    async def retrieve_account(self, deadline: Deadline) -> Result[str]:
        """GET /v1/account: the id of the account that the key belongs to."""
        return await self._read(_Call("get", "/v1/account", deadline, views.own_id("account")))

    async def _list(
        self, path: str, filters: Params, deadline: Deadline, read: views.Read[T]
    ) -> Result[Page[T]]:
        """All pages under one deadline, every filter on each; a page that fails fails the list."""
        rows: list[T] = []
        seen: set[str] = set()
        call = _Call("get", path, deadline, views.page(read), {**filters, "limit": PAGE_SIZE})
        while True:
            answer = await self._read(call)
            if not isinstance(answer, Shown):
                return answer
            found, last = answer.value
            rows.extend(found)
            if last is None:
                return Shown(Page(tuple(rows)), answer.request_id)
            if last in seen:
                return Unclear(Doubt.UNREADABLE_ANSWER, f"the list comes round again at {last}")
            seen.add(last)
            call = replace(call, params={**call.params, "starting_after": last})

    async def _page(
        self,
        path: str,
        filters: Params,
        after: str | None,
        deadline: Deadline,
        read: views.Read[T],
    ) -> Result[Slice[T]]:
        """The page behind `after`, or the first."""
        start = {} if after is None else {"starting_after": after}
        params = {**filters, "limit": PAGE_SIZE, **start}
        answer = await self._read(_Call("get", path, deadline, views.page(read), params))
        if not isinstance(answer, Shown):
            return answer
        rows, last = answer.value
        return Shown(Slice(rows, last), answer.request_id)

    async def _write(self, call: _Call[T]) -> Result[T]:
        """One POST, if the breaker lets it through."""
        if refusal := await self._wait(call):
            return refusal
        permit = self._breaker.admit()
        if permit is None:
            return NothingSent(NotSent.BREAKER_OPEN, "Stripe could not be reached lately")
        try:
            result = await self._send(call)
        except BaseException:
            self._breaker.forget(permit)
            raise
        self._breaker.record(permit, result)
        return result

    async def _read(self, call: _Call[T]) -> Result[T]:
        """One GET."""
        return await self._wait(call) or await self._send(call)

    async def _wait(self, call: _Call[T]) -> NothingSent | None:
        """None when the key can be sent and it is this call's turn."""
        if not self._usable:
            return NothingSent(NotSent.CREDENTIALS_UNREADABLE, "the secret key is not readable")
        if not await self._lane(call).enter(call.deadline):
            return NothingSent(NotSent.DEADLINE_PASSED, "while it waited for the rate limit")
        return None

    def _lane(self, call: _Call[T]) -> Lane:
        return self._limiter.lane(self._scope, call.endpoint)

    async def _send(self, call: _Call[T]) -> Result[T]:
        """One request; how it ended is also told to the limiter and to who counts."""
        began = self._clock()
        result = await self._exchange(call)
        self._observe(call.endpoint, result, self._clock() - began)
        return result

    async def _exchange(self, call: _Call[T]) -> Result[T]:
        options = {} if call.key is None else {"idempotency_key": call.key}
        try:
            with under(call.deadline):
                answer = await self._client.raw_request_async(
                    call.method, call.url(), **_in_order(call.params), **options
                )
        except CallFailedError as failure:
            return failure.result
        except stripe.StripeError as error:
            result = _refused(error, call.key)
        else:
            result = views.shown(answer.data, answer.headers, call.key, call.read)
        self._lane(call).record(result)
        return result


def _refused(error: stripe.StripeError, key: str | None) -> Refused | Unclear:
    """What the SDK raised, from the body and not from its class: 409 and 424 have none."""
    if error.http_status is None:
        return Unclear(Doubt.CONNECTION_LOST, f"{type(error).__name__}: {error}")
    headers: object = error.headers or error.json_body  # the SDK misplaces them when unreadable
    known: Mapping[str, str] = headers if isinstance(headers, Mapping) else {}
    return views.refused(error.http_status, error.http_body, known, key)


def _in_order(params: Params) -> dict[str, object]:
    """The same parameters in one order: a store that sorts keys must not change the bytes."""
    return {name: _plain(params[name]) for name in sorted(params)}


def _plain(value: object) -> object:
    return _in_order(value) if isinstance(value, Mapping) else value
