"""Folders of a test's own, in which no process may be left."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anchorhold import postgres
from tests.database import scratch
from tests.postgres.processes import processes_of


@contextmanager
def own_folder(name: str = "data") -> Generator[Path]:
    """A data folder that does not exist yet, below one that every user can pass."""
    with tempfile.TemporaryDirectory(prefix="anchorhold-test-", dir=scratch()) as home:
        Path(home).chmod(0o755)
        yield Path(home) / name
        stop_and_look(Path(home) / name)


def stop_and_look(data_dir: Path) -> None:
    """The server has been stopped and no process of the folder is left."""
    postgres.stop(data_dir)
    assert processes_of(data_dir) == {}


@pytest.fixture
def empty_folder() -> Generator[Path]:
    """The test's own data folder, which does not exist yet."""
    with own_folder() as path:
        yield path


@pytest.fixture(scope="session")
def _used_folder() -> Generator[Path]:
    with own_folder() as path:
        postgres.start(path, durable=False)
        yield path


@pytest.fixture
def folder(_used_folder: Path) -> Generator[Path]:
    """A data folder with a cluster (made once, because initdb is slow) and no server."""
    stop_and_look(_used_folder)
    yield _used_folder
    stop_and_look(_used_folder)


@pytest.fixture(scope="module")
def running() -> Generator[postgres.Server]:
    """A durable server that the module's tests only look at."""
    with own_folder() as path:
        yield postgres.start(path)
