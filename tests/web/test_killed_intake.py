"""SIGKILL for the web process and for PostgreSQL while ten of each event come in at once.

What was answered 200 is there, and each event has its effect once.
"""

import asyncio
import base64
import json
import os
import re
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import aiohttp
import psycopg
import pytest

from anchorhold import postgres
from anchorhold.domain.timing import Timing
from anchorhold.engine import news
from anchorhold.engine.deps import Connected, Deps
from anchorhold.logs import logger
from anchorhold.store.db import connect
from anchorhold.store.migrate import upgrade
from tests.cli.desk import PROGRAM, url_of
from tests.engine.test_deliver import NoProviders
from tests.postgres.processes import kill, postmaster, wait_until_gone
from tests.store.scene import ACTOR, OURS, Scene, scene
from tests.web.test_intake import KEY, SECRET, a, add_secret, sign

REPEATS = 10
EVENTS = 12
KILLED_AFTER = 3 * REPEATS
"""So many answers of 200 have come when the process dies."""
PATIENCE_S = 60


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A server of its own, that keeps what it acknowledged."""
    place = tmp_path / "postgres"
    upgrade(postgres.start(place, durable=True).conninfo)
    yield place
    postgres.stop(place)


def event_of(number: int) -> bytes:
    """The success of the invoice of this number, as Stripe tells it."""
    intent = f"pi_{number:026}"
    said = a(id=f"evt_{number}")
    said["data"]["object"] |= {"id": intent, "latest_charge": f"ch_{number}"}
    return json.dumps(said).encode()


@asynccontextmanager
async def web(conninfo: str) -> AsyncGenerator[tuple[asyncio.subprocess.Process, str]]:
    """`anchorhold serve` on this database, and where it answers; dead at the end."""
    env: Mapping[str, str] = {
        "ANCHORHOLD_DATABASE_URL": url_of(conninfo),
        "ANCHORHOLD_SECRET_KEY": base64.b64encode(KEY).decode(),
        "ANCHORHOLD_LISTEN": "127.0.0.1:0",
    }
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "serve", env={**os.environ, **env}, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr
    while not (found := re.search(rb"http://\S+", await process.stderr.readline())):
        assert process.returncode is None
    draining = asyncio.create_task(process.stderr.read())
    try:
        yield process, found[0].decode()
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await draining


@dataclass
class Sender:
    """Stripe: ten deliveries of each event at once; notes what was answered 200."""

    url: str
    answered: Counter[int] = field(default_factory=Counter)
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    kill_after: int = KILLED_AFTER

    async def send(self, client: aiohttp.ClientSession, number: int) -> None:
        """One delivery; whatever is not 200 is no answer."""
        body = event_of(number)
        with suppress(aiohttp.ClientError, ConnectionError):
            headers = {"stripe-signature": sign(body, SECRET)}
            url = f"{self.url}/stripe/{OURS.account_id}"
            async with client.post(url, data=body, headers=headers) as answer:
                self.answered[number] += answer.status == 200
        if self.answered.total() >= self.kill_after:
            self.enough.set()

    async def all(self, numbers: range) -> None:
        """Ten of each, the next event's while those of the last are still under way."""
        async with aiohttp.ClientSession() as client:
            gate = asyncio.Semaphore(2 * REPEATS)

            async def one(number: int) -> None:
                async with gate:
                    await self.send(client, number)

            await asyncio.gather(*(one(n) for n in numbers for _ in range(REPEATS)))


async def told(made: Scene) -> None:
    """The events that wait have their effect; Stripe is not asked."""
    deps = Deps(made.db, NoProviders(), Timing(), logger(), ACTOR)
    connected = Connected(cast("Any", None), "acct_1", "fingerprint")
    await news.act_waiting(deps, connected, made.scope)


def kept(made: Scene) -> set[int]:
    """The numbers of the events that are there."""
    return {int(row[0][4:]) for row in made.sql("SELECT id FROM anchorhold.event")}


async def test_nothing_that_was_answered_is_lost_and_each_effect_is_there_once(
    folder: Path,
) -> None:
    conninfo = postgres.start(folder).conninfo
    async with scene(conninfo) as made:
        await add_secret(made, OURS, SECRET)
        await made.due(2 * EVENTS)
    first, second = range(1, EVENTS + 1), range(EVENTS + 1, 2 * EVENTS + 1)
    async with web(conninfo) as (process, url):
        sender = Sender(url)
        sending = asyncio.create_task(sender.all(first))
        await sender.enough.wait()
        process.send_signal(signal.SIGKILL)
        await sending
    assert 0 < sender.answered.total() < EVENTS * REPEATS, "it died in the middle"
    async with scene_again(conninfo) as made:
        assert set(+sender.answered) <= kept(made)
    async with web(conninfo) as (_, url):
        sender = replace(sender, url=url, enough=asyncio.Event(), answered=Counter())
        sending = asyncio.create_task(sender.all(second))
        await sender.enough.wait()
        kill(postmaster(folder))
        assert not sending.done(), "it died in the middle"
        wait_until_gone(folder)
        conninfo = postgres.start(folder, durable=True).conninfo
        await sending
        async with scene_again(conninfo) as made:
            assert set(+sender.answered) <= kept(made)
        again = Sender(url)
        async with asyncio.timeout(PATIENCE_S):  # Stripe sends again until it is answered
            while set(+again.answered) < set(range(1, 2 * EVENTS + 1)):
                await again.all(range(1, 2 * EVENTS + 1))
    async with scene_again(conninfo) as made:
        assert kept(made) == set(range(1, 2 * EVENTS + 1))
        await told(made)
        await told(made)
        assert made.value("SELECT count(*) FROM anchorhold.payment") == 2 * EVENTS
        assert made.value("SELECT count(*) FROM anchorhold.event WHERE state <> 'done'") == 0
        good = made.sql("SELECT count(*) FROM anchorhold.event_delivery WHERE verdict = 'good'")
        assert good == [(2 * EVENTS,)], "one delivery of each event brought it"
        assert made.value("SELECT count(*) FROM anchorhold.invoice WHERE status = 'paid'") == (
            2 * EVENTS
        )


@asynccontextmanager
async def scene_again(conninfo: str) -> AsyncGenerator[Scene]:
    """The same rows, after whatever happened to the server."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        async with connect(conninfo, size=2) as db:
            yield Scene(conninfo, db, conn)
