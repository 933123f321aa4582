"""Whatever the engine does to the rows of a world is a move of the model, in each mode."""

import pytest

from anchorhold.sim.ground import Ground
from anchorhold.sim.mode import Mode
from anchorhold.sim.observer import Observer, observe
from anchorhold.sim.planting import Plant, planted, without
from anchorhold.sim.run import OBSERVED, play
from anchorhold.sim.setting import Setting
from anchorhold.sim.world import World, finished

FIRST = 640_000
SEEDS = range(FIRST, FIRST + 12 * OBSERVED, OBSERVED)


@pytest.mark.parametrize("mode", Mode)
def test_every_change_of_an_invoice_is_a_move_of_the_model(ground: Ground, mode: Mode) -> None:
    for seed in SEEDS:
        assert play(ground, seed, mode).unexplained == ()


def test_only_some_worlds_are_observed(ground: Ground) -> None:
    assert play(ground, FIRST + 1).unexplained is None


BUGS: dict[str, Plant] = {
    "the counter stays where it is": without(
        ("charge_seq = i.charge_seq + %(moves_seq)s::int", "charge_seq = i.charge_seq")
    ),
    "a following ends and the counter stays": without(
        ("charge_seq = i.charge_seq + 1,", "charge_seq = i.charge_seq,"), where="following.ended"
    ),
    "a success keeps its attempt open": without(
        ("WHEN made THEN 'succeeded' ELSE 'superseded'", "WHEN made THEN a.state ELSE a.state")
    ),
    "the re-check forgets to mark": without(("SET state = 'sending'", "SET state = 'claimed'")),
}
LOOKED_FOR = range(FIRST, FIRST + 100 * OBSERVED, OBSERVED)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_no_move_of_the_model(ground: Ground, bug: str) -> None:
    with planted(BUGS[bug]):
        shown = (play(ground, seed).unexplained for seed in LOOKED_FOR)
        assert next((said for said in shown if said), None), "no world shows it"


@pytest.fixture
def observer(ground: Ground) -> Observer:
    """Of a world with one open invoice, at its beginning."""
    setting = Setting(0, Mode.PREPARED, ("pm_card_visa",), cold=True, rules=(), harms=0)
    world = World(ground, setting, lambda _key, _url: None)
    finished(world, world.begin())
    return observe(world)


def test_a_change_that_no_move_explains_is_told_with_its_statement(observer: Observer) -> None:
    world = observer.world
    observer.look()
    world.db.execute(
        b"UPDATE anchorhold.invoice SET charge_seq = charge_seq + 1 WHERE account_id = %(id)s",
        {"id": world.scope.account_id},
    )
    assert observer.violations == ["outside: no move of the model: seq 0 -> 1"]
    assert world.story[-1].who == "MODEL"
