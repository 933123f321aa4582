"""One browser for all tests of the room, and one shop for all tests of a module."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests import database as databases
from tests.browser.paying import Shop, chromium, shop


@pytest_asyncio.fixture(scope="session", loop_scope="session", name="browser")
async def _browser() -> AsyncGenerator[Browser]:
    async with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def _room_database(database_server: str) -> Iterator[str]:
    with databases.clone(database_server) as conninfo:
        yield conninfo


@pytest_asyncio.fixture(scope="session", loop_scope="session", name="shop")
async def _shop(
    browser: Browser, _room_database: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Shop]:
    folder: Path = tmp_path_factory.mktemp("shop")
    async with shop(_room_database, folder, browser) as opened:
        yield opened
