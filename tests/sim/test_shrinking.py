"""A failing world is told with as little in it as can be, and a script is played as it stands."""

import pytest

from anchorhold.sim.bugs import BUGS
from anchorhold.sim.ground import Ground
from anchorhold.sim.moves import Script
from anchorhold.sim.planted import hunt
from anchorhold.sim.planting import planted
from anchorhold.sim.run import play, replay
from anchorhold.sim.shrink import kinds, shrunk
from anchorhold.sim.story import told


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_a_script_tells_the_story_of_its_seed(ground: Ground, seed: int) -> None:
    played = play(ground, seed)
    assert told(replay(ground, played.script)) == told(played)


def test_a_failing_world_gets_shorter_and_fails_the_same_way(ground: Ground) -> None:
    bug = next(one for one in BUGS if one.name == "the key depends on the kind of attempt")
    with planted(bug.plant):
        found = hunt(ground, bug).played
        assert found is not None
        less = shrunk(ground, found)
        again = replay(ground, less.script)
    assert kinds(less) & kinds(found)
    assert len(less.script.moves) <= len(found.script.moves) / 2
    assert told(again) == told(less)


def test_a_sound_world_stays_as_it_is(ground: Ground) -> None:
    played = play(ground, 1)
    assert shrunk(ground, played) is played


def test_a_world_without_moves_only_comes_to_an_end(ground: Ground) -> None:
    played = play(ground, 2)
    assert not replay(ground, Script(played.script.setting, ())).violations
