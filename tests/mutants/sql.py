"""`python -m tests.mutants.sql [FUNCTION ...]`: each condition dropped once; some test must fail.

The tests are collected once. They run once, and which of them sends which statement is kept. Then
each mutant, in a fork, meets the tests that send its statement: those of the write itself
(`test_guards.py`, `test_winners.py`) before the others, the quick ones before the slow ones, until
one fails. Minutes.
"""

import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest

from tests import database as databases
from tests.mutants.conditions import Dropped, all_dropped
from tests.mutants.forks import ended
from tests.mutants.learned import Learned, Learner, change

SLOW = ("test_plans", "test_pooler", "test_storms", "test_statements")
"""Left out: they measure time, or look at the statement's text."""
TESTS = ["tests/store", *(f"--ignore=tests/store/{name}.py" for name in SLOW), "tests/engine"]
PATIENCE_S = 900
"""After that a mutant is stuck, which is noticed as well."""
SURVIVED, KILLED, REFUSED, UNSEEN = range(4)
"""Exit codes of a mutant's process; refused: PostgreSQL does not take the statement."""
WORDS = {SURVIVED: "SURVIVED", KILLED: "killed", REFUSED: "not a statement", UNSEEN: "UNSEEN"}
"""Unseen: no test sends the statement."""


def main(functions: list[str]) -> int:
    """Tries every mutant of these functions, or of all; 1 when one survived."""
    owns = databases.begin_run()
    mutator = Mutator(functions)
    quiet = ["-o", "addopts=--strict-markers", "-p", "no:terminal", "-p", "no:cacheprovider"]
    try:
        pytest.main([*TESTS, *quiet], plugins=[mutator])
    finally:
        if owns:
            databases.end_run()
    counted = mutator.counted
    print(", ".join(f"{count} {WORDS[end]}" for end, count in sorted(counted.items())))
    return 0 if counted and not counted[SURVIVED] + counted[UNSEEN] else 1


class Mutator:
    """A pytest plugin that runs, in place of the tests, the mutants."""

    def __init__(self, functions: list[str]) -> None:
        self.functions = functions
        self.counted: Counter[int] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Every mutant was tried, and told."""
        print()
        with databases.clone(databases.server()) as migrated:
            learned = _learned(session)
            mutants = [one for one in all_dropped() if self._asked(one)]
            tries = ended(mutants, lambda one: _tried(one, learned, migrated, session), PATIENCE_S)
            for mutant, code in tries:
                end = KILLED if code == -signal.SIGALRM else code
                if end not in WORDS:
                    raise RuntimeError(f"{mutant.name}: its tests could not be run ({end})")
                self.counted[end] += 1
                print(f"{WORDS[end]}: {mutant.name}: {mutant.text}", flush=True)
        return True

    def _asked(self, mutant: Dropped) -> bool:
        return not self.functions or mutant.statement.function in self.functions


def _learned(session: pytest.Session) -> Learned:
    """What all tests show, the file of each in a process of its own."""
    paths = sorted({item.path for item in session.items})
    with tempfile.TemporaryDirectory() as name:
        files = {path: Path(name) / f"{number}.json" for number, path in enumerate(paths)}
        for path, end in ended(paths, lambda path: _learn(session, path, files[path])):
            if end:
                raise RuntimeError(f"the tests of {path} could not be run")
        learned = Learned.joined(map(Learned.read, files.values()))
    for test in learned.failed:
        print(f"left out, it fails without a mutant: {test}", flush=True)
    return learned


def _learn(session: pytest.Session, path: Path, file: Path) -> int:
    learner = Learner()
    session.config.pluginmanager.register(learner)
    change(learner.heard)
    _run(session, [item for item in session.items if item.path == path], go_on=True)
    learner.learned().write(file)
    return 0


def _run(session: pytest.Session, items: list[pytest.Item], *, go_on: bool = False) -> bool:
    """Whether these tests pass, until one does not."""
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed and not go_on:
            break
    session.config.hook.pytest_sessionfinish(session=session, exitstatus=0)  # ends its fixtures
    return not session.testsfailed


def _tried(mutant: Dropped, learned: Learned, migrated: str, session: pytest.Session) -> int:
    if not _prepares(mutant, migrated):
        return REFUSED
    tests = learned.met(lambda query: mutant.of(query) != query, mutant.statement.function)
    if not tests:
        return UNSEEN
    change(mutant.of)
    return SURVIVED if _run(session, list(_items(session, tests))) else KILLED


def _items(session: pytest.Session, tests: Iterable[str]) -> Iterable[pytest.Item]:
    by_id = {item.nodeid: item for item in session.items}
    return (by_id[test] for test in tests)


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
