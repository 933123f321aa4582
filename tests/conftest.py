"""Fixtures that every room's tests may use."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests import database as databases

OWNS_RUN = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """The process that the user started owns the run's databases, the workers share them."""
    config.stash[OWNS_RUN] = databases.begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    """See `end_run`."""
    if config.stash[OWNS_RUN]:
        databases.end_run()


@pytest.fixture(scope="session")
def database_server() -> str:
    """The conninfo of the run's server, which forgets on power loss; do not stop it."""
    return databases.server()


@pytest.fixture(scope="session")
def _database_of_worker(database_server: str) -> Iterator[databases.WorkerDatabase]:
    with closing(databases.WorkerDatabase(database_server)) as worker:
        yield worker


@pytest.fixture
def database(_database_of_worker: databases.WorkerDatabase) -> str:
    """The conninfo of a migrated database without rows of other tests (about 2 ms).

    It is one per worker, cleared before each test. A test that changes the schema takes
    `fresh_database`; one that kills servers starts its own in its own folder.
    """
    return _database_of_worker.cleared()


@pytest.fixture
def fresh_database(database_server: str) -> Iterator[str]:
    """The conninfo of a migrated database of this test's own (about 15 ms)."""
    with databases.clone(database_server) as conninfo:
        yield conninfo
