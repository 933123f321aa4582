"""The scene of this room's tests."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from tests.store.scene import Scene, scene


@pytest_asyncio.fixture(name="scene")
async def _scene(database: str) -> AsyncGenerator[Scene]:
    """A cleared database with connected modes."""
    async with scene(database) as made:
        yield made
