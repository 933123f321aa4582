"""Anchorhold's half of the demo: import, charge while workers die, recover, audit."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from anchorhold.demo.audit import Findings, audit, read_rows
from anchorhold.demo.processes import Herd, inherited, kill_now_and_then, program
from anchorhold.demo.scene import Scene, faults
from anchorhold.demo.workload import as_csv
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.server import TwinServer, serve
from anchorhold.twin.settings import Settings
from anchorhold.twin.world import SECRET_KEY, Twin

POLL_S = 0.4
OPERATORS = 4

STANDING: LiteralString = """
    SELECT count(*) FILTER (WHERE status = 'paid') AS paid,
           count(*) FILTER (WHERE status = 'open' AND payment_status = 'failed') AS declined,
           count(*) FILTER (WHERE hold_until < now()) AS confirming,
           count(*) FILTER (WHERE hold_until IS NOT NULL
                               OR payment_status IN ('pending', 'processing', 'unknown')) AS left
      FROM anchorhold.invoice
"""
RESOLVED: LiteralString = """
    SELECT rule, count(*) FROM anchorhold.attempt
     WHERE rule LIKE 'S%' OR rule IN ('A16', 'A18', 'D2')
     GROUP BY rule ORDER BY rule
"""
"""Attempts without a clear answer, by the row that resolved each: S rows are the sweep's."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far it is; `left` counts invoices on which something is still under way."""

    paid: int
    declined: int
    confirming: int
    left: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What Anchorhold's half came to."""

    findings: Findings
    kills: int
    unclear_answers: int
    resolved_by: dict[str, int]
    seconds: float
    faults_met: dict[str, int]


Tell = Callable[[Standing, int], None]
"""Called with the standing and the kills so far, several times a second."""


async def run(scene: Scene, conninfo: str, tell: Tell) -> Outcome:
    """The invoices were charged while workers died, and audited from Stripe's side."""
    began = time.monotonic()
    kept = Settings(key_life_s=scene.key_life_s)
    twin = Twin(seed=scene.seed, faults=faults(), settings=kept)
    async with _serving(twin) as server:
        env = inherited(_settings(scene, server.url))
        await _set_up(scene, env)
        herd = _workers(scene, env)
        try:
            await herd.start()
            await _until_done(scene, conninfo, herd, tell)
            asked = await _ask_the_operator(env, conninfo)
        finally:
            await herd.stop()
        resolved = {str(rule): int(count) for rule, count in _all(conninfo, RESOLVED)}
        return Outcome(
            findings=audit(read_rows(conninfo), Ledger(twin).by_metadata()),
            kills=herd.kills,
            unclear_answers=sum(resolved.values()),
            resolved_by=resolved | ({"operator": asked} if asked else {}),
            seconds=round(time.monotonic() - began, 1),
            faults_met=_met(twin),
        )


@asynccontextmanager
async def _serving(twin: Twin) -> AsyncGenerator[TwinServer]:
    server = await serve(twin)
    try:
        yield server
    finally:
        await server.stop()


def _settings(scene: Scene, url: str) -> dict[str, str]:
    pace = f"{scene.pace:.1f}"
    return {
        **scene.times,
        "ANCHORHOLD_DATA_DIR": str(scene.folder),
        "ANCHORHOLD_STRIPE_API_BASE": url,
        "ANCHORHOLD_STRIPE_KEY": SECRET_KEY,
        "ANCHORHOLD_STRIPE_RATE_PER_ENDPOINT": pace,
        "ANCHORHOLD_STRIPE_RATE": f"{4 * scene.pace:.1f}",
    }


async def _set_up(scene: Scene, env: dict[str, str]) -> None:
    file = scene.folder / "invoices.csv"
    file.write_text(as_csv(scene.invoices), encoding="utf-8")
    await program(env, "db", "up")
    await program(env, "account", "create", "default", *scene.mode.options)
    await program(env, "account", "connect", "default")
    await program(env, "invoice", "import", str(file))


def _workers(scene: Scene, env: dict[str, str]) -> Herd:
    command = (sys.executable, "-m", "anchorhold", "worker")
    return Herd([command] * scene.workers, env, scene.folder / "workers.log")


async def _until_done(scene: Scene, conninfo: str, herd: Herd, tell: Tell) -> None:
    """Charges run, workers die, and then recovery has until the scene's patience ends."""
    ends = time.monotonic() + scene.patience_s
    killer = asyncio.create_task(_kill_while_charging(scene, conninfo, herd))
    try:
        while time.monotonic() < ends:
            standing = await asyncio.to_thread(_standing, conninfo)
            herd.require_alive()
            tell(standing, herd.kills)
            if standing.left == 0 and killer.done():
                return
            await asyncio.sleep(POLL_S)
    finally:
        killer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await killer


async def _kill_while_charging(scene: Scene, conninfo: str, herd: Herd) -> None:
    while (await _standing_soon(conninfo)).paid < scene.invoices // 50:
        pass
    await kill_now_and_then(herd, scene.random, scene.kills, scene.pause_s, lambda: False)


async def _ask_the_operator(env: dict[str, str], conninfo: str) -> int:
    """What two attempts left without a trace is a person's to collect (rule S8): one does.

    The number of such invoices.
    """
    left = [row.id for row in read_rows(conninfo) if row.ending == "open"]
    for start in range(0, len(left), OPERATORS):
        few = left[start : start + OPERATORS]
        commands = (program(env, "invoice", "collect", id_, "--yes") for id_ in few)
        await asyncio.gather(*commands, return_exceptions=True)
    return len(left)


async def _standing_soon(conninfo: str) -> Standing:
    await asyncio.sleep(POLL_S)
    return await asyncio.to_thread(_standing, conninfo)


def _standing(conninfo: str) -> Standing:
    (row,) = _all(conninfo, STANDING)
    return Standing(*map(int, row))


def _all(conninfo: str, query: LiteralString) -> list[tuple[int | str, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def _met(twin: Twin) -> dict[str, int]:
    met: dict[str, int] = {}
    for entry in twin.requests:
        if entry.fault is not None:
            met[entry.fault.value] = met.get(entry.fault.value, 0) + 1
    return met
