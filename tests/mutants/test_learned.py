"""A mutant meets the tests that send its statement, the nearest first, and no other."""

from pathlib import Path

from tests.mutants.forks import BROKEN, ended
from tests.mutants.learned import Learned, Learner

SLOW_ENGINE = "tests/engine/test_a.py::test_a"
STORE = "tests/store/test_views.py::test_b"
ANOTHERS = "tests/store/test_winners.py::test_c[holds.end]"
OWN = "tests/store/test_guards.py::test_d[holds.claim: it is held]"
LEARNED = Learned(
    {
        "UPDATE invoice": {STORE: 0.2, ANOTHERS: 0.9, OWN: 5},
        "UPDATE invoice again": {SLOW_ENGINE: 0.3, OWN: 5},
        "SELECT": {"tests/store/test_views.py::test_e": 0.1},
    },
    failed=(),
)


def test_the_tests_of_the_write_come_first_then_the_quick_ones() -> None:
    met = LEARNED.met(lambda query: "UPDATE" in query, "holds.claim")
    assert met == [OWN, ANOTHERS, STORE, SLOW_ENGINE]


def test_a_statement_that_no_test_sends_meets_none() -> None:
    assert LEARNED.met(lambda query: "DELETE" in query, "holds.claim") == []


def test_what_fails_without_a_mutant_is_named_and_meets_none() -> None:
    learner = Learner()
    for learner.test in (STORE, OWN):
        learner.heard("SELECT")
    learner.failed.add(OWN)
    learner.seconds[STORE] = 1.5
    assert learner.learned() == Learned({"SELECT": {STORE: 1.5}}, (OWN,))


def test_what_was_learned_in_two_processes_is_joined(tmp_path: Path) -> None:
    LEARNED.write(tmp_path / "one.json")
    other = Learned({"SELECT": {OWN: 5}}, (STORE,))
    joined = Learned.joined([Learned.read(tmp_path / "one.json"), other])
    assert joined.queries["SELECT"] == {"tests/store/test_views.py::test_e": 0.1, OWN: 5}
    assert joined.failed == (STORE,)


def test_a_process_that_raises_is_told_from_one_that_ends() -> None:
    ends = dict(ended([0, 1, 2], lambda thing: 3 if thing else [][thing]))
    assert ends == {0: BROKEN, 1: 3, 2: 3}
