"""What a failed call proves: that nothing left, or that nobody can tell."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable

import pytest
from aiohttp.connector import Connection

from anchorhold.domain.answer import Deadline, Doubt, NothingSent, NotSent, Unclear
from anchorhold.stripe.transport import CallFailedError, Transport, under
from tests.stripe.loopback import Exchange, Loopback, http, never, settled

HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


async def send(
    wire: Transport, base: str, deadline: Deadline, method: str = "post", body: str = "amount=1"
) -> NothingSent | Unclear | tuple[int, bytes]:
    """One request; how it ended."""
    try:
        with under(deadline):
            answer, status, _ = await wire.request_async(
                method, f"{base}/v1/x", HEADERS, body if method == "post" else None
            )
    except CallFailedError as failure:
        return failure.result
    return status, answer


def cause(result: object) -> object:
    """Why a call has no answer."""
    assert isinstance(result, NothingSent | Unclear), result
    return result.cause


async def test_an_answer_comes_back_whole(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    assert await send(transport, server.base, soon) == (200, b"{}")
    assert [got.body for got in server.requests] == [b"amount=1"]


async def test_a_refused_port_means_that_nothing_was_sent(
    transport: Transport, soon: Deadline
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening
        result = await send(transport, f"http://127.0.0.1:{taken.getsockname()[1]}", soon)
    assert cause(result) is NotSent.CONNECT_FAILED


async def test_an_unknown_host_means_that_nothing_was_sent(
    transport: Transport, soon: Deadline
) -> None:
    result = await send(transport, "http://nowhere.invalid", soon)
    assert cause(result) is NotSent.CONNECT_FAILED


async def test_failed_tls_means_that_nothing_was_sent(transport: Transport, soon: Deadline) -> None:
    def no_tls_here(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(no_tls_here, "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        result = await send(transport, f"https://127.0.0.1:{port}", soon)
    assert cause(result) is NotSent.CONNECT_FAILED


async def test_a_connection_that_takes_too_long_means_that_nothing_was_sent(
    soon: Deadline,
) -> None:
    wire = Transport(connect_s=0.05)
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for caller in (first, second):  # nobody accepts, so the queue stays full
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        result = await send(wire, f"http://127.0.0.1:{full.getsockname()[1]}", soon)
    await wire.close_async()
    assert cause(result) is NotSent.CONNECT_FAILED


async def test_a_deadline_that_has_passed_opens_no_connection(
    server: Loopback, transport: Transport
) -> None:
    result = await send(transport, server.base, Deadline(time.monotonic()))
    assert cause(result) is NotSent.DEADLINE_PASSED
    assert server.connections == 0


@pytest.mark.parametrize("method", ["post", "get"])
async def test_a_process_frozen_between_connect_and_send_sends_no_byte_when_it_thaws(
    server: Loopback, method: str
) -> None:
    frozen = iter([0.0, 0.0])  # the clock as the call begins; then hours have gone by
    wire = Transport(clock=lambda: next(frozen, 9_999.0))
    result = await send(wire, server.base, Deadline(20.0), method)
    await wire.close_async()
    assert cause(result) is NotSent.DEADLINE_PASSED
    assert (server.requests, server.bytes) == ([], 0)


@pytest.mark.parametrize("method", ["post", "get"])
async def test_a_thawed_process_sends_no_byte_on_a_pooled_connection_either(
    server: Loopback, method: str
) -> None:
    now = [0.0]
    ticks: list[float] = []
    wire = Transport(clock=lambda: ticks.pop(0) if ticks else now[0])
    await send(wire, server.base, Deadline(20.0))
    before = server.bytes
    ticks, now[0] = [0.0, 0.0], 9_999.0
    result = await send(wire, server.base, Deadline(20.0), method)
    await wire.close_async()
    assert cause(result) is NotSent.DEADLINE_PASSED
    assert server.bytes == before


async def test_a_call_still_waiting_for_a_connection_at_its_deadline_sent_nothing(
    server: Loopback, soon: Deadline
) -> None:
    wire = Transport(connections=1)
    server.answer = never
    first = asyncio.ensure_future(send(wire, server.base, soon))
    await server.arrived.wait()
    result = await send(wire, server.base, Deadline(time.monotonic() + 1))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await wire.close_async()
    assert cause(result) is NotSent.DEADLINE_PASSED
    assert len(server.requests) == 1


async def reset_at_once(exchange: Exchange) -> None:
    exchange.reset()


async def hang_up_at_once(exchange: Exchange) -> None:
    await exchange.hang_up()


async def half_a_body(exchange: Exchange) -> None:
    exchange.write(http(b'{"id": "pi_', Content_Length="900"))
    await exchange.hang_up()


async def a_body_shorter_than_its_length(exchange: Exchange) -> None:
    exchange.write(http(b'{"id": "pi_1"}', Content_Length="15"))
    await exchange.hang_up()


async def half_a_chunked_body(exchange: Exchange) -> None:
    exchange.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"id"\r\n')
    await exchange.hang_up()


async def half_the_headers(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    await exchange.hang_up()


async def a_broken_gzip(exchange: Exchange) -> None:
    exchange.write(http(b"\x1f\x8b\x08 not gzip at all", Content_Encoding="gzip"))


async def garbage(exchange: Exchange) -> None:
    exchange.write(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n")


async def a_length_that_is_no_number(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}")


async def slow_headers(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 200 OK\r\n")
    await never(exchange)


async def slow_body(exchange: Exchange) -> None:
    exchange.write(http(b'{"id": "pi_', Content_Length="900"))
    await never(exchange)


BROKEN = {
    reset_at_once: Doubt.CONNECTION_LOST,
    hang_up_at_once: Doubt.CONNECTION_LOST,
    half_a_body: Doubt.CONNECTION_LOST,
    a_body_shorter_than_its_length: Doubt.CONNECTION_LOST,
    half_a_chunked_body: Doubt.CONNECTION_LOST,
    half_the_headers: Doubt.CONNECTION_LOST,
    a_broken_gzip: Doubt.CONNECTION_LOST,
    garbage: Doubt.UNREADABLE_ANSWER,
    a_length_that_is_no_number: Doubt.UNREADABLE_ANSWER,
}


@pytest.mark.parametrize("method", ["post", "get"])
@pytest.mark.parametrize(("how", "doubt"), BROKEN.items(), ids=lambda v: getattr(v, "__name__", ""))
async def test_whatever_breaks_after_the_first_byte_is_unclear_and_was_sent_once(
    server: Loopback,
    transport: Transport,
    soon: Deadline,
    how: Callable[[Exchange], Awaitable[None]],
    doubt: Doubt,
    method: str,
) -> None:
    server.answer = how
    assert cause(await send(transport, server.base, soon, method)) is doubt
    assert len(server.requests) == 1


@pytest.mark.parametrize("how", [never, slow_headers, slow_body])
async def test_the_deadline_of_a_running_call_makes_it_unclear_and_resets_the_connection(
    server: Loopback, transport: Transport, how: Callable[[Exchange], Awaitable[None]]
) -> None:
    server.answer = how
    result = await send(transport, server.base, Deadline(time.monotonic() + 1))
    assert cause(result) is Doubt.DEADLINE
    await server.ended.wait()
    assert (server.resets, len(server.requests)) == (1, 1)


@pytest.mark.filterwarnings("ignore:Sending a large body")
@pytest.mark.parametrize("size", [900_000, 12_000_000], ids=["in the kernel", "in the process"])
async def test_bytes_still_buffered_at_the_deadline_never_leave(
    transport: Transport, size: int
) -> None:
    body = "x" * size
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        result = await send(transport, base, Deadline(time.monotonic() + 1), body=body)
        await settled()
        stalled, _ = listening.accept()
        with stalled:
            arrived = await asyncio.to_thread(_read_all, stalled)
    assert cause(result) is Doubt.DEADLINE
    assert arrived < size // 2  # the server's own small buffer held a little before the end


def _read_all(sock: socket.socket) -> int:
    """Bytes until the end or the reset of the connection."""
    total = 0
    try:
        while data := sock.recv(65536):
            total += len(data)
    except ConnectionResetError:
        pass
    return total


async def test_cancelling_the_caller_goes_through_and_resets_the_connection(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    server.answer = never
    call = asyncio.ensure_future(send(transport, server.base, soon))
    await server.arrived.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await server.ended.wait()
    assert (server.resets, len(server.requests)) == (1, 1)


async def test_a_caller_cancelled_after_its_answer_takes_no_connection_from_the_next(
    server: Loopback, soon: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_two_parts(exchange: Exchange) -> None:
        exchange.write(http(b"{", Content_Length="2"))
        await settled()
        exchange.write(b"}")

    server.answer = in_two_parts
    wire = Transport(connections=1)
    first = asyncio.ensure_future(send(wire, server.base, soon))
    second = asyncio.ensure_future(send(wire, server.base, soon))
    release = Connection.release

    def release_and_cancel(self: Connection) -> None:
        release(self)
        first.cancel()

    monkeypatch.setattr(Connection, "release", release_and_cancel)
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second == (200, b"{}")
    assert server.connections == 1
    await wire.close_async()


async def test_a_connection_that_the_server_closed_while_idle_is_not_used(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    hung_up = asyncio.Event()

    async def reply_and_hang_up(exchange: Exchange) -> None:
        exchange.reply({})
        await exchange.hang_up()
        hung_up.set()

    server.answer = reply_and_hang_up
    await send(transport, server.base, soon)
    await hung_up.wait()
    await settled()
    assert await send(transport, server.base, soon) == (200, b"{}")
    assert (server.connections, len(server.requests)) == (2, 2)


@pytest.mark.parametrize("method", ["post", "get"])
async def test_a_pooled_connection_that_dies_under_a_request_is_not_tried_again(
    server: Loopback, transport: Transport, soon: Deadline, method: str
) -> None:
    await send(transport, server.base, soon)
    server.answer = hang_up_at_once
    result = await send(transport, server.base, soon, method)
    assert cause(result) is Doubt.CONNECTION_LOST
    assert len(server.requests) == 2


async def test_an_answer_nobody_asked_for_is_never_taken_for_the_next_one(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    read, written = asyncio.Event(), asyncio.Event()

    async def twice(exchange: Exchange) -> None:
        exchange.write(http(b'"first"'))
        await read.wait()
        exchange.write(http(b'"unasked"'))
        written.set()

    async def truly(exchange: Exchange) -> None:
        exchange.write(http(b'"second"'))

    server.answer = twice
    assert await send(transport, server.base, soon) == (200, b'"first"')
    read.set()
    await written.wait()
    await settled()
    server.answer = truly
    result = await send(transport, server.base, soon)
    assert result == (200, b'"second"') or cause(result) is NotSent.CONNECT_FAILED


async def test_a_redirect_is_an_answer_and_not_followed(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    async def elsewhere(exchange: Exchange) -> None:
        exchange.reply({}, 307, Location="/v1/y")

    server.answer = elsewhere
    assert await send(transport, server.base, soon) == (307, b"{}")
    assert len(server.requests) == 1


async def test_a_mistake_in_the_program_is_loud_and_not_an_answer(
    server: Loopback, transport: Transport, soon: Deadline
) -> None:
    with under(soon), pytest.raises(ValueError, match="control character"):
        await transport.request_async(
            "post", f"{server.base}/v1/x", {"A": "two\nlines"}, "amount=1"
        )
    assert server.requests == []


async def test_a_call_without_a_deadline_is_a_mistake(
    server: Loopback, transport: Transport
) -> None:
    with pytest.raises(LookupError):
        await transport.request_async("get", f"{server.base}/v1/x", {})
    assert server.connections == 0
