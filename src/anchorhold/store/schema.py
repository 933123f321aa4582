"""Whether the database has the schema of this version, asked without loading the migrator.

Loading Alembic costs a fifth of a worker's start; `migrate.py` has the rest.
"""

from functools import cache
from importlib.resources import files

from psycopg import errors

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store.db import Db

DIGITS = 4
"""A revision's file begins with its number."""


@cache
def revisions() -> tuple[str, ...]:
    """Every revision that this version knows, oldest first."""
    names = (file.name for file in files("anchorhold.store.migrations.versions").iterdir())
    return tuple(sorted({name[:DIGITS] for name in names if name[:DIGITS].isdecimal()}))


async def current(db: Db) -> str | None:
    """The revision that the database is at, or None for a database without our schema."""
    try:
        return await db.one("SELECT version_num FROM anchorhold.schema_version", str)
    except errors.UndefinedTable:
        return None


async def require_current(db: Db) -> None:
    """The schema is this version's. Refuses an older one, and one that a newer release made."""
    require(await current(db))


def require(found: str | None) -> None:
    """`found` is this version's revision. Refuses: schema_outdated, schema_newer."""
    require_known(found)
    needed = revisions()[-1]
    if found != needed:
        raise Refusal(Code.SCHEMA_OUTDATED, found=found or "none", needed=needed)


def require_known(found: str | None) -> None:
    """`found` can be brought to this version. Refuses schema_newer: a newer release made it."""
    if found is not None and found not in revisions():
        raise Refusal(Code.SCHEMA_NEWER, found=found, needed=revisions()[-1])
