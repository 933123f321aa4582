"""Client CPU of one call to Stripe: the provider beside the bare SDK and bare aiohttp.

A child process answers every request with a fixed PaymentIntent; this process counts its own CPU
time over uvloop. Run: python bench/stripe_call.py [calls] [tasks]
"""

import asyncio
import json
import multiprocessing
import sys
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import cast

import aiohttp
import stripe
import uvloop
from typing_extensions import override

from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport

CHARGE = {
    "id": "ch_1",
    "object": "charge",
    "status": "succeeded",
    "amount": 1200,
    "amount_refunded": 0,
    "currency": "eur",
    "payment_method": "pm_1",
    "created": 1790000000,
    "filler": "x" * 700,
}
INTENT = {
    "id": "pi_1",
    "object": "payment_intent",
    "status": "succeeded",
    "amount": 1200,
    "amount_received": 1200,
    "currency": "eur",
    "customer": "cus_1",
    "payment_method": "pm_1",
    "created": 1790000000,
    "metadata": {"anchorhold_account_id": "acc_1", "anchorhold_invoice_id": "inv_1"},
    "latest_charge": CHARGE,
    "filler": "x" * 300,
}
BODY = json.dumps(INTENT, indent=2).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nRequest-Id: req_1\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
) + BODY
PARAMS = {"payment_method": "pm_1", "off_session": True}
LIMITLESS = 1_000_000

Call = Callable[[], Awaitable[object]]


class Responder(asyncio.Protocol):
    """Answers each arriving chunk with the same bytes: one chunk is one request here."""

    transport: asyncio.Transport

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        """Answer."""
        self.transport.write(ANSWER)


def respond(port: Connection) -> None:
    """Serve until killed, after telling the port."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Responder, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(serve())


async def cpu_ms(call: Call, calls: int, tasks: int) -> tuple[float, float]:
    """CPU milliseconds of this process a call, and calls a second."""

    async def several() -> None:
        for _ in range(calls // tasks):
            await call()

    await several()
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(several() for _ in range(tasks)))
    done = calls // tasks * tasks
    spent, lasted = time.process_time() - cpu, time.perf_counter() - wall
    return spent * 1000 / done, done / lasted


async def measure(base: str, calls: int, tasks: int) -> None:
    """Print a line for each way to make the same call."""
    transport = Transport()
    limiter = Limiter(per_endpoint=LIMITLESS, per_account=LIMITLESS)
    provider = StripeProvider("sk_test_1", transport, breaker=Breaker(), limiter=limiter, base=base)
    sdk_wire = stripe.AIOHTTPClient(connector=aiohttp.TCPConnector(limit=64))
    sdk = stripe.StripeClient("sk_test_1", base_addresses={"api": base}, http_client=sdk_wire)
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64))

    async def bare() -> None:
        async with session.post(f"{base}/v1/x", data=b"amount=1") as answer:
            json.loads(await answer.read())

    ways: dict[str, Call] = {
        "bare aiohttp": bare,
        "SDK raw request": lambda: sdk.raw_request_async(
            "post", "/v1/payment_intents/pi_1/confirm", idempotency_key="k", **PARAMS
        ),
        "provider confirm": lambda: provider.confirm_intent(
            "pi_1", PARAMS, "k", provider.deadline(30)
        ),
        "provider retrieve": lambda: provider.retrieve_intent("pi_1", provider.deadline(30)),
    }
    for name, way in ways.items():
        best = min([await cpu_ms(way, calls, tasks) for _ in range(3)])
        print(f"{name:18} {best[0]:.3f} ms CPU a call, {best[1]:,.0f} calls/s")
    await transport.close_async()
    await sdk_wire.close_async()
    await session.close()


def main() -> None:
    """Start the responder, measure, stop it."""
    numbers = [int(text) for text in sys.argv[1:3]]
    calls, tasks = (*numbers, *(3000, 16)[len(numbers) :])
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=respond, args=(theirs,))
    child.start()
    try:
        uvloop.run(measure(f"http://127.0.0.1:{ours.recv()}", calls, tasks))
    finally:
        child.kill()


if __name__ == "__main__":
    main()
