"""Worlds beside each other are as they would be alone."""

import pytest

from anchorhold.sim import ground as grounds
from anchorhold.sim.ground import Ground
from anchorhold.sim.lanes import played
from anchorhold.sim.mode import Mode
from anchorhold.sim.run import play
from anchorhold.sim.story import told

SEEDS = range(300, 324)


@pytest.mark.parametrize("mode", Mode)
def test_a_world_beside_others_tells_its_own_story(ground: Ground, mode: Mode) -> None:
    found = {one.seed: told(one) for one in played(ground, SEEDS, mode)}
    assert found.keys() == set(SEEDS)
    for seed in SEEDS[:5]:
        assert found[seed] == told(play(ground, seed, mode))


def test_rows_of_ended_worlds_are_emptied_while_no_world_is_alive(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grounds, "RECYCLED_AFTER", 20)
    before = ground.generation
    assert not any(one.violations for one in played(ground, range(400, 448), Mode.PREPARED))
    assert ground.generation >= before + 2


def test_worlds_that_are_given_up_leave_the_ground_usable(ground: Ground) -> None:
    worlds = played(ground, SEEDS, Mode.PREPARED)
    next(worlds)
    worlds.close()
    assert ground.alive == 0
    assert not play(ground, SEEDS[0]).violations
