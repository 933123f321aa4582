"""The rig of this room's tests."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from tests.engine.rig import Rig, rig


@pytest_asyncio.fixture
async def world(database: str) -> AsyncGenerator[Rig]:
    """One connected account, its database and its twin."""
    async with rig(database) as made:
        yield made
