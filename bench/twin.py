"""How many payments the twin takes in a second: in memory, and over HTTP on one core.

`python bench/twin.py [payments]`. In memory: create and confirm, the caller's encoding and parsing
included. Over HTTP: the CPU time of the server's process alone, with a raw client in another one.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from urllib.parse import urlencode

import aiohttp

from anchorhold.twin import SECRET_KEY, Clock, Request, Response, Twin

AUTH = {"authorization": f"Bearer {SECRET_KEY}"}
CREATE = {"amount": "1000", "currency": "usd", "metadata[anchorhold_invoice_id]": "inv_1"}
CONFIRM = {"payment_method": "pm_card_visa", "off_session": "true"}
CONNECTIONS = 16


def post(twin: Twin, path: str, key: str, fields: dict[str, str]) -> dict[str, object]:
    """One answered POST."""
    headers = {**AUTH, "idempotency-key": key}
    answer = twin.send(Request("POST", path, headers, "", urlencode(fields).encode()))
    assert isinstance(answer, Response)
    return answer.json()


def in_memory(payments: int) -> float:
    """Create and confirm, payments a second of CPU time."""
    twin = Twin(clock=Clock())
    began = time.process_time()
    for number in range(payments):
        intent = post(twin, "/v1/payment_intents", f"c{number}", CREATE)
        path = f"/v1/payment_intents/{intent['id']}/confirm"
        assert post(twin, path, f"p{number}", CONFIRM)["status"] == "succeeded"
    return payments / (time.process_time() - began)


def worlds(count: int) -> float:
    """New twins a second, each with one payment."""
    began = time.process_time()
    for seed in range(count):
        twin = Twin(seed=seed, clock=Clock())
        intent = post(twin, "/v1/payment_intents", "c", CREATE)
        post(twin, f"/v1/payment_intents/{intent['id']}/confirm", "p", CONFIRM)
    return count / (time.process_time() - began)


async def read_often(session: aiohttp.ClientSession, path: str, times: int) -> None:
    """The same GET again and again on one connection."""
    for _ in range(times):
        async with session.get(path) as answer:
            await answer.read()


async def pay_often(session: aiohttp.ClientSession, name: str, times: int) -> None:
    """Create and confirm again and again."""
    for number in range(times):
        headers = {"Idempotency-Key": f"{name}-{number}"}
        async with session.post("/v1/payment_intents", data=CREATE, headers=headers) as answer:
            intent = json.loads(await answer.read())["id"]
        path = f"/v1/payment_intents/{intent}/confirm"
        headers = {"Idempotency-Key": f"{name}-{number}-confirm"}
        async with session.post(path, data=CONFIRM, headers=headers) as answer:
            await answer.read()


async def load(url: str, payments: int) -> None:
    """Payments and then four reads for each, over a few connections."""
    async with aiohttp.ClientSession(url, headers=AUTH) as session:
        share = payments // CONNECTIONS
        began = time.perf_counter()
        await asyncio.gather(*(pay_often(session, f"c{n}", share) for n in range(CONNECTIONS)))
        middle = time.perf_counter()
        async with session.get("/v1/payment_intents") as answer:
            path = f"/v1/payment_intents/{(await answer.json())['data'][0]['id']}"
        reads = [read_often(session, path, share * 4) for _ in range(CONNECTIONS)]
        await asyncio.gather(*reads)
        ended = time.perf_counter()
    done = share * CONNECTIONS
    print(f"HTTP   create+confirm   {done / (middle - began):8,.0f} a second")
    print(f"HTTP   GET              {done * 4 / (ended - middle):8,.0f} a second")


def over_http(payments: int) -> None:
    """The server in a process of its own; its CPU time for all requests."""
    code = "import asyncio; from anchorhold.twin.server import run; asyncio.run(run(port=0))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        url = one.stdout.readline().split()[3]
        try:
            asyncio.run(load(url, payments))
        finally:
            one.terminate()
            one.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    requests = payments // CONNECTIONS * CONNECTIONS * 6
    spent = used.ru_utime + used.ru_stime
    print(f"HTTP   server CPU       {requests / spent:8,.0f} requests a second of one core")


def main() -> None:
    """Everything, one line each."""
    payments = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, {payments} payments")
    print(f"memory create+confirm   {in_memory(payments):8,.0f} a second of CPU time")
    print(f"memory twin + payment   {worlds(payments):8,.0f} a second of CPU time")
    over_http(payments)


if __name__ == "__main__":
    main()
