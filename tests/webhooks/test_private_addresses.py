"""Nothing reaches our own network, whatever the URL says and wherever its name leads to."""

import socket
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from anchorhold.domain.webhook import Outcome
from anchorhold.webhooks import sender as senders
from anchorhold.webhooks.sender import Sender

Got = list[str]
METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.fixture(name="got")
def _got() -> Got:
    return []


@pytest_asyncio.fixture(name="port")
async def _port(got: Got) -> AsyncGenerator[int]:
    """Something of ours that answers everybody who reaches it, on IPv4."""

    async def take(request: web.Request) -> web.Response:
        got.append(request.path)
        return web.Response()

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", take)
    async with TestServer(app, host="127.0.0.1") as server:
        assert server.port is not None
        yield server.port


@pytest_asyncio.fixture(name="strict")
async def _strict() -> AsyncGenerator[Sender]:
    sender = Sender(answer_s=2)
    yield sender
    await sender.close()


HOSTS = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1",
    "017700000001", "0", "0.0.0.0", "localhost", "LOCALHOST", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "example.com@127.0.0.1", "127%2e0%2e0%2e1",
    "①②⑦.0.0.1", "127。0。0。1",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
async def test_our_own_machine_is_not_reached_however_it_is_written(
    host: str, port: int, got: Got, strict: Sender
) -> None:
    sent = await strict.post(f"http://{host}:{port}/", b"{}", {})
    assert sent.said in {Outcome.PRIVATE_ADDRESS, Outcome.NO_CONNECTION, Outcome.NO_ANSWER}
    assert got == []


class Names:
    """A name server that answers one look-up after the other as it is told."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: Any, *_args: Any, **_more: Any) -> list[Any]:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        stream = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [
            (socket.AF_INET6, *stream, (address, port or 0, 0, 0))
            if ":" in address
            else (socket.AF_INET, *stream, (address, port or 0))
            for address in answer
        ]


@pytest.mark.parametrize(
    "leads_to",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1",
     "64:ff9b::7f00:1"],
)  # fmt: skip
async def test_a_name_that_leads_into_our_network_is_not_followed(
    leads_to: str, port: int, got: Got, strict: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Names([leads_to]))
    sent = await strict.post(f"http://endpoint.example:{port}/", b"{}", {})
    assert (sent.said, got) == (Outcome.PRIVATE_ADDRESS, [])


def judging(allowed: str, judged: list[str]) -> Callable[[str, object], bool]:
    """Lets this address pass, as if it were one of the wide world, which no test may call."""

    def judge(address: str, _private: object) -> bool:
        judged.append(address)
        return address == allowed

    return judge


async def test_a_name_that_leads_elsewhere_after_it_was_judged_gains_nothing(
    port: int, got: Got, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, judged = Names(["127.0.0.2"], ["127.0.0.1"]), list[str]()
    monkeypatch.setattr(socket, "getaddrinfo", names)
    monkeypatch.setattr(senders, "is_allowed", judging("127.0.0.2", judged))
    url = f"http://endpoint.example:{port}/"
    for outcome in (Outcome.NO_CONNECTION, Outcome.PRIVATE_ADDRESS):
        sender = Sender(answer_s=2)
        assert (await sender.post(url, b"{}", {})).said is outcome
        await sender.close()
    assert (names.asked, judged) == (2, ["127.0.0.2", "127.0.0.1"]), "one look-up, one judgement"
    assert got == []


async def test_of_a_public_and_a_private_address_the_private_one_is_not_tried(
    port: int, got: Got, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    monkeypatch.setattr(socket, "getaddrinfo", Names(["127.0.0.2", "127.0.0.1"]))
    monkeypatch.setattr(senders, "is_allowed", judging("127.0.0.2", judged))
    careful = Sender(answer_s=2)
    await careful.post(f"http://endpoint.example:{port}/", b"{}", {})
    await careful.close()
    assert "127.0.0.1" in judged
    assert got == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_into_our_network_is_not_followed(
    status: int, got: Got, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def redirect(_request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"http://127.0.0.1:{port}/"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", redirect)
    monkeypatch.setattr(senders, "is_allowed", judging("127.0.0.1", []))
    sender = Sender(answer_s=2)
    async with TestServer(app, host="127.0.0.1") as server:
        assert (await sender.post(str(server.make_url("/")), b"{}", {})).said == status
    await sender.close()
    assert got == []


async def test_the_proxy_of_this_machine_is_not_used(
    port: int, got: Got, strict: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
    assert (await strict.post(METADATA, b"{}", {})).said is Outcome.PRIVATE_ADDRESS
    assert got == []
