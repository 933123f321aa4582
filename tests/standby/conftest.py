"""The servers and the world of this room's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standby.servers import Server, copy_of, migrated


@pytest.fixture(scope="session")
def _base() -> Iterator[Path]:
    with migrated() as base:
        yield base


@pytest.fixture
def primary(_base: Path) -> Iterator[Server]:
    """A running primary of the test's own; servers made from it end with it."""
    with copy_of(_base) as server:
        yield server.start()
