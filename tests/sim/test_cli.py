"""`anchorhold sim`: what programs read of a campaign, and what people read of one world."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

from anchorhold.cli import main, sim
from anchorhold.domain.refusals import Exit
from anchorhold.sim.bugs import BUGS
from anchorhold.sim.ground import Ground
from anchorhold.sim.planting import planted


@pytest.fixture(autouse=True)
def _one_database(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def same() -> Generator[Ground]:
        yield ground

    monkeypatch.setattr(sim, "ground", same)


def asked(*words: str) -> int:
    return main.run(["sim", *words])


def heard(capsys: pytest.CaptureFixture[str]) -> Sequence[str]:
    return capsys.readouterr().out.splitlines()


def test_a_campaign_says_what_it_found_and_what_it_never_came_by(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = asked("run", "--seeds", "4", "--first-seed", "910000", "--output", "json")
    told = json.loads(capsys.readouterr().out)
    assert code == Exit.DONE
    assert (told["worlds"], told["violations"], told["first_violation_seed"]) == (4, 0, None)
    assert told["worlds_per_second"] > 0
    assert told["rows_hit"]
    assert set(told["rows_hit"]).isdisjoint(told["rows_never_hit"])


def test_a_campaign_that_finds_something_ends_with_6_and_names_the_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bug = next(bug for bug in BUGS if bug.name == "the re-check is dropped")
    with planted(bug.plant):
        code = asked("run", "--seeds", "1", "--first-seed", "920000", "--output", "table")
    lines = heard(capsys)
    assert code == Exit.FINDINGS
    assert lines[0].startswith("1 worlds, ")
    assert "seed 920000: I9: a charge left without a committed trace" in lines[1]
    assert "anchorhold sim story 920000" in lines[2]


def test_a_story_is_read_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked("story", "930000", "--output", "table") == Exit.DONE
    lines = heard(capsys)
    assert lines[0] == "World 930000"
    assert lines[-1] == "The auditor found nothing: every invariant held."
    assert len(lines) > 5


def test_a_replay_gives_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked("replay", "940000", "--output", "json") == Exit.DONE
    told = json.loads(capsys.readouterr().out)
    assert (told["seed"], told["violations"]) == (940000, [])
    assert "story" not in told
