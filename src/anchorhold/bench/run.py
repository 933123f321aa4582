"""`anchorhold bench`: every figure beside its floor, with its budget, in one run."""

import asyncio
import multiprocessing
import os
import platform
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from anchorhold.bench import sweep
from anchorhold.bench.charge import (
    BATCH,
    CONNECTIONS,
    TASKS,
    DatabasePart,
    Rate,
    bare_calls,
    database_part,
    statements_of_a_charge,
    whole_path,
)
from anchorhold.bench.ground import Ground, ground
from anchorhold.bench.intake import REPEATS, Taken, intake
from anchorhold.bench.sweep import Drained
from anchorhold.domain.answer import IntentView, Result, Shown
from anchorhold.domain.ids import key_of
from anchorhold.sim.in_memory import TwinTransport
from anchorhold.store.db import PoolDb
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport
from anchorhold.twin.faults import Rule
from anchorhold.twin.server import run as run_twin
from anchorhold.twin.world import SECRET_KEY, Twin

DATABASE_BUDGET = 0.70
CPU_BUDGET_MS = 2.0
SWEEP_BUDGET = 0.90
MEMORY_BUDGET = 0.10
INTAKE_BUDGET = 0.70
INTENTS_PER_SECOND = 900
CARDS = 100
EVENTS_PER_SECOND = 200
PORT = 8431
BASE = f"http://127.0.0.1:{PORT}"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: what was measured, the floor beside it, and what design.md allows."""

    what: str
    product: str
    floor: str
    ratio: str
    budget: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class WholePath:
    """The engine's charge over one kind of wire, and the Stripe call alone over the same."""

    name: str
    charge: Rate
    call: Rate

    @property
    def extra_cpu_ms(self) -> float:
        """What the charge costs this process beyond the call."""
        return self.charge.cpu_ms - self.call.cpu_ms


async def measure(seconds: int, rounds: int, stale: int) -> list[Line]:
    """All lines; takes about `rounds` times `seconds` times ten, and `stale` holds' time."""
    with tempfile.TemporaryDirectory(prefix="anchorhold-bench-") as name:
        async with ground(Path(name), CONNECTIONS) as (place, db):
            statements = await statements_of_a_charge(place, db)
            parts = [await database_part(place, db, statements, seconds) for _ in range(rounds)]
            memory = await _in_memory(place, db, seconds)
            async with _over_http() as provider:
                http = await _whole(place, db, provider, "over HTTP", seconds)
            drained = await _sweep(place, db, stale)
            taken = await intake(place, db, EVENTS_PER_SECOND * seconds, rounds)
    paths = [*_path_lines(memory), *_path_lines(http)]
    return [*_database_lines(parts), *paths, *_sweep_lines(drained), _intake_line(taken)]


async def _sweep(place: Ground, db: PoolDb, count: int) -> Drained:
    """Stale holds are drained over HTTP, within a rate limit, by a Stripe that takes its time."""
    limiter = Limiter(per_endpoint=sweep.RATE, per_account=4 * sweep.RATE)
    async with _over_http((sweep.SLOW_READS,)) as provider:
        customer = await _customer(provider)
        made = [intent.id for intent in await _intents(provider, count, customer)]
        await sweep.make_stale(place, db, made)
        transport = Transport(connections=sweep.LANES)
        limited = _provider(transport, BASE, limiter)
        try:
            return await sweep.drain(db, limited, count)
        finally:
            await transport.close_async()


async def _in_memory(place: Ground, db: PoolDb, seconds: int) -> WholePath:
    return await _whole(place, db, _provider(TwinTransport(Twin())), "twin in memory", seconds)


def _provider(
    transport: Transport, base: str = "http://twin", limiter: Limiter | None = None
) -> StripeProvider:
    limiter = limiter or Limiter(per_endpoint=1e6, per_account=1e6)
    return StripeProvider(SECRET_KEY, transport, breaker=Breaker(), limiter=limiter, base=base)


async def _whole(
    place: Ground, db: PoolDb, provider: StripeProvider, name: str, seconds: int
) -> WholePath:
    count = INTENTS_PER_SECOND * seconds
    customer = await _customer(provider)
    made = await _intents(provider, 2 * count, customer)
    cards = [await _card(provider, customer, number) for number in range(CARDS)]
    await asyncio.to_thread(place.fill, count, [intent.id for intent in made[:count]], cards)
    charge = await whole_path(db, provider, seconds * 0.6)
    return WholePath(name, charge, await bare_calls(provider, made[count:]))


async def _customer(provider: StripeProvider) -> str:
    key = key_of("bench", "customer")
    return _shown(await provider.create_customer({}, key, provider.deadline(60))).id


async def _card(provider: StripeProvider, customer: str, number: int) -> str:
    key, until = key_of("bench", "card", number), provider.deadline(60)
    return _shown(await provider.attach_payment_method("pm_card_visa", customer, key, until))


def _shown(answer: Result[T]) -> T:
    if not isinstance(answer, Shown):
        raise TypeError(f"the twin answered {answer}")
    return answer.value


async def _intents(provider: StripeProvider, count: int, customer: str) -> list[IntentView]:
    made: list[IntentView] = []

    async def make(number: int) -> None:
        params = {"amount": 1000, "currency": "eur", "customer": customer}
        key = key_of("bench", number)
        made.append(_shown(await provider.create_intent(params, key, provider.deadline(60))))

    for start in range(1, count + 1, 100):
        await asyncio.gather(*(make(n) for n in range(start, min(start + 100, count + 1))))
    return made


@asynccontextmanager
async def _over_http(faults: tuple[Rule, ...] = ()) -> AsyncGenerator[StripeProvider]:
    """The twin in a process of its own, so that its CPU is not counted as ours."""
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(PORT, faults), daemon=True
    )
    process.start()
    transport = Transport(connections=TASKS)
    provider = _provider(transport, BASE)
    try:
        await _answering(provider)
        yield provider
    finally:
        await transport.close_async()
        process.terminate()
        process.join()


async def _answering(provider: StripeProvider) -> None:
    for _ in range(100):
        if isinstance(await provider.retrieve_account(provider.deadline(5)), Shown):
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("the twin does not answer")


def _serve(port: int, faults: tuple[Rule, ...]) -> None:
    asyncio.run(run_twin(port=port, faults=faults))


def _database_lines(parts: list[DatabasePart]) -> list[Line]:
    floor = median(part.floor for part in parts)
    ratio = median(part.ratio for part in parts)
    alone = median(part.alone.per_second for part in parts)
    batched = median(part.batched.per_second for part in parts)
    batched_ratio = median(part.batched_ratio for part in parts)
    return [
        Line(
            "database part of a charge, claimed one at a time",
            f"{alone:,.0f}/s",
            f"{floor:,.0f}/s pgbench, same statements",
            f"{ratio:.2f}",
            f"at least {DATABASE_BUDGET}",
            ratio >= DATABASE_BUDGET,
        ),
        Line(
            f"the same, claimed in batches of {BATCH} as workers do",
            f"{batched:,.0f}/s",
            f"{floor:,.0f}/s pgbench, claims of one",
            f"{batched_ratio:.2f}",
            f"at least {DATABASE_BUDGET}",
            batched_ratio >= DATABASE_BUDGET,
        ),
    ]


def _path_lines(path: WholePath) -> list[Line]:
    return [
        Line(
            f"whole charge, {path.name}",
            f"{path.charge.per_second:,.0f}/s",
            f"{path.call.per_second:,.0f}/s bare call",
            f"{path.charge.per_second / path.call.per_second:.2f}",
            "",
            None,
        ),
        Line(
            f"client CPU of a charge, {path.name}",
            f"{path.charge.cpu_ms:.2f} ms",
            f"{path.call.cpu_ms:.2f} ms bare call",
            f"+{path.extra_cpu_ms:.2f} ms",
            f"at most +{CPU_BUDGET_MS} ms",
            path.extra_cpu_ms <= CPU_BUDGET_MS,
        ),
    ]


def _sweep_lines(drained: Drained) -> list[Line]:
    ratio = drained.per_second / sweep.RATE
    grown = (drained.rss_after - drained.rss_before) / max(1, drained.rss_before)
    delay = f"Stripe takes {sweep.LATENCY_S * 1000:.0f} ms"
    return [
        Line(
            f"sweep of {drained.checks:,} stale holds in {drained.runs} runs, {delay}",
            f"{drained.per_second:.1f}/s, each checked once",
            f"{sweep.RATE:.0f}/s configured for the endpoint",
            f"{ratio:.2f}",
            f"at least {SWEEP_BUDGET}",
            ratio >= SWEEP_BUDGET,
        ),
        Line(
            "memory of the same process, from its start to its end",
            f"{drained.rss_after / 1e6:.1f} MB",
            f"{drained.rss_before / 1e6:.1f} MB at the start",
            f"{grown:+.1%}",
            f"at most +{MEMORY_BUDGET:.0%}",
            grown <= MEMORY_BUDGET,
        ),
    ]


def _intake_line(taken: Taken) -> Line:
    return Line(
        f"intake of webhooks, {REPEATS} deliveries of each event at once",
        f"{taken.product:,.0f}/s",
        f"{taken.floor:,.0f}/s bare endpoint: HMAC and one INSERT",
        f"{taken.ratio:.2f}",
        f"at least {INTAKE_BUDGET}",
        taken.ratio >= INTAKE_BUDGET,
    )


def markdown(lines: list[Line], seconds: int, rounds: int) -> str:
    """The page that is kept: bench/RESULTS.md."""
    rows = "\n".join(
        f"| {line.what} | {line.product} | {line.floor} | {line.ratio} | {line.budget} | "
        f"{ {True: 'yes', False: 'no', None: ''}[line.met] } |"
        for line in lines
    )
    return f"""# Results

Written by `make bench`; ratios count, absolute figures drift with the machine. Product and floor
ran in one run on one server: embedded PostgreSQL with fsync and synchronous_commit on,
{os.cpu_count()} cores, Python {platform.python_version()}, {CONNECTIONS} connections each:
{TASKS} tasks in one process of the product, {CONNECTIONS} clients of pgbench. Medians of {rounds}
rounds of {seconds} s.

| what | product | floor | ratio | budget | met |
|---|---|---|---|---|---|
{rows}
"""
