"""The provider over a real socket: what it sends, and what it makes of each answer."""

import asyncio
import json
import time
from typing import Any

import pytest

from anchorhold.domain.answer import (
    Deadline,
    Doubt,
    IntentStatus,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport
from tests.stripe.loopback import Exchange, Got, Loopback, http, never
from tests.stripe.objects import (
    Obj,
    a_charge,
    a_decline,
    a_list,
    an_error,
    an_event,
    an_intent,
)

PARAMS = {"payment_method": "pm_1", "off_session": True}
CREATE = {
    "customer": "cus_1",
    "amount": 1200,
    "currency": "eur",
    "allowed_payment_method_types": ["card"],
    "metadata": {"anchorhold_invoice_id": "inv_1", "anchorhold_account_id": "acc_1"},
}


def replying(body: object, status: int = 200, **headers: str) -> Any:
    """A server that says this to everything."""

    async def reply(exchange: Exchange) -> None:
        exchange.reply(body, status, **headers)

    return reply


async def confirm(provider: StripeProvider, deadline: Deadline) -> Result[Any]:
    """A confirm of pi_1."""
    return await provider.confirm_intent("pi_1", PARAMS, "charge_1", deadline)


async def test_a_confirm_says_which_version_which_key_and_which_account(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    server.answer = replying(an_intent())
    connected = StripeProvider(
        "sk_test_anchorhold",
        transport,
        breaker=Breaker(),
        limiter=Limiter(),
        account="acct_9",
        base=f"{server.base}/",
    )
    assert isinstance(await confirm(connected, soon), Shown)
    [got] = server.requests
    assert (got.method, got.target) == ("POST", "/v1/payment_intents/pi_1/confirm")
    sent = {name: got.headers[name] for name in SENT_HEADERS}
    assert sent == SENT_HEADERS
    assert "x-stripe-client-telemetry" not in got.headers


SENT_HEADERS = {
    "authorization": "Bearer sk_test_anchorhold",
    "idempotency-key": "charge_1",
    "stripe-account": "acct_9",
    "stripe-version": "2026-10-28.endive",
    "content-type": "application/x-www-form-urlencoded",
}


async def test_a_create_sends_what_it_was_given_and_the_expansion(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(an_intent())
    await provider.create_intent(CREATE, "intent_1", soon)
    assert server.requests[0].params() == {
        "allowed_payment_method_types[0]": "card",
        "amount": "1200",
        "currency": "eur",
        "customer": "cus_1",
        "expand[0]": "latest_charge",
        "metadata[anchorhold_account_id]": "acc_1",
        "metadata[anchorhold_invoice_id]": "inv_1",
    }


async def test_a_repeat_is_byte_same_even_if_the_store_sorted_the_names_otherwise(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(an_intent())
    sorted_by_length = dict(sorted(CREATE.items(), key=lambda item: len(item[0])))
    await provider.create_intent(CREATE, "intent_1", soon)
    await provider.create_intent(sorted_by_length, "intent_1", soon)
    first, second = server.requests
    assert list(CREATE) != list(sorted_by_length)
    assert first.body == second.body
    assert first.headers == second.headers


async def test_each_verb_asks_its_own_endpoint(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    await provider.create_customer({"email": "a@example.com"}, "customer_1", soon)
    await provider.retrieve_customer("cus_1", soon)
    await provider.attach_payment_method("pm_1", "cus_1", "attach_1", soon)
    await provider.cancel_intent("pi_1", soon)
    await provider.retrieve_intent("pi_1", soon)
    await provider.retrieve_account(soon)
    assert [(got.method, got.path) for got in server.requests] == [
        ("POST", "/v1/customers"),
        ("GET", "/v1/customers/cus_1"),
        ("POST", "/v1/payment_methods/pm_1/attach"),
        ("POST", "/v1/payment_intents/pi_1/cancel"),
        ("GET", "/v1/payment_intents/pi_1"),
        ("GET", "/v1/account"),
    ]


async def test_an_id_cannot_lead_to_another_endpoint(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    await provider.retrieve_intent("pi_1/cancel?x=1", soon)
    assert server.requests[0].path == "/v1/payment_intents/pi_1%2Fcancel%3Fx%3D1"


async def test_two_cancels_never_share_a_key(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(an_intent(status="canceled"))
    await provider.cancel_intent("pi_1", soon)
    await provider.cancel_intent("pi_1", soon)
    first, second = (got.headers["idempotency-key"] for got in server.requests)
    assert first != second


@pytest.mark.parametrize("status", ["succeeded", "processing", "requires_action", "canceled"])
async def test_an_intent_in_any_state_is_shown_as_it_is(
    server: Loopback, provider: StripeProvider, soon: Deadline, status: str
) -> None:
    server.answer = replying(an_intent(status=status), Request_Id="req_1")
    answer = await confirm(provider, soon)
    assert isinstance(answer, Shown)
    assert answer.value.status is IntentStatus(status)
    assert (answer.request_id, answer.replayed) == ("req_1", False)


async def test_a_replayed_answer_says_so(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(an_intent(), Idempotent_Replayed="true")
    answer = await confirm(provider, soon)
    assert isinstance(answer, Shown)
    assert answer.replayed


REFUSALS: list[tuple[int, Obj]] = [
    (400, an_error(code="parameter_invalid_integer", param="amount")),
    (400, an_error(code="payment_intent_unexpected_state", payment_intent=an_intent())),
    (400, an_error(type="idempotency_error")),
    (401, an_error(code="api_key_expired")),
    (402, a_decline()),
    (402, a_decline(code="authentication_required", decline_code="authentication_required")),
    (403, an_error()),
    (404, an_error(code="resource_missing", param="intent")),
    (409, an_error(code="idempotency_key_in_use")),
    (424, an_error(type="api_error")),
    (429, an_error(code="rate_limit")),
    (429, an_error(code="lock_timeout")),
    (500, an_error(type="api_error")),
    (503, an_error(type="api_error")),
]


@pytest.mark.parametrize(
    ("status", "body"), REFUSALS, ids=[f"{s}-{b['error'].get('code')}" for s, b in REFUSALS]
)
async def test_every_error_is_a_refusal_with_stripes_own_words_and_was_sent_once(
    server: Loopback, provider: StripeProvider, soon: Deadline, status: int, body: Obj
) -> None:
    server.answer = replying(
        body, status, Request_Id="req_1", Retry_After="3", Stripe_Should_Retry="true"
    )
    answer = await confirm(provider, soon)
    assert isinstance(answer, Refused)
    error = body["error"]
    assert (answer.status, answer.type, answer.code, answer.param, answer.message) == (
        status,
        error["type"],
        error.get("code"),
        error.get("param"),
        error["message"],
    )
    assert (answer.request_id, answer.retry_after) == ("req_1", 3)
    assert (answer.intent is None) is ("payment_intent" not in error)
    assert (answer.decline is None) is (status != 402)
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"<html>502</html>", b"", b"\xff\xfe", b'{"error"'])
async def test_a_5xx_whose_body_is_not_stripes_is_still_a_5xx(
    server: Loopback, provider: StripeProvider, soon: Deadline, body: bytes
) -> None:
    async def broken(exchange: Exchange) -> None:
        exchange.write(http(body, 502, Request_Id="req_1", Retry_After="7"))

    server.answer = broken
    answer = await confirm(provider, soon)
    assert isinstance(answer, Refused)
    assert (answer.status, answer.type, answer.intent) == (502, None, None)
    assert (answer.request_id, answer.retry_after) == ("req_1", 7)


@pytest.mark.parametrize("status", [200, 202, 307, 400, 403, 429])
@pytest.mark.parametrize(
    "body", [b"<html>Hello</html>", b"", b"\xff\xfe", b"[1]", b'{"id": "pi_1"']
)
async def test_any_other_unreadable_body_leaves_it_unclear(
    server: Loopback, provider: StripeProvider, soon: Deadline, status: int, body: bytes
) -> None:
    async def strange(exchange: Exchange) -> None:
        exchange.write(http(body, status))

    server.answer = strange
    answer = await confirm(provider, soon)
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.UNREADABLE_ANSWER
    assert len(server.requests) == 1


async def test_a_deadline_in_mid_call_is_unclear_and_one_before_it_sends_nothing(
    server: Loopback, provider: StripeProvider
) -> None:
    server.answer = never
    running = await confirm(provider, provider.deadline(1))
    passed = await confirm(provider, provider.deadline(0))
    assert isinstance(running, Unclear)
    assert running.cause is Doubt.DEADLINE
    assert isinstance(passed, NothingSent)
    assert passed.cause is NotSent.DEADLINE_PASSED
    assert len(server.requests) == 1


@pytest.mark.parametrize("key", ["", "sk_test_1\nsk_test_2", "sk test", "sk_tést", "sk_\x7f"])
async def test_a_key_that_cannot_be_a_key_is_never_sent(
    server: Loopback, transport: Transport, soon: Deadline, key: str
) -> None:
    provider = StripeProvider(
        key, transport, breaker=Breaker(), limiter=Limiter(), base=server.base
    )
    answer = await confirm(provider, soon)
    assert isinstance(answer, NothingSent)
    assert answer.cause is NotSent.CREDENTIALS_UNREADABLE
    assert server.connections == 0


async def test_an_open_breaker_stops_writes_and_no_reads_for_every_account(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    breaker, limiter = Breaker(failures=2), Limiter()
    one, other = (
        StripeProvider(key, transport, breaker=breaker, limiter=limiter, base=server.base)
        for key in ("sk_test_1", "sk_test_2")
    )
    server.answer = replying(an_error(type="api_error"), 500)
    await confirm(one, soon)
    await confirm(one, soon)
    for stopped in (
        await confirm(other, soon),
        await other.create_intent(CREATE, "intent_1", soon),
        await other.cancel_intent("pi_1", soon),
        await other.create_customer({}, "customer_1", soon),
        await other.attach_payment_method("pm_1", "cus_1", "attach_1", soon),
    ):
        assert isinstance(stopped, NothingSent)
        assert stopped.cause is NotSent.BREAKER_OPEN
    server.answer = replying(an_intent())
    assert isinstance(await other.retrieve_intent("pi_1", soon), Shown)
    assert [got.method for got in server.requests] == ["POST", "POST", "GET"]


async def test_a_cancelled_probe_does_not_keep_the_breaker_shut_for_ever(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    breaker = Breaker(failures=1, rest_s=0)
    provider = StripeProvider(
        "sk_test_1", transport, breaker=breaker, limiter=Limiter(), base=server.base
    )
    server.answer = replying(an_error(), 500)
    await confirm(provider, soon)
    server.answer = never
    server.arrived.clear()
    probe = asyncio.ensure_future(confirm(provider, soon))
    await server.arrived.wait()
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    server.answer = replying(an_intent())
    assert isinstance(await confirm(provider, soon), Shown)


async def test_a_429_holds_back_the_next_call_to_that_endpoint_only(
    server: Loopback, provider: StripeProvider
) -> None:
    server.answer = replying(an_error(code="rate_limit"), 429, Retry_After="60")
    await confirm(provider, provider.deadline(20))
    server.answer = replying(an_intent())
    held = await confirm(provider, provider.deadline(20))
    assert isinstance(held, NothingSent)
    assert held.cause is NotSent.DEADLINE_PASSED
    assert isinstance(await provider.retrieve_intent("pi_1", provider.deadline(20)), Shown)
    assert [got.method for got in server.requests] == ["POST", "GET"]


class Paged:
    """A server with more rows than a page holds, newest first."""

    def __init__(self, rows: list[Obj]) -> None:
        self.rows = rows

    async def __call__(self, exchange: Exchange) -> None:
        params = exchange.got.params()
        ids = [row["id"] for row in self.rows]
        start = ids.index(params["starting_after"]) + 1 if "starting_after" in params else 0
        end = start + int(params["limit"])
        exchange.reply(a_list(*self.rows[start:end], more=end < len(self.rows)))


def filters(got: Got) -> dict[str, str]:
    """The parameters of a page, apart from where it starts."""
    return {name: value for name, value in got.params().items() if name != "starting_after"}


async def test_every_page_of_250_intents_is_read_and_each_keeps_all_filters(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = Paged([an_intent(id=f"pi_{n}") for n in range(250)])
    answer = await provider.list_intents("cus_1", 1_790_000_000, soon)
    assert isinstance(answer, Shown)
    assert [view.id for view in answer.value.rows] == [f"pi_{n}" for n in range(250)]
    assert all(view.latest_charge is not None for view in answer.value.rows)
    assert [filters(got) for got in server.requests] == [
        {
            "customer": "cus_1",
            "created[gte]": "1790000000",
            "expand[0]": "data.latest_charge",
            "limit": "100",
        }
    ] * 3


async def test_a_test_clock_customer_is_listed_without_a_time(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(a_list())
    await provider.list_intents("cus_1", None, soon)
    assert "created[gte]" not in server.requests[0].params()


async def test_charges_and_events_are_read_to_the_last_page(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = Paged([a_charge(id=f"ch_{n}") for n in range(101)])
    charges = await provider.list_charges("pi_1", soon)
    server.answer = Paged([an_event(id=f"evt_{n}") for n in range(101)])
    events = await provider.list_events(("charge.failed", "charge.succeeded"), 5, soon)
    assert isinstance(charges, Shown)
    assert isinstance(events, Shown)
    assert (len(charges.value.rows), len(events.value.rows)) == (101, 101)
    assert [filters(got) for got in server.requests] == [
        *[{"payment_intent": "pi_1", "limit": "100"}] * 2,
        *[
            {
                "types[0]": "charge.failed",
                "types[1]": "charge.succeeded",
                "created[gte]": "5",
                "limit": "100",
            }
        ]
        * 2,
    ]


async def test_a_list_that_breaks_on_a_later_page_shows_nothing(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    pages = Paged([an_intent(id=f"pi_{n}") for n in range(101)])

    async def then_fail(exchange: Exchange) -> None:
        if "starting_after" in exchange.got.params():
            exchange.reply(an_error(type="api_error"), 500)
        else:
            await pages(exchange)

    server.answer = then_fail
    answer = await provider.list_intents("cus_1", None, soon)
    assert isinstance(answer, Refused)
    assert answer.status == 500


async def test_a_list_that_never_ends_is_unreadable(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    server.answer = replying(a_list(an_intent(), more=True))
    answer = await provider.list_intents("cus_1", None, soon)
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.UNREADABLE_ANSWER
    assert len(server.requests) == 2


async def test_all_pages_share_one_deadline(server: Loopback, provider: StripeProvider) -> None:
    pages = Paged([an_intent(id=f"pi_{n}") for n in range(101)])

    async def then_nothing(exchange: Exchange) -> None:
        if "starting_after" in exchange.got.params():
            await never(exchange)
        await pages(exchange)

    server.answer = then_nothing
    answer = await provider.list_intents("cus_1", None, provider.deadline(2))
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.DEADLINE


async def test_a_call_never_waits_for_its_turn_beyond_its_deadline(
    server: Loopback, transport: Transport
) -> None:
    provider = StripeProvider(
        "sk_test_1",
        transport,
        breaker=Breaker(),
        limiter=Limiter(per_endpoint=1 / 3600),
        base=server.base,
    )
    server.answer = replying(an_intent())
    assert isinstance(await confirm(provider, provider.deadline(20)), Shown)
    answer = await confirm(provider, Deadline(time.monotonic() + 0.02))
    assert isinstance(answer, NothingSent)
    assert answer.cause is NotSent.DEADLINE_PASSED
    assert len(server.requests) == 1


async def test_an_error_body_may_be_cut_and_then_it_refuses_nothing(
    server: Loopback, provider: StripeProvider, soon: Deadline
) -> None:
    async def cut(exchange: Exchange) -> None:
        whole = http(json.dumps(a_decline()).encode(), 402)
        exchange.write(whole[:-9])
        await exchange.hang_up()

    server.answer = cut
    answer = await confirm(provider, soon)
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.CONNECTION_LOST
