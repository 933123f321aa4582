"""A worker is killed in mid-charge: how long until the invoices are settled, at default times?

`python bench/lost_charge.py [--write docs/proof/lost-charge.md]`, about six minutes. Two workers,
a PostgreSQL and a twin. Stripe takes every payment at once and keeps its answers back; the worker
that sent the most is killed with SIGKILL while it waits. The other one lives, and its answers never
come either. Exit code 6 when an invoice took longer than the budget, or was not paid once.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg

from anchorhold import postgres
from anchorhold.demo.processes import Herd, inherited, program
from anchorhold.domain.refusals import Exit
from anchorhold.domain.timing import Timing
from anchorhold.twin import SECRET_KEY, FaultKind, Rule, Twin
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.server import TwinServer, serve

BUDGET_S = 360
INVOICES = 12
POLL_S = 0.1
CONFIRM = "POST /v1/payment_intents/{id}/confirm"

SENDERS: LiteralString = """
    SELECT a.invoice_id, split_part(a.actor, ':', 3) FROM anchorhold.attempt a
     WHERE a.state = 'sending'
"""
PAID: LiteralString = """
    SELECT p.invoice_id, p.source FROM anchorhold.payment p
      JOIN anchorhold.invoice i ON i.id = p.invoice_id
     WHERE i.status = 'paid' AND i.hold_until IS NULL
"""


@dataclass(frozen=True, slots=True)
class Settled:
    """One invoice: whether its worker was killed, seconds from the kill, and who found it."""

    killed: bool
    seconds: float
    source: str


async def measure(folder: Path) -> tuple[list[Settled], dict[str, int]]:
    """Each invoice's end, and how often each is paid at Stripe."""
    twin = Twin(faults=[Rule(FaultKind.SLOW, CONFIRM, probability=1, seconds=3600)])
    conninfo = postgres.start(folder / "postgres").conninfo
    try:
        async with _serving(twin) as server, _workers(folder, server.url) as herd:
            senders = await _all_sent(conninfo, twin)
            pid = Counter(senders.values()).most_common(1)[0][0]
            await herd.kill_pid(int(pid))
            began = time.monotonic()
            ends = await _ends(conninfo, began)
        found = [
            Settled(senders[invoice] == pid, seconds, source)
            for invoice, (seconds, source) in ends.items()
        ]
        return found, Ledger(twin).paid()
    finally:
        postgres.stop(folder / "postgres")


@asynccontextmanager
async def _serving(twin: Twin) -> AsyncGenerator[TwinServer]:
    server = await serve(twin)
    try:
        yield server
    finally:
        await server.stop()


class _Workers(Herd):
    """Workers of which one dies for good."""

    async def kill_pid(self, pid: int) -> None:
        """The worker with this number got SIGKILL and is not replaced."""
        process = next(one for one in self._running.values() if one.pid == pid)
        process.kill()
        await process.wait()


@asynccontextmanager
async def _workers(folder: Path, url: str) -> AsyncGenerator[_Workers]:
    env = inherited(
        {
            "ANCHORHOLD_DATA_DIR": str(folder),
            "ANCHORHOLD_STRIPE_API_BASE": url,
            "ANCHORHOLD_STRIPE_KEY": SECRET_KEY,
        }
    )
    file = folder / "invoices.csv"
    rows = [f"R{n},C{n},c@example.com,pm_card_visa,9.90,eur,2026-01-01" for n in range(INVOICES)]
    head = "reference,customer,email,payment_method,amount,currency,due_date"
    file.write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    await program(env, "db", "up")
    await program(env, "account", "connect")
    await program(env, "invoice", "import", str(file))
    command = (sys.executable, "-m", "anchorhold", "worker")
    herd = _Workers([command, command], env, folder / "workers.log")
    await herd.start()
    try:
        yield herd
    finally:
        await herd.stop()


async def _all_sent(conninfo: str, twin: Twin) -> dict[str, str]:
    """Which process sent each charge; every one has reached Stripe."""
    async with asyncio.timeout(60):
        while (  # noqa: ASYNC110 - the twin tells nobody
            sum(entry.path.endswith("/confirm") for entry in twin.requests) < INVOICES
        ):
            await asyncio.sleep(POLL_S)
    return {str(invoice): str(pid) for invoice, pid in _rows(conninfo, SENDERS)}


async def _ends(conninfo: str, began: float) -> dict[str, tuple[float, str]]:
    """Seconds until each invoice was paid and free, and the source of the news."""
    ends: dict[str, tuple[float, str]] = {}
    async with asyncio.timeout(2 * BUDGET_S):
        while len(ends) < INVOICES:
            await asyncio.sleep(POLL_S)
            seconds = time.monotonic() - began
            for invoice, source in _rows(conninfo, PAID):
                ends.setdefault(str(invoice), (seconds, str(source)))
    return ends


def _rows(conninfo: str, query: LiteralString) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def page(found: list[Settled], paid: dict[str, int]) -> str:
    """The page that is kept."""
    rows = "\n".join(
        f"| {who} | {len(group)} | {min(group):.0f} s | {max(group):.0f} s | {', '.join(sources)} |"
        for who, killed in (("was killed", True), ("lived", False))
        if (group := [one.seconds for one in found if one.killed is killed])
        for sources in [sorted({one.source for one in found if one.killed is killed})]
    )
    timing = Timing()
    once = sum(count == 1 for count in paid.values())
    return f"""# How long a lost charge is unclear

Written by `make measure-lost-charge`, with real processes and the times as delivered: a hold of
{timing.hold_seconds:.0f} s, a deadline of {timing.deadline_auto_seconds:.0f} s. Two workers charge
{INVOICES} invoices; Stripe (the twin, over HTTP) takes each payment at once and never sends its
answer; one worker is killed with SIGKILL while it waits. The clock starts at the kill.

| the worker that sent it | charges | first settled after | last settled after | found by |
|---|---|---|---|---|
{rows}

{once} of {INVOICES} invoices were paid exactly once at Stripe. The budget for a killed process is
{BUDGET_S} s: the rest of its hold, and then one look at the PaymentIntent. A process that lives
asks Stripe itself when its deadline passes.
"""


def main() -> int:
    """Measure, show, and write the page when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    write: Path | None = parser.parse_args().write
    with tempfile.TemporaryDirectory(prefix="anchorhold-lost-") as name:
        found, paid = asyncio.run(measure(Path(name)))
    text = page(found, paid)
    print(text)
    if write is not None:
        write.parent.mkdir(exist_ok=True)
        write.write_text(text, encoding="utf-8")
    late = [one for one in found if one.seconds > BUDGET_S]
    twice = [invoice for invoice, count in paid.items() if count != 1]
    return Exit.FINDINGS if late or twice or len(paid) != INVOICES else Exit.DONE


if __name__ == "__main__":
    sys.exit(main())
