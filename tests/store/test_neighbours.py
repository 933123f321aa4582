"""A write of one object changes nothing of another one in the same account and mode."""

import pytest

from tests.store.neighbour import add_neighbour, neighbours
from tests.store.scene import Scene
from tests.store.writes import WRITES, Wins, Write

OF_MANY = {
    "customers.begin_all", "events.again_between", "event_deliveries.prune", "idempotency.prune",
}  # fmt: skip
"""About all that are due, or all of a range; as those are that share rows out."""
OF_A_MODE = ("accounts.", "recoveries.", "event_cursors.", "dunning_policies.assign")
"""A mode has one, which has no neighbour."""
OF_ONE = [
    write
    for write in WRITES
    if write.scoped
    and write.wins is not Wins.SHARED
    and write.function not in OF_MANY
    and not write.function.startswith(OF_A_MODE)
]


@pytest.mark.parametrize("write", OF_ONE, ids=lambda write: write.function)
async def test_a_write_leaves_its_neighbours_alone(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    add_neighbour(scene)
    before = neighbours(scene)
    assert before
    assert write.won(await write.run(scene.db, scene.scope, scene, state))
    assert neighbours(scene) == before
