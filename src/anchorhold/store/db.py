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
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure, errors.ReadOnlySqlTransaction)

Connection = AsyncConnection[tuple[Any, ...]]


class Db(Protocol):
    """What a store function needs of a database."""

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """The statement's only row as `shape`, or None when it returned none."""
        ...

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """The statement's rows as `shape`."""
        ...

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """Fresh ids, in order among themselves."""
        ...

    def monotonic(self) -> float:
        """The clock that deadlines are written in, seconds."""
        ...


class PoolDb:
    """`Db` over a pool of psycopg connections in autocommit.

    A deadlock or a serialization failure rolled the whole statement back, and a read-only server
    did nothing (a fail-over left us on a standby): it is sent again, up to three times, in the
    last case on new connections. A connection that the server has closed is not used. Raises
    `Refusal(database_unreachable)` when no connection is to be had; every other error of psycopg
    goes through, and then nobody knows whether the statement had its effect.
    """

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
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
    async def _connection(self) -> AsyncGenerator[Connection]:
        conn = await self._living()
        try:
            async with conn:
                yield conn
        except errors.ReadOnlySqlTransaction:
            await self._pool.drain()
            raise
        finally:
            await self._pool.putconn(conn)

    async def _living(self) -> Connection:
        """A connection that was not closed while it waited; asks the socket, not the server."""
        try:
            while _closed_by_server(conn := await self._pool.getconn()):
                await self._pool.putconn(conn)
        except PoolTimeout as error:
            raise Refusal(Code.DATABASE_UNREACHABLE, reason="no connection in time") from error
        return conn

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """See `Db.new_ids`."""
        return sorted(entropy.new_id(kind) for _ in range(count))

    def monotonic(self) -> float:
        """See `Db.monotonic`."""
        return time.monotonic()


def _closed_by_server(conn: Connection) -> bool:
    """Whether the server ended the session; its last words come first, so two looks (1 µs)."""
    try:
        conn.pgconn.consume_input()
        conn.pgconn.consume_input()
    except psycopg.OperationalError:
        return True
    return False


_SETTINGS = """
    SELECT set_config('statement_timeout', '60000', false),
           set_config('idle_in_transaction_session_timeout', '10000', false),
           set_config('timezone', 'UTC', false)
"""


async def _configure(conn: Connection) -> None:
    """A session of our own has its time-outs; one of a pooler leaves nothing behind.

    Behind a pooler in transaction mode (PgBouncer) the next transaction may run in another
    session, where neither settings nor prepared statements are. Such a pooler shows itself by the
    process number, which it makes up.
    """
    await conn.set_autocommit(True)
    cursor = await conn.execute("SELECT pg_backend_pid()")
    if await cursor.fetchone() == (conn.info.backend_pid,):
        await conn.execute(_SETTINGS)
    else:
        conn.prepare_threshold = None


@asynccontextmanager
async def connect(
    conninfo: str, *, size: int = 8, patience_s: float = 20
) -> AsyncGenerator[PoolDb]:
    """A pool of up to `size` connections, closed at the end; one is waited for `patience_s`."""
    pool = AsyncConnectionPool(
        conninfo,
        min_size=1,
        max_size=size,
        open=False,
        timeout=patience_s,
        configure=_configure,
        kwargs={"autocommit": True},
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
        # Behind what failed libpq puts a question to the reader, indented.
        facts = [line for line in said.splitlines() if not line.startswith("\t")]
        raise Refusal(code, reason=facts[-1]) from error


def broken_off(error: Exception) -> Refusal | None:
    """What to say when a statement ended so: nobody knows whether it had its effect.

    Also for a server that only reads (a standby). None for every other error, which is a bug.
    """
    if not isinstance(error, psycopg.OperationalError | errors.ReadOnlySqlTransaction):
        return None
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    reason = f"it broke off in the middle, when the last step may have been done ({said})"
    return Refusal(Code.DATABASE_UNREACHABLE, reason=reason)


PASSWORD_WRONG = ("password authentication failed", "no password supplied")
"""What PostgreSQL and libpq say about a user or a password that does not fit."""
