"""The intake of webhooks beside a bare endpoint: the same deliveries, ten of each event at once."""

import asyncio
import json
import multiprocessing
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Final
from urllib.parse import urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from anchorhold import crypto
from anchorhold.app import open_app
from anchorhold.bench.bare import TABLE, bare
from anchorhold.bench.charge import CONNECTIONS, TASKS
from anchorhold.bench.ground import SCOPE, Ground
from anchorhold.domain.ids import SIGNING_SECRET
from anchorhold.entropy import wall_clock
from anchorhold.settings import Listen, load, secret_key
from anchorhold.signing_keys import place_of_signing_secret
from anchorhold.store import signing_secrets
from anchorhold.store.db import PoolDb, connect
from anchorhold.twin.webhooks import signature
from anchorhold.web import serving
from anchorhold.web.site import site
from anchorhold.worker.bell import bell

REPEATS: Final = 10
SECRET: Final = "whsec_of_the_bench"  # noqa: S105 - signs deliveries of a database that goes away
KEY: Final = "a" * 43 + "="
PORT: Final = 8441
_LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Taken:
    """Deliveries a second that were answered 200, by the product and by the bare endpoint."""

    product: float
    floor: float

    @property
    def ratio(self) -> float:
        """The product's part of the floor."""
        return self.product / self.floor


async def intake(place: Ground, db: PoolDb, events: int, rounds: int) -> Taken:
    """Medians of so many rounds, each of so many events, ten deliveries of every one.

    Raises RuntimeError unless every delivery was answered 200, and every event is kept once.
    """
    await _prepare(place, db)
    async with _process(_product, place.conninfo, PORT), _process(_bare, place.conninfo, PORT + 1):
        rates = [
            (await _rate(PORT, 2 * n, events), await _rate(PORT + 1, 2 * n + 1, events))
            for n in range(rounds)
        ]
    kept = await db.one("SELECT count(*) FROM anchorhold.event", int)
    if kept != rounds * events:
        raise RuntimeError(f"{kept} events are kept of {rounds * events}")
    return Taken(*(median(rate) for rate in zip(*rates, strict=True)))


async def _prepare(place: Ground, db: PoolDb) -> None:
    (new,) = db.new_ids(SIGNING_SECRET, 1)
    key = secret_key(load(_settings(place.conninfo)))
    sealed = crypto.seal(key, SECRET, *place_of_signing_secret(SCOPE, new))
    await signing_secrets.add(db, SCOPE, new, secret=sealed, last4="ench", overlap_s=0)
    with psycopg.connect(place.conninfo, autocommit=True) as conn:
        conn.execute(TABLE)


def _settings(conninfo: str) -> dict[str, str]:
    parts = conninfo_to_dict(conninfo)
    where = urlencode({name: parts[name] for name in ("host", "port") if parts.get(name)})
    url = f"postgresql://{parts.get('user', '')}@/{parts.get('dbname', '')}?{where}"
    return {
        "ANCHORHOLD_DATABASE_URL": url,
        "ANCHORHOLD_SECRET_KEY": KEY,
        "ANCHORHOLD_DATA_DIR": "/nowhere",
        "ANCHORHOLD_DATABASE_POOL": str(CONNECTIONS),
    }


async def _product(conninfo: str, port: int) -> None:
    """What `anchorhold serve` runs."""
    async with open_app(load(_settings(conninfo)), actor="bench") as process, bell(process) as rung:
        with serving.bind(Listen("127.0.0.1", port)) as listener:
            await serving.serve(site(process, rung.ring), listener)


async def _bare(conninfo: str, port: int) -> None:
    async with connect(conninfo, size=CONNECTIONS) as db:
        with serving.bind(Listen("127.0.0.1", port)) as listener:
            await serving.serve(bare(db, SECRET), listener)


def _run(server: Callable[[str, int], Coroutine[Any, Any, None]], conninfo: str, port: int) -> None:
    import uvloop  # noqa: PLC0415 - in the process of the server

    uvloop.run(server(conninfo, port))


@asynccontextmanager
async def _process(
    server: Callable[[str, int], Coroutine[Any, Any, None]], conninfo: str, port: int
) -> AsyncGenerator[None]:
    """The server answers in a process of its own, so that its CPU is not shared with the client."""
    process = multiprocessing.get_context("spawn").Process(
        target=_run, args=(server, conninfo, port), daemon=True
    )
    process.start()
    try:
        await _answers(port)
        yield
    finally:
        process.terminate()
        process.join()


async def _answers(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise RuntimeError(f"nothing answers at {port}")


async def _rate(port: int, round_: int, events: int) -> float:
    """Deliveries a second over as many connections as a worker has charges under way."""
    waiting = iter(deliveries(round_, events))
    began = time.monotonic()
    await asyncio.gather(*(_send(port, waiting) for _ in range(TASKS)))
    return events * REPEATS / (time.monotonic() - began)


async def _send(port: int, waiting: Any) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in waiting:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        await reader.readexactly(int(length[1]) if length else 0)
        if b" 200 " not in head[:16]:
            raise RuntimeError(head.decode())
    writer.close()


def deliveries(round_: int, events: int) -> Sequence[bytes]:
    """The requests, signed now: ten of an event, then ten of the next."""
    at = int(wall_clock().timestamp())
    made: list[bytes] = []
    for number in range(events):
        body = json.dumps(_event(f"evt_{round_}_{number}", at)).encode()
        signed = signature(body, at, (SECRET,))
        head = (
            f"POST /stripe/{SCOPE.account_id} HTTP/1.1\r\nHost: bench\r\n"
            f"Content-Length: {len(body)}\r\nStripe-Signature: {signed}\r\n\r\n"
        )
        made += [head.encode() + body] * REPEATS
    return made


def _event(id_: str, at: int) -> dict[str, Any]:
    """As large as Stripe's event of a success is."""
    intent = {
        "id": f"pi_{id_}", "object": "payment_intent", "status": "succeeded", "amount": 14900,
        "amount_received": 14900, "currency": "eur", "latest_charge": f"ch_{id_}",
        "metadata": {"anchorhold_account_id": SCOPE.account_id, "anchorhold_invoice_id": "inv_1"},
        "last_payment_error": None, "created": at, "description": "x" * 2000,
    }  # fmt: skip
    return {
        "id": id_, "object": "event", "type": "payment_intent.succeeded", "livemode": False,
        "created": at, "api_version": "2026-10-28.endive", "data": {"object": intent},
        "request": {"id": f"req_{id_}", "idempotency_key": f"key_{id_}"},
    }  # fmt: skip
