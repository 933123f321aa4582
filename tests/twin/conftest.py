"""A twin whose clock stands still, and a client for it; its server runs on both event loops."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop

from anchorhold.twin import Clock, Twin
from tests.twin.client import Client

Loops = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]

ASYNCIO: Loops = {"asyncio": asyncio.SelectorEventLoop}
BOTH: Loops = {**ASYNCIO, "uvloop": uvloop.new_event_loop}


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Loops:
    """Both loops for the server: each closes and resets sockets with code of its own."""
    return BOTH if item.path.name == "test_server.py" else ASYNCIO


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def twin(clock: Clock) -> Twin:
    return Twin(seed=1, clock=clock)


@pytest.fixture
def stripe(twin: Twin) -> Client:
    return Client(twin)
