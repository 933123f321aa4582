"""The same facts behind TLS, where other code holds the bytes."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from anchorhold.domain.answer import Deadline, Doubt, NothingSent, NotSent, Unclear
from anchorhold.stripe.transport import CallFailedError, Transport, under
from tests.stripe import certificate
from tests.stripe.loopback import Exchange, Loopback, http, never


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate and its key."""
    path = tmp_path_factory.mktemp("tls") / "loopback.pem"
    certificate.write(path)
    return path


@pytest_asyncio.fixture
async def secured(pem: Path) -> AsyncGenerator[Loopback]:
    """A server behind TLS."""
    loopback = Loopback()
    loopback.tls = certificate.for_server(pem)
    async with loopback:
        yield loopback


@pytest_asyncio.fixture
async def trusting(pem: Path) -> AsyncGenerator[Transport]:
    """A transport that trusts the server's certificate."""
    wire = Transport(tls=certificate.for_client(pem))
    yield wire
    await wire.close_async()


async def send(wire: Transport, server: Loopback, deadline: Deadline) -> object:
    """One POST; its body, or how it ended."""
    try:
        with under(deadline):
            url = f"https://127.0.0.1:{server.port}/v1/x"
            body, _, _ = await wire.request_async("post", url, {}, "amount=1")
    except CallFailedError as failure:
        return failure.result
    return body


async def test_calls_share_a_connection_and_are_answered(
    secured: Loopback, trusting: Transport, soon: Deadline
) -> None:
    assert [await send(trusting, secured, soon) for _ in range(3)] == [b"{}"] * 3
    assert secured.connections == 1


async def test_a_certificate_that_nobody_trusts_means_that_nothing_was_sent(
    secured: Loopback, transport: Transport, soon: Deadline
) -> None:
    result = await send(transport, secured, soon)
    assert isinstance(result, NothingSent)
    assert result.cause is NotSent.CONNECT_FAILED
    assert secured.requests == []


async def test_half_an_answer_is_unclear(
    secured: Loopback, trusting: Transport, soon: Deadline
) -> None:
    async def half(exchange: Exchange) -> None:
        exchange.write(http(b'{"id', Content_Length="90"))
        exchange.reset()

    secured.answer = half
    result = await send(trusting, secured, soon)
    assert isinstance(result, Unclear)
    assert result.cause is Doubt.CONNECTION_LOST
    assert len(secured.requests) == 1


async def test_the_deadline_ends_the_connection(secured: Loopback, trusting: Transport) -> None:
    secured.answer = never
    result = await send(trusting, secured, Deadline(time.monotonic() + 1))
    assert isinstance(result, Unclear)
    assert result.cause is Doubt.DEADLINE
    await secured.ended.wait()
    assert len(secured.requests) == 1


async def test_a_process_frozen_before_the_send_sends_nothing_when_it_thaws(
    secured: Loopback, pem: Path
) -> None:
    frozen = iter([0.0, 0.0])
    wire = Transport(
        tls=certificate.for_client(pem), clock=lambda: next(frozen, 9_999.0), connect_s=5
    )
    result = await send(wire, secured, Deadline(20.0))
    await wire.close_async()
    assert isinstance(result, NothingSent)
    assert result.cause is NotSent.DEADLINE_PASSED
    assert secured.bytes == 0


async def test_a_cancelled_caller_ends_the_connection(
    secured: Loopback, trusting: Transport, soon: Deadline
) -> None:
    secured.answer = never
    call = asyncio.ensure_future(send(trusting, secured, soon))
    await secured.arrived.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await secured.ended.wait()
