"""The sweep with many stale holds: the rate it reaches, and the memory that it needs."""

import asyncio
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

import psycopg

from anchorhold.bench.charge import TIMING, One, Silent
from anchorhold.bench.ground import SCOPE, Ground
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.sweep import sweep
from anchorhold.lanes import Lanes
from anchorhold.store import holds
from anchorhold.store.db import PoolDb
from anchorhold.stripe.port import Provider
from anchorhold.twin.faults import FaultKind, Rule
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT

RATE = 100.0
"""Requests a second to one endpoint: four times what Stripe lets through."""
LATENCY_S = 0.1
LANES = 32
BUDGET_S = 60.0
"""A fifth of the default, so that more than one run is needed."""
CLAIMED_AT_ONCE = 500
SLOW_READS = Rule(FaultKind.SLOW, "GET /v1/payment_intents/{id}", probability=1, seconds=LATENCY_S)

ENDED: tuple[LiteralString, ...] = (
    "UPDATE anchorhold.invoice SET hold_until = hold_until - interval '1 hour'",
    "UPDATE anchorhold.attempt SET hold_until = hold_until - interval '1 hour'",
    "VACUUM ANALYZE",
)


@dataclass(frozen=True, slots=True)
class Drained:
    """What the sweep did: checks, runs, seconds, and resident bytes before and after."""

    checks: int
    runs: int
    seconds: float
    rss_before: int
    rss_after: int

    @property
    def per_second(self) -> float:
        """Checks a second over all runs."""
        return self.checks / self.seconds


async def make_stale(ground: Ground, db: PoolDb, intents: list[str]) -> None:
    """Each of these PaymentIntents stands for an invoice whose charge was lost an hour ago."""
    await asyncio.to_thread(ground.fill, len(intents), intents)
    left = len(intents)
    while left:
        claims = await holds.claim_due(db, SCOPE, TIMING, limit=CLAIMED_AT_ONCE, actor="bench")
        left -= len(claims)
    with psycopg.connect(ground.conninfo, autocommit=True) as conn:
        for statement in ENDED:
            conn.execute(statement)


async def drain(db: PoolDb, provider: Provider, count: int) -> Drained:
    """Sweeps ran one after the other until no stale hold was left.

    Raises RuntimeError when a hold was checked twice, or one was left out.
    """
    timing = replace(TIMING, sweep_budget_seconds=BUDGET_S)
    connected = Connected(provider, STRIPE_ACCOUNT, "fingerprint")
    deps = Deps(db, One(connected), timing, Silent(), "bench", Lanes(LANES))
    before, began, checks, runs = resident(), time.monotonic(), 0, 0
    while checks < count:
        swept = await sweep(deps, SCOPE)
        runs += 1
        checks += swept.checks
        if not swept.checks:
            raise RuntimeError(f"{count - checks} holds were left out: {swept}")
    if checks > count:
        raise RuntimeError(f"{checks - count} holds were checked twice")
    return Drained(checks, runs, time.monotonic() - began, before, resident())


def resident() -> int:
    """Bytes of this process that lie in memory (Linux; elsewhere 0)."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
