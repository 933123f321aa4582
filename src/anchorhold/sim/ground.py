"""The database that worlds are played in: a server of their own that forgets on power loss.

Statements go to it through libpq itself, prepared once for all worlds, as the store's connections
prepare them: the same text and the same types of parameters.
"""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from anchorhold import postgres
from anchorhold.sim.statements import statement
from anchorhold.store.migrate import upgrade

Connection = psycopg.Connection[tuple[Any, ...]]
Rows = list[tuple[Any, ...]]
_Ready = tuple[bytes, Sequence[Any], Sequence[Any] | None, bytes]

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

RECYCLED_AFTER = 2000
"""Worlds until the tables are emptied: rows of ended worlds only make the caches cold."""


class Ground:
    """One connection to a database of worlds, and the statements that it has prepared."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.played = 0
        self.templates: dict[object, Any] = {}
        """Worlds that are copied, by kind."""
        self.generation = 0
        """How often the tables were emptied."""
        self._numbers = 0
        self._libpq = connection.pgconn
        self._transformer = Transformer(connection)
        self._plans: dict[tuple[bytes, tuple[int, ...]], bytes] = {}

    def run(self, query: bytes, params: dict[str, Any]) -> Rows:
        """The rows of a statement with named parameters."""
        return self.run_all([(query, params)])[0]

    def run_all(self, asked: Sequence[tuple[bytes, dict[str, Any]]]) -> list[Rows]:
        """The rows of each of these statements, in one round trip; each is committed by itself.

        Raises what PostgreSQL refused first, by its class, when all have been carried out.
        """
        sent = [self._ready(query, params) for query, params in asked]
        self._libpq.enter_pipeline_mode()
        for plan, dumped, formats, _ in sent:
            self._libpq.send_query_prepared(plan, dumped, formats)
            self._libpq.pipeline_sync()
        results = [self._result() for _ in sent]
        self._libpq.exit_pipeline_mode()
        return [
            self._rows(text, result) for (_, _, _, text), result in zip(sent, results, strict=True)
        ]

    def _ready(self, query: bytes, params: dict[str, Any]) -> _Ready:
        text, names = _numbered(query)
        transformer = self._transformer
        dumped = transformer.dump_sequence([params[name] for name in names], _FORMATS[len(names)])
        types = transformer.types or ()
        plan = self._plans.get((text, types)) or self._prepare(text, types)
        return plan, dumped, transformer.formats, text

    def _result(self) -> PGresult:
        """The next statement's result; its end and its commit are read with it."""
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

    def count(self) -> None:
        """One more world was played; now and then all tables are emptied."""
        self.played += 1
        if self.played % RECYCLED_AFTER == 0:
            self.generation += 1
            self.templates.clear()
            self.connection.execute(statement("empty"))


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
