"""One database for all worlds of a test worker, and a number for each run of a seed."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from anchorhold.sim.db import Connection, prepared
from anchorhold.sim.run import Played, play
from tests import database as databases

_NUMBERS = count(1)


def next_number() -> int:
    """Another number for each world that a test makes."""
    return next(_NUMBERS)


@pytest.fixture(scope="session")
def ground(database_server: str) -> Iterator[Connection]:
    """A connection to a database that has the worlds' clock."""
    with databases.clone(database_server) as conninfo, prepared(conninfo) as connection:
        yield connection


@pytest.fixture
def world(ground: Connection) -> Callable[[int], Played]:
    """Plays a seed; as often as one likes."""
    return lambda seed: play(ground, seed, number=next_number())
