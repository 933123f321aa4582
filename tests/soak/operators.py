"""Persons at a terminal: they close and change invoices under way, and some are killed.

Each is a process of the real program; what it says with its exit code is kept.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import LiteralString

import psycopg

from anchorhold.domain.refusals import Exit
from tests.soak.database import Database

PICK: LiteralString = """
    SELECT id FROM anchorhold.invoice WHERE status IN ('open', 'uncollectible')
     ORDER BY (hold_until IS NULL) = %s, random() LIMIT 1
"""
VERBS: Mapping[str, tuple[str, ...]] = {
    "void": ("--reason", "made twice"),
    "write-off": ("--reason", "bankrupt"),
    "paid-elsewhere": ("--reference", "bank transfer"),
    "amend": ("--reason", "late delivery", "--amount", "5000"),
    "collect": (),
}
"""What an operator does to an invoice, in the words of the command line."""
FINE = frozenset({Exit.DONE, Exit.REFUSED, Exit.UNAVAILABLE, -9})


class Operators:
    """Those who worked so far: whom they touched, and how their commands ended."""

    def __init__(self, database: Database, env: Mapping[str, str]) -> None:
        self._database = database
        self._env = env
        self.touched: set[str] = set()
        self.ends: Counter[tuple[str, int]] = Counter()
        self.fell_over: list[str] = []

    async def act(self, random: Random) -> None:
        """One did something to some invoice, or was killed before the end."""
        with suppress(psycopg.Error):
            for (id_,) in await self._database.rows(PICK, random.random() < 0.5):
                await self._command(random, random.choice([*VERBS]), id_)

    async def _command(self, random: Random, verb: str, id_: str) -> None:
        self.touched.add(id_)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "anchorhold", "invoice", verb, id_, "--yes", *VERBS[verb]),
            env=self._env,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        ending = asyncio.ensure_future(process.communicate())
        patience_s = random.uniform(0.3, 2.5) if random.random() < 0.4 else 60
        await asyncio.wait({ending}, timeout=patience_s)
        if not ending.done():
            process.kill()
        _, said = await ending
        code = process.returncode or 0
        self.ends[verb, code] += 1
        if code not in FINE:
            self.fell_over.append(f"{verb} {id_} ended with {code}: {said.decode().strip()[-300:]}")
