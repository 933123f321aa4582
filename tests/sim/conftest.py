"""One database for all worlds of a test worker."""

from collections.abc import Callable, Iterator

import pytest

from anchorhold.sim.ground import Ground, on
from anchorhold.sim.run import Played, play
from tests import database as databases


@pytest.fixture(scope="session")
def ground(database_server: str) -> Iterator[Ground]:
    """A database that has the worlds' clock."""
    with databases.clone(database_server) as conninfo, on(conninfo) as made:
        yield made


@pytest.fixture
def world(ground: Ground) -> Callable[[int], Played]:
    """Plays a seed in prepared mode; as often as one likes."""
    return lambda seed: play(ground, seed)
