"""A twin whose clock stands still, and a client for it."""

import pytest

from anchorhold.twin import Clock, Twin
from tests.twin.client import Client


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def twin(clock: Clock) -> Twin:
    return Twin(seed=1, clock=clock)


@pytest.fixture
def stripe(twin: Twin) -> Client:
    return Client(twin)
