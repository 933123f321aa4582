"""The world of this room's tests."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from anchorhold.twin import Twin
from anchorhold.twin.server import TwinServer, serve
from tests.worker import world as worlds
from tests.worker.world import World


@pytest_asyncio.fixture
async def twin_server() -> AsyncGenerator[TwinServer]:
    """A twin that listens on a free port."""
    server = await serve(Twin())
    yield server
    await server.stop()


@pytest.fixture
def env(database: str, twin_server: TwinServer, tmp_path: Path) -> dict[str, str]:
    """The variables of a process of this test."""
    return worlds.environment(database, twin_server.url, tmp_path)


@pytest_asyncio.fixture
async def world(env: dict[str, str], twin_server: TwinServer) -> AsyncGenerator[World]:
    """One connected account, the database and the twin."""
    async with worlds.world(env, twin_server) as made:
        yield made
