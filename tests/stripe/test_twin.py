"""The provider against a stateful Stripe, in memory and over HTTP: the same answers from both."""

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import unquote

import pytest
import pytest_asyncio
import stripe
from typing_extensions import override

from anchorhold.domain.answer import (
    CustomerView,
    Deadline,
    Doubt,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
)
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport
from anchorhold.twin import (
    ACCOUNT,
    SECRET_KEY,
    Broken,
    FaultKind,
    KeyState,
    Request,
    Response,
    Rule,
    Twin,
)
from anchorhold.twin.server import serve
from tests.openapi import validate_request
from tests.twin_transport import TwinTransport

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
AMPLE = 1_000_000


class JudgedTwin(Twin):
    """A twin that only takes what Stripe's OpenAPI document allows."""

    @override
    def send(self, request: Request) -> Response | Broken:
        """The answer; AssertionError when Stripe has no such parameters."""
        form = unquote(request.query) if request.method == "GET" else request.body
        validate_request(request.method, request.path, form)
        return super().send(request)


class Setting:
    """A twin with one customer who has a card, and a provider that reaches it."""

    def __init__(self, twin: Twin, transport: stripe.HTTPClient, base: str) -> None:
        self.twin = twin
        self.transport = transport
        self.base = base
        self.provider = self.with_key(SECRET_KEY)
        self.customer = ""

    def with_key(self, key: str) -> StripeProvider:
        """A provider with a breaker and a limiter of its own."""
        limiter = Limiter(per_endpoint=AMPLE, per_account=AMPLE)
        return StripeProvider(
            key, self.transport, breaker=Breaker(), limiter=limiter, base=self.base
        )

    @property
    def soon(self) -> Deadline:
        """Time enough."""
        return self.provider.deadline(20)

    async def begin(self) -> None:
        """The customer exists."""
        made = await self.provider.create_customer({"name": "Ada"}, "customer_1", self.soon)
        self.customer = value(made).id

    async def card(self, literal: str) -> str:
        """A card of the customer's."""
        attached = await self.provider.attach_payment_method(
            literal, self.customer, f"attach_{literal}", self.soon
        )
        return value(attached)

    async def intent(self, number: int = 1) -> str:
        """An unconfirmed intent of 12.00 EUR."""
        params = {
            "amount": 1200,
            "currency": "eur",
            "customer": self.customer,
            "allowed_payment_method_types": ["card"],
            "metadata": {"anchorhold_invoice_id": "inv_1"},
        }
        made = await self.provider.create_intent(params, f"intent_{number}", self.soon)
        return value(made).id

    async def confirm(
        self, intent: str, card: str, key: str = "charge_1", deadline: Deadline | None = None
    ) -> Result[IntentView]:
        """An off-session confirm."""
        params = {"payment_method": card, "off_session": True}
        return await self.provider.confirm_intent(intent, params, key, deadline or self.soon)

    def confirms(self) -> int:
        """How many confirms reached the twin."""
        return sum(entry.path.endswith("/confirm") for entry in self.twin.requests)


def value(result: Result[Any]) -> Any:
    """What was shown; it must have been."""
    assert isinstance(result, Shown), result
    return result.value


@pytest_asyncio.fixture(params=["in memory", "over HTTP"])
async def setting(request: pytest.FixtureRequest) -> AsyncGenerator[Setting]:
    """Both ways to the same twin."""
    twin = JudgedTwin(seed=1)
    if request.param == "in memory":
        here = Setting(twin, TwinTransport(twin), "http://twin.invalid")
        await here.begin()
        yield here
        return
    server, transport = await serve(twin), Transport()
    here = Setting(twin, transport, server.url)
    await here.begin()
    yield here
    await transport.close_async()
    await server.stop()


async def test_a_charge_from_customer_to_success(setting: Setting) -> None:
    card = await setting.card("pm_card_visa")
    intent = await setting.intent()
    answer = await setting.confirm(intent, card)
    view = value(answer)
    assert (view.status, view.amount_received, view.paid) == (IntentStatus.SUCCEEDED, 1200, True)
    assert view.latest_charge.payment_method == card
    assert value(await setting.provider.retrieve_intent(intent, setting.soon)) == view
    listed = value(await setting.provider.list_intents(setting.customer, 0, setting.soon))
    assert listed.rows == (view,)
    charges = value(await setting.provider.list_charges(intent, setting.soon))
    assert charges.rows == (view.latest_charge,)
    assert value(await setting.provider.retrieve_account(setting.soon)) == ACCOUNT


async def test_a_confirm_that_is_repeated_is_replayed_and_charges_once(setting: Setting) -> None:
    card = await setting.card("pm_card_visa")
    intent = await setting.intent()
    first = await setting.confirm(intent, card)
    again = await setting.confirm(intent, card)
    assert isinstance(first, Shown)
    assert isinstance(again, Shown)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.value == again.value


async def test_an_event_tells_which_attempt_was_declined(setting: Setting) -> None:
    card = await setting.card("pm_card_chargeCustomerFail")
    intent = await setting.intent()
    answer = await setting.confirm(intent, card)
    assert isinstance(answer, Refused)
    assert answer.decline is not None
    assert answer.intent is not None
    assert (answer.status, answer.code, answer.intent.id) == (402, "card_declined", intent)
    events = await setting.provider.list_events(("payment_intent.payment_failed",), 0, setting.soon)
    [event] = value(events).rows
    assert (event.object_id, event.idempotency_key) == (intent, "charge_1")
    [charge] = value(await setting.provider.list_charges(intent, setting.soon)).rows
    assert (charge.id, charge.failure.code) == (answer.charge_id, "card_declined")


async def test_a_bank_that_wants_the_customer_says_so(setting: Setting) -> None:
    card = await setting.card("pm_card_authenticationRequired")
    answer = await setting.confirm(await setting.intent(), card)
    assert isinstance(answer, Refused)
    assert (answer.status, answer.code) == (402, "authentication_required")


async def test_a_cancelled_intent_and_a_paid_one_tell_their_true_state(setting: Setting) -> None:
    card = await setting.card("pm_card_visa")
    canceled, paid = await setting.intent(1), await setting.intent(2)
    gone = await setting.provider.cancel_intent(canceled, setting.soon)
    assert value(gone).status is IntentStatus.CANCELED
    value(await setting.confirm(paid, card))
    late = await setting.provider.cancel_intent(paid, setting.soon)
    assert isinstance(late, Refused)
    assert late.intent is not None
    assert (late.code, late.intent.status) == (
        "payment_intent_unexpected_state",
        IntentStatus.SUCCEEDED,
    )


async def test_other_parameters_under_the_same_key_are_no_decline(setting: Setting) -> None:
    visa, mastercard = await setting.card("pm_card_visa"), await setting.card("pm_card_mastercard")
    intent = await setting.intent()
    await setting.confirm(intent, visa)
    answer = await setting.confirm(intent, mastercard)
    assert isinstance(answer, Refused)
    assert (answer.status, answer.type, answer.decline) == (400, "idempotency_error", None)


async def test_a_deleted_customer_is_told_from_an_unknown_one(setting: Setting) -> None:
    known = await setting.provider.retrieve_customer(setting.customer, setting.soon)
    assert value(known) == CustomerView(setting.customer)
    unknown = await setting.provider.retrieve_customer("cus_unknown", setting.soon)
    assert isinstance(unknown, Refused)
    assert (unknown.status, unknown.code) == (404, "resource_missing")


async def test_all_250_intents_of_a_customer_are_found(setting: Setting) -> None:
    made = [await setting.intent(number) for number in range(250)]
    listed = await setting.provider.list_intents(setting.customer, 0, setting.soon)
    assert [view.id for view in value(listed).rows] == made[::-1]


async def test_a_dead_key_executes_nothing(setting: Setting) -> None:
    setting.twin.add_key("sk_test_old", state=KeyState.EXPIRED)
    old = setting.with_key("sk_test_old")
    answer = await old.confirm_intent("pi_1", {}, "charge_1", setting.soon)
    assert isinstance(answer, Refused)
    assert answer.status == 401


FAULTS: dict[FaultKind, tuple[object, bool]] = {
    FaultKind.DROPPED_BEFORE: (Doubt.CONNECTION_LOST, False),
    FaultKind.DROPPED_AFTER: (Doubt.CONNECTION_LOST, True),
    FaultKind.CUT: (Doubt.CONNECTION_LOST, True),
    FaultKind.LATE: (Doubt.DEADLINE, False),
    FaultKind.SLOW: (Doubt.DEADLINE, True),
    FaultKind.ERROR_500_WITHOUT_EFFECT: (500, False),
    FaultKind.ERROR_500_WITH_EFFECT: (500, True),
    FaultKind.RATE_LIMIT: (429, False),
    FaultKind.LOCK_TIMEOUT: (429, False),
    FaultKind.CONFLICT: (409, False),
}
"""What the client knows, and whether Stripe took the money."""


def known(result: Result[object]) -> object:
    """The status of a refusal, or the cause of there being no answer."""
    assert not isinstance(result, Shown)
    return result.status if isinstance(result, Refused) else result.cause


@pytest.mark.parametrize(("kind", "what"), FAULTS.items(), ids=[kind.value for kind in FAULTS])
async def test_each_fault_is_met_by_one_request_and_read_as_what_it_proves(
    setting: Setting, kind: FaultKind, what: tuple[object, bool]
) -> None:
    card = await setting.card("pm_card_visa")
    intent = await setting.intent()
    setting.twin.faults.replace([Rule(kind, CONFIRM, probability=1, seconds=60)])
    patience = 0.1 if what[0] is Doubt.DEADLINE else 20
    answer = await setting.confirm(intent, card, deadline=setting.provider.deadline(patience))
    setting.twin.faults.replace([])
    seen = value(await setting.provider.retrieve_intent(intent, setting.soon))
    assert (known(answer), seen.paid) == what
    assert setting.confirms() == 1


async def test_a_refused_connection_in_memory_means_that_nothing_was_sent() -> None:
    twin = Twin(seed=1, faults=[Rule(FaultKind.REFUSED, probability=1)])
    provider = Setting(twin, TwinTransport(twin), "http://twin.invalid").provider
    answer = await provider.cancel_intent("pi_1", provider.deadline(20))
    assert isinstance(answer, NothingSent)
    assert answer.cause is NotSent.CONNECT_FAILED


async def test_a_passed_deadline_in_memory_means_that_nothing_was_sent() -> None:
    twin = Twin(seed=1)
    transport = TwinTransport(twin, clock=lambda: 9_999_999.0)
    provider = Setting(twin, transport, "http://twin.invalid").provider
    answer = await provider.cancel_intent("pi_1", provider.deadline(20))
    assert isinstance(answer, NothingSent)
    assert answer.cause is NotSent.DEADLINE_PASSED
    assert twin.requests == []
