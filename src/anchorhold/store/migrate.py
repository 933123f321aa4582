"""Bringing the schema to this version, and saying whether it is there (Alembic, ADR 14)."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.pool import NullPool

from anchorhold.store import schema

LOCK = 4_701_996
"""The advisory lock under which only one process migrates."""


def upgrade(conninfo: str) -> tuple[str, ...]:
    """The schema is this version's; the revisions that were run. Several callers do it once.

    Refuses a schema that a newer release made (SCHEMA_NEWER).
    """
    with _connected(conninfo) as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({LOCK})")
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS anchorhold")
        connection.commit()
        schema.require_known(current(connection))
        before = set(_applied(connection))
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
        return tuple(sorted(set(_applied(connection)) - before))


def require_current(conninfo: str) -> None:
    """The schema is this version's. Refuses an older one, and one that a newer release made."""
    with _connected(conninfo) as connection:
        schema.require(current(connection))


def current(connection: sqlalchemy.Connection) -> str | None:
    """The revision that the database is at, or None for a database without our schema."""
    options = {"version_table": "schema_version", "version_table_schema": "anchorhold"}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def status(conninfo: str) -> tuple[str | None, str]:
    """The revision of the database, and the one of this version."""
    with _connected(conninfo) as connection:
        return current(connection), head()


def head() -> str:
    """The newest revision of this version."""
    found = ScriptDirectory.from_config(_config()).get_current_head()
    if found is None:
        raise RuntimeError("the package carries no migrations")
    return found


def revisions() -> tuple[str, ...]:
    """Every revision that this version knows, oldest first."""
    script = ScriptDirectory.from_config(_config())
    return tuple(reversed([row.revision for row in script.walk_revisions()]))


def _applied(connection: sqlalchemy.Connection) -> tuple[str, ...]:
    at = current(connection)
    known = revisions()
    return known[: known.index(at) + 1] if at in known else ()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "anchorhold.store:migrations")
    return config


@contextmanager
def _connected(conninfo: str) -> Generator[sqlalchemy.Connection]:
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(conninfo), poolclass=NullPool
    )
    with engine.connect() as connection:
        yield connection
