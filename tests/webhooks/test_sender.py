"""One POST to an endpoint: sent once, followed nowhere, and never into our own network."""

import socket
from collections.abc import AsyncGenerator
from ipaddress import ip_network

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer

from anchorhold.domain.webhook import Outcome, Sent
from anchorhold.webhooks.sender import EXCERPT, Sender

LOOPBACK = [ip_network("127.0.0.0/8"), ip_network("::1/128")]


class Endpoint:
    """An endpoint that answers as it is told and remembers what came."""

    def __init__(self) -> None:
        self.answer = web.Response(status=200, text="thank you")
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: dict[str, str] = {}

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.read())
        self.paths.append(request.path)
        self.headers = dict(request.headers)
        return self.answer


@pytest.fixture(name="endpoint")
def _endpoint() -> Endpoint:
    return Endpoint()


@pytest_asyncio.fixture(name="server")
async def _server(endpoint: Endpoint) -> AsyncGenerator[BaseTestServer]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", endpoint.take)
    async with TestServer(app) as server:
        yield server


@pytest_asyncio.fixture(name="sender")
async def _sender() -> AsyncGenerator[Sender]:
    sender = Sender(LOOPBACK, answer_s=5)
    yield sender
    await sender.close()


async def test_the_body_arrives_as_it_is_once(
    endpoint: Endpoint, server: BaseTestServer, sender: Sender
) -> None:
    sent = await sender.post(str(server.make_url("/hook")), b'{"a": "\xc3\xa9"}', {"x-id": "m"})
    assert (sent.said, sent.detail) == (200, "thank you")
    assert (endpoint.bodies, endpoint.headers["x-id"]) == ([b'{"a": "\xc3\xa9"}'], "m")


async def test_a_redirect_is_not_followed(
    endpoint: Endpoint, server: BaseTestServer, sender: Sender
) -> None:
    endpoint.answer = web.Response(status=307, headers={"Location": "/elsewhere"})
    assert (await sender.post(str(server.make_url("/hook")), b"{}", {})).said == 307
    assert endpoint.paths == ["/hook"]


async def test_no_more_of_an_answer_is_read_than_is_kept(
    endpoint: Endpoint, server: BaseTestServer, sender: Sender
) -> None:
    endpoint.answer = web.Response(status=500, body=b"x" * 5_000_000)
    sent = await sender.post(str(server.make_url("/")), b"{}", {})
    assert (sent.said, sent.detail) == (500, "x" * EXCERPT)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "0.0.0.0"])
async def test_nothing_reaches_our_own_network(
    name: str, endpoint: Endpoint, server: BaseTestServer
) -> None:
    strict = Sender()
    sent = await strict.post(f"http://{name}:{server.port}/", b"{}", {})
    await strict.close()
    assert (sent.said, endpoint.paths) == (Outcome.PRIVATE_ADDRESS, [])
    assert "not a public address" in sent.detail


async def test_an_endpoint_that_is_not_there(sender: Sender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert (await sender.post(f"http://127.0.0.1:{port}/", b"{}", {})).said is Outcome.NO_CONNECTION


async def test_an_endpoint_that_is_too_slow() -> None:
    hasty = Sender(LOOPBACK, answer_s=0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sent = await hasty.post(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}", {})
    await hasty.close()
    assert sent.said is Outcome.NO_ANSWER


@pytest.mark.parametrize("url", ["ftp://example.com/", "http://", "http://[::1", "not an address"])
async def test_what_is_no_address_is_no_answer(url: str, sender: Sender) -> None:
    sent: Sent = await sender.post(url, b"{}", {})
    assert sent.said in {Outcome.NO_ANSWER, Outcome.NO_CONNECTION}


@pytest.mark.parametrize(("header", "seconds"), [
    ("120", 120.0), (" 7 ", 7.0), ("soon", None), ("-1", None), ("", None),
    ("Fri, 01 Jan 1999 00:00:00 GMT", 0.0), ("9" * 400, 999_999_999.0),
])  # fmt: skip
async def test_it_hears_when_to_come_again(
    header: str, seconds: float | None, endpoint: Endpoint, server: BaseTestServer, sender: Sender
) -> None:
    endpoint.answer = web.Response(status=503, headers={"Retry-After": header})
    assert (await sender.post(str(server.make_url("/")), b"{}", {})).retry_after_s == seconds
