"""The other half of the demo: the plain retry loop under the same invoices, faults and kills."""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from anchorhold.demo.naive import TABLE
from anchorhold.demo.processes import Herd, inherited, kill_now_and_then
from anchorhold.demo.scene import CLIENT_PATIENCE_S, Scene, faults
from anchorhold.demo.workload import lines
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.server import serve
from anchorhold.twin.world import SECRET_KEY, Twin

METADATA = "plain_reference"
ROWS: LiteralString = "SELECT reference, status FROM plain_invoice ORDER BY reference"


@dataclass(frozen=True, slots=True)
class PlainOutcome:
    """What the plain loop came to, counted from Stripe's side."""

    double_charges: int
    lost_payments: int
    kills: int
    seconds: float


async def run(scene: Scene, conninfo: str, tell: Callable[[int, int], None]) -> PlainOutcome:
    """The same invoices went through the plain loop, and Stripe's side was counted."""
    began = time.monotonic()
    await asyncio.to_thread(_fill, scene, conninfo)
    twin = Twin(seed=scene.seed, faults=faults())
    server = await serve(twin)
    herd = _loops(scene, conninfo, server.url)
    try:
        await herd.start()
        await _until_ended(scene, conninfo, herd, tell)
    finally:
        await herd.stop()
        await server.stop()
    double, lost = _count(dict(_statuses(conninfo)), Ledger(twin).paid(METADATA))
    return PlainOutcome(double, lost, herd.kills, round(time.monotonic() - began, 1))


def _fill(scene: Scene, conninfo: str) -> None:
    rows = [
        (line.reference, line.payment_method, line.money.minor, line.currency)
        for line in lines(scene.invoices)
    ]
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS plain_invoice")
        conn.execute(TABLE)
        conn.cursor().executemany("INSERT INTO plain_invoice VALUES (%s, %s, %s, %s)", rows)


def _loops(scene: Scene, conninfo: str, url: str) -> Herd:
    def command(part: int) -> list[str]:
        patience, parts = str(CLIENT_PATIENCE_S), str(scene.workers)
        arguments = [conninfo, url, SECRET_KEY, patience, str(part), parts]
        return [sys.executable, "-m", "anchorhold.demo.naive", *arguments]

    commands = [command(part) for part in range(scene.workers)]
    return Herd(commands, inherited({}), scene.folder / "plain.log")


async def _until_ended(
    scene: Scene, conninfo: str, herd: Herd, tell: Callable[[int, int], None]
) -> None:
    ends = time.monotonic() + scene.patience_s
    killer = asyncio.create_task(
        kill_now_and_then(herd, scene.random, scene.kills, 0.5, lambda: herd.ended)
    )
    try:
        while time.monotonic() < ends and not herd.ended:
            statuses = await asyncio.to_thread(_statuses, conninfo)
            tell(sum(status != "open" for _, status in statuses), herd.kills)
            await asyncio.sleep(0.2)
    finally:
        killer.cancel()
        await asyncio.gather(killer, return_exceptions=True)


def _statuses(conninfo: str) -> list[tuple[str, str]]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return [(reference, status) for reference, status in conn.execute(ROWS).fetchall()]


def _count(statuses: dict[str, str], paid: dict[str, int]) -> tuple[int, int]:
    """Invoices charged more than once; invoices charged and not written down as paid."""
    double = sum(count > 1 for count in paid.values())
    lost = sum(bool(paid.get(name)) for name, status in statuses.items() if status != "paid")
    return double, lost
