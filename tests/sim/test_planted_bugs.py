"""Whichever sentence of the protocol somebody drops, a world shows it and the auditor says so."""

import pytest

from anchorhold.sim.bugs import BUGS, Bug
from anchorhold.sim.ground import Ground
from anchorhold.sim.planted import hunt, page
from anchorhold.sim.planting import Patch, planted


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_and_is_all_that_is_found(ground: Ground, bug: Bug) -> None:
    hunted = hunt(ground, bug)
    assert hunted.played is not None, f"no world of {hunted.worlds} shows it"
    assert hunted.as_said, hunted.played.violations
    assert hunted.sound, "the world is not sound without the bug either"


def test_the_page_says_what_was_found_and_what_was_not(ground: Ground) -> None:
    found = hunt(ground, BUGS[0])
    lines = page([found]).splitlines()
    assert "1 of 1 were found. Run it again: `anchorhold sim planted`." in lines
    assert lines[-1].startswith(f"| {BUGS[0].name} | {BUGS[0].holes} | prepared | {found.worlds} ")


class Thing:
    """Something to exchange."""

    word = "right"


def test_what_was_planted_is_put_back() -> None:
    def plant(patch: Patch) -> None:
        patch.attribute(Thing, "word", "wrong")

    with planted(plant):
        assert Thing.word == "wrong"
    assert Thing.word == "right"
