"""The database that worlds are played in: a server of their own that forgets on power loss."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from anchorhold import postgres
from anchorhold.sim.db import Connection, prepared
from anchorhold.store.migrate import upgrade


@contextmanager
def ground() -> Generator[Connection]:
    """A connection to a new, migrated database; server and folder are gone afterwards."""
    with TemporaryDirectory(prefix="anchorhold-sim-") as name:
        folder = Path(name) / "postgres"
        conninfo = postgres.start(folder, durable=False).conninfo
        try:
            upgrade(conninfo)
            with prepared(conninfo) as connection:
                yield connection
        finally:
            postgres.stop(folder)
