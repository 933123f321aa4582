"""The one gate to PostgreSQL: one statement, one transaction, one round trip.

Connections are in autocommit, so a statement is its own transaction and nothing can stay open
while Stripe is called. Statements are literals (injection is a type error) and take named
parameters. A conditional write returns the row that it changed, or None: somebody else won.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString, Protocol, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from anchorhold import entropy
from anchorhold.domain.ids import IdKind
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store.rows import row_maker

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)

TRIES = 3
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure)


class Db(Protocol):
    """What a store function needs of a database."""

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """The statement's only row as `shape`, or None when it returned none."""
        ...

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """The statement's rows as `shape`."""
        ...

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """Fresh ids that sort after those made before."""
        ...

    def monotonic(self) -> float:
        """The clock that deadlines are written in, seconds."""
        ...


class PoolDb:
    """`Db` over a pool of psycopg connections in autocommit.

    A deadlock or a serialization failure rolled the whole statement back, so it is sent again, up
    to three times. A connection that turned read-only (a fail-over left it on a standby) is closed
    and not returned to the pool. Raises `Refusal(database_unreachable)` when no connection is to
    be had; every other error of psycopg goes through.
    """

    def __init__(self, pool: AsyncConnectionPool[AsyncConnection[tuple[Any, ...]]]) -> None:
        self._pool = pool

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`; more than one row is a bug and raises RuntimeError."""
        rows = await self.all(query, shape, **params)
        if len(rows) > 1:
            raise RuntimeError(f"one row expected, {len(rows)} came: {query[:80]}")
        return rows[0] if rows else None

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """See `Db.all`."""
        for left in reversed(range(TRIES)):
            try:
                return await self._once(query, shape, params)
            except _AGAIN:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _once(self, query: LiteralString, shape: type[T], params: dict[str, Any]) -> list[T]:
        async with self._connection() as conn:
            cursor = await conn.execute(query, params)
            if cursor.description is None:
                return []
            make = row_maker(shape, [column.name for column in cursor.description])
            return [make(values) for values in await cursor.fetchall()]

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[AsyncConnection[tuple[Any, ...]]]:
        try:
            async with self._pool.connection() as conn:
                try:
                    yield conn
                except errors.ReadOnlySqlTransaction:
                    await conn.close()
                    raise
        except PoolTimeout as error:
            raise Refusal(Code.DATABASE_UNREACHABLE, reason="no connection in time") from error

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """See `Db.new_ids`."""
        return [entropy.new_id(kind) for _ in range(count)]

    def monotonic(self) -> float:
        """See `Db.monotonic`."""
        return time.monotonic()


OPTIONS = "-c statement_timeout=60000 -c idle_in_transaction_session_timeout=10000 -c timezone=UTC"


@asynccontextmanager
async def connect(
    conninfo: str, *, size: int = 8, options: str = OPTIONS
) -> AsyncGenerator[PoolDb]:
    """A pool of up to `size` connections, closed at the end."""

    async def configure(conn: AsyncConnection[tuple[Any, ...]]) -> None:
        await conn.set_autocommit(True)

    pool = AsyncConnectionPool(
        conninfo,
        min_size=1,
        max_size=size,
        open=False,
        timeout=20,
        configure=configure,
        kwargs={"options": options, "autocommit": True},
    )
    await pool.open()
    try:
        yield PoolDb(pool)
    finally:
        await pool.close()


def only(values: Sequence[T]) -> T:
    """The only element."""
    (value,) = values
    return value


def probe(conninfo: str) -> None:
    """The database answers, or a refusal that names the setting and the next step.

    Raises Refusal: database_unreachable, database_password_wrong, settings_invalid. No refusal
    repeats the address, which may hold the password.
    """
    try:
        psycopg.connect(conninfo, connect_timeout=5, autocommit=True).close()
    except psycopg.ProgrammingError:
        name, reason = "ANCHORHOLD_DATABASE_URL", "libpq cannot read it as an address"
        raise Refusal(Code.SETTINGS_INVALID, name=name, reason=reason) from None
    except psycopg.OperationalError as error:
        said = str(error).strip()
        wrong = any(words in said for words in PASSWORD_WRONG)
        code = Code.DATABASE_PASSWORD_WRONG if wrong else Code.DATABASE_UNREACHABLE
        raise Refusal(code, reason=said.splitlines()[-1]) from error


PASSWORD_WRONG = ("password authentication failed", "no password supplied")
"""What PostgreSQL and libpq say about a user or a password that does not fit."""
