"""`python -m tests.mutants.sql [FUNCTION ...]`: each condition dropped once; some test must fail.

The tests of the write itself are run first (`test_guards.py`, `test_winners.py`), then, where they
pass, all of the store's and of the engine's. Run it alone and with patience: minutes.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import psycopg
import pytest

from anchorhold.store import db
from tests import database as databases
from tests.mutants.conditions import Dropped, all_dropped

FIRST = ["tests/store/test_guards.py", "tests/store/test_winners.py"]
THEN = [
    "tests/store",
    "--ignore=tests/store/test_plans.py",
    "--ignore=tests/store/test_pooler.py",
    "--ignore=tests/store/test_storms.py",
    "--ignore=tests/store/test_statements.py",
    "tests/engine",
]
QUIET = ["-x", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider"]
KILLED, SURVIVED, REFUSED = 1, 0, 2
"""Exit codes of a mutant's process; refused: PostgreSQL does not take the statement."""
WORDS = {KILLED: "killed", SURVIVED: "SURVIVED", REFUSED: "not a statement"}


def main(functions: list[str]) -> int:
    """Tries every mutant of these functions, or of all; 1 when one survived."""
    owns = databases.begin_run()
    counted: Counter[int] = Counter()
    try:
        conninfo = databases.server()
        with databases.clone(conninfo) as migrated:
            if _forked(lambda: pytest.main([*FIRST, *QUIET])) != 0:
                print("The tests fail without any mutant.")
                return 1
            for mutant in _asked(functions):
                end = _forked(lambda mutant=mutant: _tried(mutant, migrated, FIRST))
                if end == SURVIVED and _then_is_sound():
                    end = _forked(lambda mutant=mutant: _tried(mutant, migrated, THEN))
                counted[end] += 1
                print(f"{WORDS[end]}: {mutant.name}: {mutant.text}", flush=True)
    finally:
        if owns:
            databases.end_run()
    print(", ".join(f"{count} {WORDS[end]}" for end, count in sorted(counted.items())))
    return 1 if counted[SURVIVED] else 0


def _asked(functions: list[str]) -> Iterable[Dropped]:
    return (one for one in all_dropped() if not functions or one.statement.function in functions)


def _forked(work: Callable[[], int]) -> int:
    """How a process of its own ended that did this, unheard."""
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(work())
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@cache
def _then_is_sound() -> bool:
    """The second tests pass without any mutant; else they prove nothing and are not run."""
    return _forked(lambda: pytest.main([*THEN, *QUIET])) == 0


def _tried(mutant: Dropped, migrated: str, tests: list[str]) -> int:
    if not _prepares(mutant, migrated):
        return REFUSED
    _plant(mutant)
    only = ["-k", mutant.statement.function] if tests is FIRST else []
    passed = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return SURVIVED if pytest.main([*tests, *QUIET, *only]) in passed else KILLED


def _prepares(mutant: Dropped, migrated: str) -> bool:
    names = {name: n for n, name in enumerate(mutant.statement.names, 1)}
    text = mutant.sql
    for name, n in names.items():
        text = text.replace(f"%({name})s", f"${n}")
    with psycopg.connect(migrated, autocommit=True) as connection:
        try:
            connection.execute(f"PREPARE it AS {text.replace('%%', '%')}".encode())
        except psycopg.errors.IndeterminateDatatype:
            return True
        except psycopg.Error:
            return False
    return True


def _plant(mutant: Dropped) -> None:
    """Every statement passes here on its way to PostgreSQL."""
    real = db.PoolDb.__dict__["_once"]

    async def once(self: Any, query: Any, shape: Any, params: Any) -> Any:
        return await real(self, mutant.of(query), shape, params)

    type.__setattr__(db.PoolDb, "_once", once)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
