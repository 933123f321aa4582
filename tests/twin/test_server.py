"""Over HTTP: faults on the socket, the tester's own paths, webhooks, a clean stop."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import stripe as official

from anchorhold.twin import PUBLISHABLE_KEY, SECRET_KEY, FaultKind, Rule, Twin
from anchorhold.twin import courier as couriers
from anchorhold.twin.server import TwinServer, serve
from anchorhold.twin.webhooks import Hook
from tests.twin.receiving import Receiver

AUTH = {"Authorization": f"Bearer {SECRET_KEY}"}
PAY = {
    "amount": "500",
    "currency": "usd",
    "confirm": "true",
    "off_session": "true",
    "payment_method": "pm_card_visa",
}


@pytest_asyncio.fixture
async def server() -> AsyncIterator[TwinServer]:
    served = await serve(Twin(seed=1))
    yield served
    await served.stop()


@pytest_asyncio.fixture
async def http(server: TwinServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, headers=AUTH) as session:
        yield session


async def pay(http: aiohttp.ClientSession, key: str = "k") -> tuple[int, dict[str, Any]]:
    async with http.post(
        "/v1/payment_intents", data=PAY, headers={"Idempotency-Key": key}
    ) as answer:
        return answer.status, await answer.json()


async def ask(
    http: aiohttp.ClientSession, method: str, path: str, given: object = None
) -> tuple[int, dict[str, Any]]:
    async with http.request(method, path, json=given) as answer:
        return answer.status, await answer.json()


def fault(server: TwinServer, kind: FaultKind, seconds: float = 0.0) -> None:
    server.twin.faults.replace([Rule(kind, calls=frozenset({1}), seconds=seconds)])


@pytest.mark.parametrize(
    ("kind", "error", "executed"),
    [
        (FaultKind.REFUSED, aiohttp.ClientOSError, False),
        (FaultKind.DROPPED_BEFORE, aiohttp.ClientOSError, False),
        (FaultKind.DROPPED_AFTER, aiohttp.ClientOSError, True),
        (FaultKind.CUT, aiohttp.ClientPayloadError, True),
    ],
)
async def test_a_broken_connection_is_broken_for_real(
    server: TwinServer,
    http: aiohttp.ClientSession,
    kind: FaultKind,
    error: type[Exception],
    executed: bool,
) -> None:
    fault(server, kind)
    with pytest.raises(error):
        await pay(http)
    assert len(server.twin.account().charges) == int(executed)
    assert (await pay(http))[1]["status"] == "succeeded"
    assert len(server.twin.account().charges) == 1


async def test_a_client_that_went_before_its_answer_is_cut_is_no_error(
    server: TwinServer, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    fault(server, FaultKind.CUT)
    server.twin.listeners.append(lambda _account, _event: server.go_offline(0))
    with pytest.raises(aiohttp.ClientError):
        await pay(http)
    assert caplog.records == []


async def test_a_late_request_hangs_until_the_client_goes_and_runs_by_itself(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    done = asyncio.Event()
    server.twin.listeners.append(lambda _account, _event: done.set())
    fault(server, FaultKind.LATE, 0.05)
    request = asyncio.create_task(pay(http))
    await done.wait()
    assert not request.done()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    assert (await pay(http))[1]["status"] == "succeeded"
    assert len(server.twin.account().charges) == 1


async def test_a_server_stops_although_a_client_waits_for_ever(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    arrived = asyncio.Event()
    server.twin.listeners.append(lambda _account, _event: arrived.set())
    fault(server, FaultKind.SLOW, 9e9)
    request = asyncio.create_task(pay(http))
    await arrived.wait()
    await server.stop()
    with pytest.raises(aiohttp.ClientError):
        await request


async def test_a_slow_answer_comes_late_and_whole(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    fault(server, FaultKind.SLOW, 0.01)
    assert (await pay(http))[0] == 200


async def test_one_connection_serves_many_requests(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    for _ in range(5):
        await ask(http, "GET", "/v1/balance")
    connector = http.connector
    assert connector is not None
    assert sum(len(kept) for kept in connector._conns.values()) == 1


async def test_offline_is_a_true_refusal_and_ends(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    assert (await ask(http, "POST", "/_twin/offline", {"seconds": 0.05}))[0] == 200
    with pytest.raises(aiohttp.ClientConnectorError):
        await pay(http)
    assert server._back is not None
    await server._back
    assert (await pay(http))[0] == 200
    assert [entry.path for entry in server.twin.requests] == ["/v1/payment_intents"]


async def test_the_tester_sets_faults_and_reads_what_they_did(http: aiohttp.ClientSession) -> None:
    rule = {"kind": "rate_limit", "endpoint": "POST *", "calls": [1]}
    status, shown = await ask(http, "POST", "/_twin/faults", {"rules": [rule], "seed": 3})
    assert (status, shown["rules"][0]["seen"]) == (200, 0)
    assert (await pay(http))[0] == 429
    assert (await pay(http))[0] == 200
    _, faults = await ask(http, "GET", "/_twin/faults")
    assert (faults["rules"][0]["seen"], faults["rules"][0]["fired"]) == (2, 1)
    _, log = await ask(http, "GET", "/_twin/requests?after=0")
    shown = [(one["number"], one["fault"], one["status"]) for one in log["requests"]]
    assert shown == [(1, "rate_limit", 429), (2, None, 200)]
    _, rest = await ask(http, "GET", "/_twin/requests?after=1")
    assert [one["number"] for one in rest["requests"]] == [2]


async def test_the_ledger_is_read_over_http(http: aiohttp.ClientSession) -> None:
    _, intent = await pay(http)
    _, ledger = await ask(http, "GET", "/_twin/ledger?by=order")
    assert [one["id"] for one in ledger["intents"]] == [intent["id"]]
    assert ledger["payments"][""][0]["net"] == 500


async def test_the_clock_is_moved_over_http_and_what_is_due_happens(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    fault(server, FaultKind.ERROR_500_LATE_EFFECT, 5000)
    assert (await pay(http))[0] == 500
    _, before = await ask(http, "GET", "/_twin/clock")
    _, after = await ask(http, "POST", "/_twin/clock", {"advance": 5000})
    assert after["now"] - before["now"] >= 5000
    assert len(server.twin.account().charges) == 1
    assert (await ask(http, "POST", "/_twin/clock", {"advance": -1}))[0] == 400


async def test_keys_are_made_rolled_and_restricted_over_http(http: aiohttp.ClientSession) -> None:
    new = {"key": "sk_test_b", "account": "acct_b"}
    assert (await ask(http, "POST", "/_twin/keys", new))[0] == 200
    async with http.get("/v1/account", headers={"Authorization": "Bearer sk_test_b"}) as answer:
        assert (await answer.json())["id"] == "acct_b"
    denied = {"key": SECRET_KEY, "denied": ["POST *"]}
    await ask(http, "POST", "/_twin/keys", denied)
    assert (await pay(http))[0] == 403
    await ask(http, "POST", "/_twin/keys", {"key": SECRET_KEY, "state": "expired"})
    assert (await pay(http))[0] == 401
    _, shown = await ask(http, "GET", "/_twin/keys")
    states = {one["key"]: (one["account"], one["state"]) for one in shown["keys"]}
    assert states == {
        SECRET_KEY: ("acct_twin", "expired"),
        PUBLISHABLE_KEY: ("acct_twin", "valid"),
        "sk_test_b": ("acct_b", "valid"),
    }


async def test_a_live_key_opens_an_account_of_its_own_mode(http: aiohttp.ClientSession) -> None:
    await ask(http, "POST", "/_twin/keys", {"key": "sk_live_x"})
    await pay(http)
    live = {"Authorization": "Bearer sk_live_x"}
    async with http.get("/v1/payment_intents", headers=live) as answer:
        assert (await answer.json())["data"] == []
    async with http.post("/v1/customers", headers=live) as answer:
        assert (await answer.json())["livemode"]


async def test_customers_and_banks_act_over_http(
    server: TwinServer, http: aiohttp.ClientSession
) -> None:
    asking = {**PAY, "payment_method": "pm_card_authenticationRequired", "off_session": "false",
              "return_url": "https://example.com"}  # fmt: skip
    async with http.post("/v1/payment_intents", data=asking) as answer:
        intent = await answer.json()
    _, paid = await ask(http, "POST", "/_twin/authenticate", {"intent": intent["id"]})
    assert paid["status"] == "succeeded"
    _, opened = await ask(http, "POST", "/_twin/dispute", {"charge": paid["latest_charge"]})
    closing = {"dispute": opened["id"], "won": False}
    _, closed = await ask(http, "POST", "/_twin/close_dispute", closing)
    assert closed["status"] == "lost"
    debit = {**PAY, "payment_method": "pm_usBankAccount_success",
             "mandate_data[customer_acceptance][type]": "offline"}  # fmt: skip
    async with http.post("/v1/payment_intents", data=debit) as answer:
        under_way = await answer.json()
    _, ended = await ask(http, "POST", "/_twin/end_debit", {"intent": under_way["id"]})
    assert ended["status"] == "succeeded"
    fault(server, FaultKind.ERROR_500_LATE_EFFECT, 5000)
    await pay(http, "other")
    assert await ask(http, "POST", "/_twin/late") == (200, {"executed": 1})


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("GET", "/_twin/nothing", None, 404),
        ("PUT", "/_twin/faults", {}, 404),
        ("POST", "/_twin/faults", {"rules": [{"kind": "nonsense"}]}, 400),
        ("POST", "/_twin/faults", {}, 400),
        ("POST", "/_twin/faults", [], 400),
        ("POST", "/_twin/keys", {"key": "sk_test_x", "state": "odd"}, 400),
        ("POST", "/_twin/authenticate", {"intent": "pi_0"}, 404),
        ("GET", "/_twin/", None, 200),
    ],
)
async def test_what_the_tester_cannot_have_is_said(
    http: aiohttp.ClientSession, method: str, path: str, given: object, status: int
) -> None:
    got, shown = await ask(http, method, path, given)
    assert got == status
    assert "error" in shown or status == 200


async def delivered(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> TwinServer:
    """One payment, and every delivery of it ended."""
    monkeypatch.setattr(couriers, "WAITS_S", (0.0, 0.0, 0.0, 0.0))
    server = await serve(Twin(seed=1), hooks=[hook])
    async with aiohttp.ClientSession(server.url, headers=AUTH) as http:
        await pay(http)
        await server.courier.idle()
    await server.stop()
    return server


async def test_events_are_delivered_signed(
    receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    got, url = receiver
    hook = Hook(url, ("whsec_a", "whsec_b"), types=("payment_intent.*",))
    server = await delivered(hook, monkeypatch)
    assert sorted(got.types()) == ["payment_intent.created", "payment_intent.succeeded"]
    for body, header in got.got:
        for secret in hook.secrets:
            official.Webhook.construct_event(body, header, secret)
    events = server.twin.account().events
    assert [event["pending_webhooks"] for event in events] == [0, 0, 0]


async def test_a_refused_delivery_is_tried_again_a_few_times(
    receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    got, url = receiver
    got.statuses = [500, 302, 200]
    hook = Hook(url, ("whsec_a",), types=("payment_intent.succeeded",))
    server = await delivered(hook, monkeypatch)
    log = [(one.attempt, one.status) for one in server.courier.log]
    assert log == [(1, 500), (2, 302), (3, 200)]
    assert json.loads(got.got[0][0])["pending_webhooks"] == 1
    assert len({body for body, _ in got.got}) == 1


async def test_a_receiver_that_is_down_leaves_the_event_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hook = Hook("http://127.0.0.1:1/", ("s",), types=("payment_intent.succeeded",))
    server = await delivered(hook, monkeypatch)
    assert [one.status for one in server.courier.log] == [None] * 4
    pending = [event["pending_webhooks"] for event in server.twin.account().events]
    assert pending == [0, 0, 1]


@pytest.mark.parametrize(("lost", "doubled", "copies"), [(1.0, 0.0, 0), (0.0, 1.0, 2)])
async def test_deliveries_can_be_lost_and_doubled(
    receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch, lost: float, doubled: float,
    copies: int,
) -> None:  # fmt: skip
    got, url = receiver
    hook = Hook(url, ("s",), types=("payment_intent.succeeded",), lost=lost, doubled=doubled)
    await delivered(hook, monkeypatch)
    assert got.types() == ["payment_intent.succeeded"] * copies


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_run_prints_its_address_and_stops_on_a_signal(number: signal.Signals) -> None:
    code = "import asyncio; from anchorhold.twin.server import run; asyncio.run(run(port=0))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", code,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    url = line.split()[3]
    async with aiohttp.ClientSession(url, headers=AUTH) as http:
        assert (await pay(http))[0] == 200
        process.send_signal(number)
        _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")


async def test_a_port_that_is_taken_is_an_os_error(server: TwinServer) -> None:
    with pytest.raises(OSError, match="address already in use"):
        await serve(Twin(), port=int(server.url.rpartition(":")[2]))
