"""Two connections that meet at a row: one holds its transaction open, the other is seen waiting."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

from psycopg import AsyncConnection

from anchorhold import entropy
from anchorhold.domain.ids import IdKind
from anchorhold.store.rows import row_maker

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)
Connection = AsyncConnection[tuple[Any, ...]]

# A session that never waits is an error in the test; no test waits as long as this.
OPTIONS = "-c statement_timeout=20000 -c deadlock_timeout=50 -c timezone=UTC"


@dataclass
class OneDb:
    """`Db` over one connection; the test decides when its transaction ends."""

    conn: Connection

    @property
    def pid(self) -> int:
        """The backend."""
        return self.conn.info.backend_pid

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`."""
        rows = await self.all(query, shape, **params)
        assert len(rows) <= 1
        return rows[0] if rows else None

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """See `Db.all`."""
        cursor = await self.conn.execute(query, params)
        if cursor.description is None:
            return []
        make = row_maker(shape, [column.name for column in cursor.description])
        return [make(values) for values in await cursor.fetchall()]

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """See `Db.new_ids`."""
        return [entropy.new_id(kind) for _ in range(count)]

    def monotonic(self) -> float:
        """See `Db.monotonic`."""
        return 0.0


@dataclass
class Two:
    """`first` keeps its transaction open, `second` commits each statement by itself."""

    first: OneDb
    second: OneDb
    observer: Connection

    async def waits(self, db: OneDb, task: "asyncio.Task[Any]") -> bool:
        """Whether the statement that `task` sends on `db` waits for a lock; False: it is done."""
        while not task.done():
            cursor = await self.observer.execute(
                "SELECT cardinality(pg_blocking_pids(%s)) > 0", [db.pid]
            )
            if (await cursor.fetchall())[0][0]:
                return True
        return False


@asynccontextmanager
async def two(conninfo: str) -> AsyncGenerator[Two]:
    """Two sessions and one that watches them."""
    async with AsyncExitStack() as stack:

        async def session(*, autocommit: bool) -> Connection:
            conn = await AsyncConnection.connect(conninfo, autocommit=autocommit, options=OPTIONS)
            await stack.enter_async_context(conn)
            return conn

        first = await session(autocommit=False)
        second = await session(autocommit=True)
        yield Two(OneDb(first), OneDb(second), await session(autocommit=True))
