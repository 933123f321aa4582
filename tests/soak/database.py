"""The soak's own PostgreSQL: killed, made read-only, slowed by locks, and started again."""

import asyncio
import os
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anchorhold import postgres
from tests.soak.proxy import Streams

APPLICATION = "soak"
"""How the sessions of this tool call themselves."""
STARTS = 10
UNTROUBLED = (
    "-c default_transaction_read_only=off -c lock_timeout=0 "
    "-c default_transaction_isolation=read\\ committed"
)
BACKENDS: LiteralString = """
    SELECT pid FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND datname = current_database()
       AND application_name <> %s
"""
IN_OPPOSITE_ORDER: LiteralString = """
    SELECT invoice_id FROM anchorhold.attempt
     WHERE state IN ('claimed', 'sending') ORDER BY id DESC LIMIT 20 FOR UPDATE SKIP LOCKED
"""
THEN: LiteralString = "SELECT FROM anchorhold.invoice WHERE id = ANY(%s) FOR UPDATE"
ERRORS = {
    "deadlock detected": "deadlocks",
    "could not serialize access": "serialization failures",
    "in a read-only transaction": "writes refused as read-only",
    "canceling statement due to lock timeout": "lock time-outs",
    "terminating connection due to administrator command": "backends terminated",
    "database system was not properly shut down": "crash recoveries",
    "unexpected EOF on client connection": "connections lost in a transaction",
    "could not receive data from client": "connections reset",
}
"""What the server writes into its log, and what it means here."""


class Database:
    """A server of our launcher in a folder of its own; without fsync unless `durable`."""

    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder = folder
        self._durable = durable
        self._starting = asyncio.Lock()
        self.conninfo = ""
        self.lost: list[tuple[float, float]] = []
        """From when to when nothing that was committed is there any more, in seconds since 1970."""

    async def start(self) -> None:
        """The server runs; also after it was killed, and killed again while it recovered."""
        async with self._starting:
            await self._start_at_last()

    async def _start_at_last(self) -> None:
        for left in reversed(range(STARTS)):
            try:
                started = await asyncio.to_thread(self._start)
            except postgres.PostgresError:
                if not left:
                    raise
            else:
                self.conninfo = make_conninfo(started.conninfo, application_name=APPLICATION)
                return

    def _start(self) -> postgres.Server:
        return postgres.start(self.folder, durable=self._durable)

    async def stop(self) -> None:
        """No process of it is left."""
        await asyncio.to_thread(postgres.stop, self.folder)

    async def reach(self) -> Streams:
        """A raw connection to its socket."""
        parts = conninfo_to_dict(self.conninfo)
        return await asyncio.open_unix_connection(f"{parts['host']}/.s.PGSQL.{parts['port']}")

    async def connect(self) -> AsyncConnection[tuple[Any, ...]]:
        """A session of this tool, which may write even in a read-only spell."""
        return await AsyncConnection.connect(self.conninfo, options=UNTROUBLED, autocommit=True)

    async def rows(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        async with await self.connect() as conn:
            cursor = await conn.execute(query, values)
            return await cursor.fetchall() if cursor.description else []

    async def end(self, number: signal.Signals, down_s: float) -> None:
        """The postmaster got this signal, and was started again after so long."""
        if (pid := postgres.status(self.folder).pid) is None:
            return
        os.kill(pid, number)
        await asyncio.sleep(down_s)
        await self.start()

    async def rewind(self, seconds: float) -> None:
        """All that was committed in so many seconds is lost: the files are an older copy again."""
        cluster, copy = self.folder / "cluster", self.folder.parent / "copy"
        began = time.time()
        await self._replace(cluster, copy)
        await asyncio.sleep(seconds)
        await self._replace(copy, cluster)
        self.lost.append((began, time.time()))

    async def _replace(self, source: Path, target: Path) -> None:
        """`target` is as `source` while no server runs; it runs again afterwards."""
        async with self._starting:
            await self.stop()
            await asyncio.to_thread(shutil.rmtree, target, ignore_errors=True)
            await asyncio.to_thread(shutil.copytree, source, target)
            await self._start_at_last()

    async def terminate(self, random: Random, share: float) -> None:
        """Such a share of the program's sessions was ended by the server."""
        with suppress(psycopg.OperationalError):
            pids = sorted(pid for (pid,) in await self.rows(BACKENDS, APPLICATION))
            chosen = random.sample(pids, round(share * len(pids)))
            await self.rows("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) pid", chosen)

    async def spell(self, name: LiteralString, value: LiteralString, seconds: float) -> None:
        """For so long all sessions have this setting; it has ended also if the server died."""
        with suppress(psycopg.OperationalError):
            await self._set(name, value)
        await asyncio.sleep(seconds)
        while True:
            with suppress(psycopg.OperationalError):
                return await self._set(name, "DEFAULT")
            await self.start()

    async def _set(self, name: LiteralString, value: LiteralString) -> None:
        async with await self.connect() as conn:
            await conn.execute("ALTER SYSTEM SET " + name + " TO " + value)
            await conn.execute("SELECT pg_reload_conf()")

    async def lock(self, seconds: float) -> None:
        """Attempts were locked, then their invoices: the other way round than the program does.

        This session waits longer than the program's, so that those find the deadlock.
        """
        with suppress(psycopg.Error):
            async with await self.connect() as conn, conn.transaction():
                await conn.execute("SET LOCAL deadlock_timeout = '30s'")
                await conn.execute("SET LOCAL statement_timeout = '10s'")
                cursor = await conn.execute(IN_OPPOSITE_ORDER)
                ids = [id_ for (id_,) in await cursor.fetchall()]
                await asyncio.sleep(seconds)
                await conn.execute(THEN, [ids])

    def met(self) -> Counter[str]:
        """How often the server's log speaks of each kind of trouble."""
        found: Counter[str] = Counter()
        with (self.folder / "postgres.log").open(encoding="utf-8", errors="replace") as log:
            for line in log:
                found.update(name for words, name in ERRORS.items() if words in line)
        return found
