"""Which tests send which statement, so that a mutant meets these tests alone."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anchorhold.store import db

OWN = ("tests/store/test_guards.py", "tests/store/test_winners.py")
"""The tests of the writes themselves, which are tried first."""


@dataclass(frozen=True)
class Learned:
    """What runs of tests have shown."""

    queries: dict[str, dict[str, float]]
    """By its text, the tests that sent a query and passed, with the seconds that each took."""
    failed: tuple[str, ...]

    def met(self, is_changed: Callable[[str], bool], function: str) -> list[str]:
        """The tests that would send a changed query, in the order in which to try them."""
        seconds: dict[str, float] = {}
        for query, tests in self.queries.items():
            if is_changed(query):
                seconds |= tests
        return sorted(seconds, key=lambda test: (*_far(test, function), seconds[test], test))

    @classmethod
    def joined(cls, parts: Iterable["Learned"]) -> "Learned":
        """What several runs of different tests have shown."""
        queries: defaultdict[str, dict[str, float]] = defaultdict(dict)
        failed: tuple[str, ...] = ()
        for part in parts:
            failed += part.failed
            for query, tests in part.queries.items():
                queries[query] |= tests
        return cls(dict(queries), failed)

    def write(self, path: Path) -> None:
        """The file has it."""
        path.write_text(json.dumps([self.queries, self.failed]), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Learned":
        """What `write` wrote."""
        queries, failed = json.loads(path.read_text(encoding="utf-8"))
        return cls(queries, tuple(failed))


def _far(test: str, function: str) -> tuple[bool, bool]:
    own = test.startswith(OWN)
    return not (own and function in test), not own


@dataclass(eq=False)
class Learner:
    """A pytest plugin that is told what passes the gate to PostgreSQL (`change`)."""

    test: str = ""
    sent: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: set[str] = field(default_factory=set)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """From now on this test sends what is sent."""
        self.test = nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """How long it took, and whether it passed."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def heard(self, query: str) -> str:
        """The query as it was; it is kept whose it is."""
        self.sent[query].add(self.test)
        return query

    def learned(self) -> Learned:
        """What was seen."""
        queries = {
            query: {test: self.seconds[test] for test in tests - self.failed}
            for query, tests in self.sent.items()
        }
        return Learned(queries, tuple(sorted(self.failed)))


def change(made: Callable[[str], str]) -> None:
    """Every statement passes this on its way to PostgreSQL, for as long as the process lives."""
    real = db.PoolDb.__dict__["_once"]

    async def once(self: Any, query: Any, shape: Any, params: Any) -> Any:
        return await real(self, made(query), shape, params)

    type.__setattr__(db.PoolDb, "_once", once)
