"""The store's gate to PostgreSQL in a world: one synchronous connection, one turn a statement.

Statements are the store's own, prepared once for all worlds. Time and ids come from the world, so
that a seed tells the same story again.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any, LiteralString, TypeVar

import psycopg

from anchorhold.domain.ids import ENTROPY_BYTES, IdKind, make
from anchorhold.sim.statements import statement
from anchorhold.sim.turns import Fate, Kind, Turn
from anchorhold.store.rows import row_maker
from anchorhold.twin.clock import Clock

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)

Connection = psycopg.Connection[tuple[Any, ...]]
SETTINGS = {
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    "synchronous_commit": "off",
    "timezone": "UTC",
}
"""Plans are made once, on nearly empty tables, and serve all worlds."""


def prepared(conninfo: str) -> Connection:
    """A connection for worlds, whose database has the worlds' clock from now on."""
    connection = psycopg.connect(conninfo, autocommit=True)
    connection.prepare_threshold, connection.prepared_max = 0, 500
    for setting in SETTINGS.items():
        psycopg.RawCursor(connection).execute(statement("set"), setting)
    connection.execute(statement("clock"))
    return connection


class WorldDb:
    """`store.db.Db` for the processes of one world."""

    def __init__(self, connection: Connection, clock: Clock, random: Random) -> None:
        self._connection = connection
        self._clock = clock
        self._random = random
        self._cursor = psycopg.RawCursor(connection)
        self._told: float | None = None
        self._ids = 0

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`."""
        rows = await self.all(query, shape, **params)
        if len(rows) > 1:
            raise RuntimeError(f"one row expected, {len(rows)} came: {query[:80]}")
        return rows[0] if rows else None

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """See `Db.all`. Raises psycopg.OperationalError when the answer is lost."""
        fate = await Turn(Kind.STATEMENT, _name(query))
        rows = self.execute(query.encode(), params)
        if fate is Fate.LOSES_ANSWER:
            raise psycopg.OperationalError("the connection was lost")
        return self._made(query, shape, rows)

    def execute(self, query: bytes, params: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a statement that is carried out now, at the world's time."""
        now = self._clock()
        if now != self._told:
            self._cursor.execute(statement("set"), ["anchorhold.world_clock", str(now)])
            self._told = now
        self._cursor.execute(*_positional(query, params))
        return self._cursor.fetchall() if self._cursor.rownumber is not None else []

    def _made(self, query: str, shape: type[T], rows: list[tuple[Any, ...]]) -> list[T]:
        """The rows as `shape`; what the columns are called is asked once a statement."""
        if not rows:
            return []
        make_row = _MAKERS.get((query, shape))
        if make_row is None:
            names = [column.name for column in self._cursor.description or ()]
            make_row = _MAKERS[query, shape] = row_maker(shape, names)
        return [make_row(values) for values in rows]

    def in_transaction(self) -> bool:
        """Whether a transaction is open at this moment."""
        return self._connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """See `Db.new_ids`; a later one sorts later in the same millisecond too."""
        made = []
        for _ in range(count):
            self._ids += 1
            entropy = self._ids.to_bytes(4) + self._random.randbytes(ENTROPY_BYTES - 4)
            made.append(make(kind, int(self._clock() * 1000), entropy))
        return made

    def monotonic(self) -> float:
        """See `Db.monotonic`."""
        return self._clock()


_MAKERS: dict[tuple[str, type], Callable[[Sequence[Any]], Any]] = {}
_NAMES: dict[str, str] = {}


def _name(query: str) -> str:
    """The store function whose statement this is: `holds.claim_due`; looked up once each."""
    name = _NAMES.get(query)
    if name is None:
        name = _NAMES[query] = _caller()
    return name


def _positional(query: bytes, params: dict[str, Any]) -> tuple[bytes, list[Any]]:
    """The statement with numbers for names, as PostgreSQL takes it; worked out once each."""
    text, names = _numbered(query)
    return text, [params[name] for name in names]


@cache
def _numbered(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    names: dict[bytes, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return b"$%d" % names.setdefault(found[1], len(names) + 1)

    text = _NAMED.sub(number, query).replace(b"%%", b"%")
    return text, tuple(name.decode() for name in names)


_NAMED = re.compile(rb"%\((\w+)\)s")


def _caller() -> str:
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("anchorhold.store."):
            return f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "statement"
