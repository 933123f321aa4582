"""The database that worlds are played in: a server of their own that forgets on power loss.

Statements go to it through libpq itself, prepared once for all worlds, as the store's connections
prepare them: the same text and the same types of parameters.
"""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from anchorhold import postgres
from anchorhold.sim.statements import statement
from anchorhold.sim.turns import Asked
from anchorhold.store.migrate import upgrade

Connection = psycopg.Connection[tuple[Any, ...]]
Rows = list[tuple[Any, ...]]
_Ready = tuple[bytes, Sequence[Any], Sequence[Any] | None, bytes, bytes | None]
"""Its plan, parameters and their formats, its text, and the time that is told along with it."""

SETTINGS = {
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    "synchronous_commit": "off",
    "timezone": "UTC",
    "track_activities": "off",
    "track_counts": "off",
    "update_process_title": "off",
}
"""Plans are made once, on nearly empty tables, and serve all worlds; nobody watches the server."""

_AT = statement("at").replace(b"%(now)s", b"$1")
_TEXT_OID = 25

RECYCLED_AFTER = 2000
"""Worlds until the tables are emptied: rows of ended worlds only make the caches cold."""


class Ground:
    """One connection to a database of worlds, and the statements that it has prepared."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.alive = 0
        self.played = 0
        self.templates: dict[object, Any] = {}
        """Worlds that are copied, by kind."""
        self.generation = 0
        """How often the tables were emptied."""
        self._numbers = 0
        self._now = 0.0
        self._libpq = connection.pgconn
        self._transformer = Transformer(connection)
        self._plans: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._at = self._prepare(_AT, (_TEXT_OID,))

    def run(self, query: bytes, params: dict[str, Any], now: float | None = None) -> Rows:
        """The rows of a statement with named parameters, at this time of the worlds' clock."""
        return self.answer(Asked(self._now if now is None else now, [(query, params)]))[0]

    def answer(self, asked: Asked) -> list[Rows]:
        """The rows of each of its statements; raises what PostgreSQL refused, by its class."""
        (answered,) = self.answer_all([asked])
        if isinstance(answered, Exception):
            raise answered
        return answered

    def answer_all(self, every: Sequence[Asked]) -> list[list[Rows] | Exception]:
        """What each of these is answered, in one round trip; each statement is its own commit."""
        sent = [self._of(asked) for asked in every]
        self._libpq.enter_pipeline_mode()
        for one in chain.from_iterable(sent):
            self._send(one)
        results = [[self._result(one[4]) for one in ready] for ready in sent]
        self._libpq.exit_pipeline_mode()
        return [self._answered(*both) for both in zip(sent, results, strict=True)]

    def _of(self, asked: Asked) -> list[_Ready]:
        """All that is sent for it."""
        self._now = asked.now
        told = str(asked.now).encode()
        return [self._ready(query, params, told) for query, params in asked.statements]

    def _send(self, ready: _Ready) -> None:
        """The statement is sent, and the time in front of it in the same commit."""
        plan, dumped, formats, _, told = ready
        if told is not None:
            self._libpq.send_query_prepared(self._at, (told,))
        self._libpq.send_query_prepared(plan, dumped, formats)
        self._libpq.pipeline_sync()

    def _answered(
        self, ready: Sequence[_Ready], results: Sequence[PGresult]
    ) -> list[Rows] | Exception:
        try:
            pairs = zip(ready, results, strict=True)
            return [self._rows(one[3], got) for one, got in pairs]
        except psycopg.Error as error:
            return error

    def _ready(self, query: bytes, params: dict[str, Any], told: bytes) -> _Ready:
        text, names = _numbered(query)
        transformer = self._transformer
        dumped = transformer.dump_sequence([params[name] for name in names], _FORMATS[len(names)])
        types = transformer.types or ()
        plan = self._plans.get((text, types)) or self._prepare(text, types)
        return plan, dumped, transformer.formats, text, told if _needs_clock(text) else None

    def _result(self, told: bytes | None) -> PGresult:
        """The next statement's result; its end and its commit are read with it."""
        if told is not None:
            self._libpq.get_result()
            self._libpq.get_result()
        result = self._libpq.get_result()
        assert result is not None
        while (then := self._libpq.get_result()) is None or then.status != ExecStatus.PIPELINE_SYNC:
            pass
        return result

    def _rows(self, text: bytes, result: PGresult) -> Rows:
        if result.status == ExecStatus.TUPLES_OK:
            self._transformer.set_pgresult(result)
            if text not in _COLUMNS:
                _COLUMNS[text] = _names(result)
            return self._transformer.load_rows(0, result.ntuples, tuple)
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)
        return []

    def _prepare(self, text: bytes, types: tuple[int, ...]) -> bytes:
        plan = b"world_%d" % len(self._plans)
        result = self._libpq.prepare(plan, text, types)
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)
        self._plans[text, types] = plan
        return plan

    def in_transaction(self) -> bool:
        """Whether a transaction is open at this moment."""
        return self._libpq.transaction_status != TransactionStatus.IDLE

    def number(self) -> int:
        """Another number each time, for worlds' accounts."""
        self._numbers += 1
        return self._numbers

    def begin(self) -> None:
        """A world begins. While no other is alive, old ones' rows are emptied now and then."""
        if self.full and not self.alive:
            self.played = 0
            self.generation += 1
            self.templates.clear()
            self.connection.execute(statement("empty"))
        self.alive += 1

    def end(self) -> None:
        """A world has ended."""
        self.played += 1
        self.alive -= 1

    @property
    def full(self) -> bool:
        """So many worlds have left their rows that no more should begin before those are gone."""
        return self.played >= RECYCLED_AFTER


_FORMATS = [[PyFormat.AUTO] * count for count in range(100)]
_COLUMNS: dict[bytes, tuple[str, ...]] = {}


def _names(result: PGresult) -> tuple[str, ...]:
    fields = (result.fname(at) or b"" for at in range(result.nfields))
    return tuple(name.decode() for name in fields)


def columns(query: bytes) -> tuple[str, ...]:
    """What the columns of this statement are called; it has given rows before."""
    return _COLUMNS[_numbered(query)[0]]


@cache
def _numbered(query: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The statement with numbers for names, as PostgreSQL takes it."""
    names: dict[bytes, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return b"$%d" % names.setdefault(found[1], len(names) + 1)

    text = _NAMED.sub(number, query).replace(b"%%", b"%")
    return text, tuple(name.decode() for name in names)


@cache
def _needs_clock(text: bytes) -> bool:
    """Whether the statement can ask for the time: one that only reads does so where it says so.

    Whatever writes may do so in a default or in a trigger.
    """
    bare = _COMMENT.sub(b"", text).lstrip()
    return not bare.startswith(b"SELECT") or _CALLS.search(bare) is not None


_COMMENT = re.compile(rb"--[^\n]*\n")
_CALLS = re.compile(rb"\banchorhold\.\w+\(")
_NAMED = re.compile(rb"%\((\w+)\)s")


@contextmanager
def on(conninfo: str) -> Generator[Ground]:
    """Worlds' ground on this migrated database, which has the worlds' clock from now on."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        made = Ground(connection)
        for name, value in SETTINGS.items():
            made.run(statement("set"), {"name": name, "value": value})
        connection.execute(statement("clock"))
        connection.execute(statement("unlogged"))
        yield made


@contextmanager
def ground() -> Generator[Ground]:
    """A new, migrated database; server and folder are gone afterwards."""
    with TemporaryDirectory(prefix="anchorhold-sim-") as name:
        folder = Path(name) / "postgres"
        conninfo = postgres.start(folder, durable=False).conninfo
        try:
            upgrade(conninfo)
            with on(conninfo) as made:
                yield made
        finally:
            postgres.stop(folder)
