"""A twin whose clock stands still, and a client for it; its server runs on both event loops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import pytest_asyncio
import uvloop
from aiohttp import web

from anchorhold.twin import Clock, Twin
from tests.twin.client import Client
from tests.twin.receiving import Receiver

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


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[tuple[Receiver, str]]:
    one = Receiver()
    http = web.Server(one.handle)
    listener = await asyncio.get_running_loop().create_server(http, "127.0.0.1", 0)
    yield one, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/hook"
    listener.close()
    await http.shutdown(timeout=1)
