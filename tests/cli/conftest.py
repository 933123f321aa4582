"""The program on a database and a twin of the test's own."""

import asyncio
import threading
from collections.abc import Generator

import pytest

from anchorhold.twin import Twin
from anchorhold.twin.server import TwinServer, serve
from tests.cli.desk import Desk, environment


@pytest.fixture(scope="session")
def twin() -> Generator[TwinServer]:
    """A twin that listens in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(serve(Twin()), loop).result(10)
        yield server
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def bare(
    database: str,
    twin: TwinServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Desk:
    """The program, with the schema and nothing in it."""
    for name, value in environment(database, twin.url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANCHORHOLD_STRIPE_KEY", raising=False)
    return Desk(database, capsys, monkeypatch)


@pytest.fixture
def desk(bare: Desk) -> Desk:
    """The program, with one account that is connected to the twin in test mode."""
    bare.connect()
    return bare
