"""The rig of this room's tests."""

from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from anchorhold.domain.account import ChargeMode, SweepMode
from tests.database import WorkerDatabase
from tests.engine.rig import Rig, rig


@pytest_asyncio.fixture
async def world(database: str) -> AsyncGenerator[Rig]:
    """One connected account, its database and its twin."""
    async with rig(database) as made:
        yield made


@pytest.fixture
def clear_database(_database_of_worker: WorkerDatabase) -> Callable[[], str]:
    """Gives the conninfo of an empty database each time that it is called."""
    return _database_of_worker.cleared


@pytest_asyncio.fixture
async def direct(world: Rig) -> Rig:
    """The account charges in one call; the sweep fences."""
    await world.charges(ChargeMode.DIRECT)
    return world


@pytest_asyncio.fixture
async def adr(world: Rig) -> Rig:
    """The account charges in one call; the sweep waits and presumes."""
    await world.charges(ChargeMode.DIRECT, SweepMode.ADR)
    return world
