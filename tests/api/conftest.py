"""Fixtures of the API's tests."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from tests.api.desk import Desk
from tests.api.desk import desk as open_desk


@pytest_asyncio.fixture
async def desk(database: str) -> AsyncGenerator[Desk]:
    """An API on a database without other rows."""
    async with open_desk(database) as opened:
        yield opened
