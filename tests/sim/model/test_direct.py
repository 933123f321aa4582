"""The direct mode: what each hole and residual shows under the first text and both sweep modes."""

import pytest

from anchorhold.sim.model.__main__ import main
from anchorhold.sim.model.direct_runs import RULES, STORIES, Story
from anchorhold.sim.model.search import search

SHORT = [
    pytest.param(story, rule, id=f"{story.finding} {rule}: {story.what}")
    for story in STORIES
    for rule in RULES
    if story.short
]
STATED = {"fence": {"R10", "H8"}, "adr": {"R10", "H8", "R15", "R18", "H1"}}
"""What a mode cannot close, and says so."""


@pytest.mark.parametrize(("story", "rule"), SHORT)
def test_a_story_shows_what_it_has_to(story: Story, rule: str) -> None:
    searched = search(story.model(rule))
    assert searched.complete
    assert searched.kinds == story.shows[rule], searched.found


@pytest.mark.parametrize("rule", STATED)
def test_a_mode_shows_what_it_states_and_nothing_else(rule: str) -> None:
    assert {story.finding for story in STORIES if story.shows[rule]} == STATED[rule]


def test_a_process_that_dies_while_stripe_is_slow_is_fenced() -> None:
    story = next(story for story in STORIES if story.finding == "R15")
    searched = search(story.model("fence"))
    assert searched.complete
    assert not searched.found


def test_the_searches_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--mode", "direct", "--minutes", "0.0001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * sum(story.short for story in STORIES)
    assert " states, cut, " in lines[0]
