"""The store's gate to PostgreSQL in a world: one connection for all worlds, one turn a statement.

Statements are the store's own. Time and ids come from the world, so that a seed tells the same
story again.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any, LiteralString, TypeVar

import psycopg

from anchorhold.domain.ids import ENTROPY_BYTES, IdKind, make
from anchorhold.sim.ground import Ground, Rows, columns
from anchorhold.sim.statements import statement
from anchorhold.sim.turns import Asked, Fate, Kind, Turn
from anchorhold.store.rows import row_maker
from anchorhold.twin.clock import Clock

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)

_BROKEN = statement("broken")
_SETS = re.compile(
    r"\bUPDATE anchorhold\.(?:invoice|attempt)\b.*?\bSET\b(.*?)\b(?:WHERE|FROM)\b", re.DOTALL
)
_AUDITED = re.compile(r"\b(?:status|state|hold_until|hold_attempt|charge_seq)\s+=")


@cache
def _writes(query: str) -> bool:
    """The statement can end what the auditor looks at after each step: an attempt or a hold."""
    return any(_AUDITED.search(assigned) for assigned in _SETS.findall(query))


@cache
def _changes(query: str) -> bool:
    """The statement can change an invoice or one of its attempts, intents and payments."""
    return _CHANGED.search(query) is not None


_CHANGED = re.compile(r"(?:UPDATE|INSERT INTO) anchorhold\.(?:invoice|attempt|intent|payment)\b")


class WorldDb:
    """`store.db.Db` for the processes of one world."""

    def __init__(self, ground: Ground, clock: Clock, random: Random) -> None:
        self._ground = ground
        self._clock = clock
        self._random = random
        self.broken: Rows = []
        """What the commits since the auditor looked have left broken."""
        self.seen: Callable[[str], None] | None = None
        """Told of each statement that changed rows, by the name of its function."""
        self._ids = 0

    @staticmethod
    def edited(query: bytes) -> bytes:
        """The statement as it is carried out; a planted bug changes it."""
        return query

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`."""
        rows = await self.all(query, shape, **params)
        if len(rows) > 1:
            raise RuntimeError(f"one row expected, {len(rows)} came: {query[:80]}")
        return rows[0] if rows else None

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """See `Db.all`. Raises psycopg.OperationalError when the answer is lost."""
        fate = await Turn(Kind.STATEMENT, _name(query))
        audited = _writes(query)
        statements = [(self.edited(query.encode()), params)]
        if audited:  # with it goes the auditor's, which sees what the commit leaves behind
            statements.append((_BROKEN, params))
        answers = await Asked(self._clock(), statements)
        if audited:
            self.broken += answers[1]
        made = self._made(query, shape, answers[0])
        self._tell(query, _name(query))
        if fate is Fate.LOSES_ANSWER:
            raise psycopg.OperationalError("the connection was lost")
        return made

    def execute(self, query: bytes, params: dict[str, Any]) -> Rows:
        """The rows of a statement that is carried out now, at the world's time."""
        rows = self._ground.run(query, params, self._clock())
        self._tell(query.decode(), "outside")
        return rows

    def _tell(self, query: str, name: str) -> None:
        if self.seen is not None and _changes(query):
            self.seen(name)

    def _made(self, query: str, shape: type[T], rows: Rows) -> list[T]:
        """The rows as `shape`; how is worked out once a statement."""
        if not rows:
            return []
        make_row = _MAKERS.get((query, shape))
        if make_row is None:
            make_row = _MAKERS[query, shape] = row_maker(
                shape, columns(self.edited(query.encode()))
            )
        return [make_row(values) for values in rows]

    def in_transaction(self) -> bool:
        """Whether a transaction is open at this moment."""
        return self._ground.in_transaction()

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


def _caller() -> str:
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("anchorhold.store."):
            return f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "statement"
