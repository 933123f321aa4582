"""Whether the schema is whole: what a hand or a restore may have taken away from it.

The constraints are the last thing that stands between two processes and a second payment, so a
missing or unenforced one is a finding.
"""

import re
from typing import Any, LiteralString

from psycopg import Connection

from anchorhold.store.migrate_sql import script

_NAMED = re.compile(
    r"CREATE TABLE (?:anchorhold\.)?(\w+)|CREATE (?:UNIQUE )?INDEX (\w+)|CONSTRAINT (\w+)"
)
_DROPPED = re.compile(r"DROP INDEX (?:anchorhold\.)?(\w+)")

_THERE: LiteralString = """
    SELECT relname FROM pg_class WHERE relnamespace = 'anchorhold'::regnamespace
    UNION
    SELECT conname FROM pg_constraint WHERE connamespace = 'anchorhold'::regnamespace
"""

_UNENFORCED: LiteralString = """
    SELECT 'the index ' || c.relname || ' is not valid'
      FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
     WHERE c.relnamespace = 'anchorhold'::regnamespace AND NOT (x.indisvalid AND x.indisready)
    UNION ALL
    SELECT 'the constraint ' || conname || ' is not enforced for all rows'
      FROM pg_constraint
     WHERE connamespace = 'anchorhold'::regnamespace AND NOT convalidated
    UNION ALL
    SELECT 'the trigger ' || t.tgname || ' is switched off'
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = 'anchorhold'::regnamespace AND t.tgenabled = 'D'
"""


def faults(connection: Connection[tuple[Any, ...]]) -> list[str]:
    """Sentences about what is missing or not enforced; none for a schema that is whole."""
    exists = connection.execute("SELECT to_regnamespace('anchorhold') IS NOT NULL").fetchone()
    if exists != (True,):
        return ["there is no schema anchorhold"]
    there = {row[0] for row in connection.execute(_THERE)}
    missing = [f"{name} is missing" for name in _names() if name not in there]
    return missing + [str(row[0]) for row in connection.execute(_UNENFORCED)]


def _names() -> list[str]:
    """Every table, index and named constraint that the migrations leave, in their order."""
    text = script()
    found = (next(filter(None, match.groups())) for match in _NAMED.finditer(text))
    dropped = set(_DROPPED.findall(text))
    return [name for name in dict.fromkeys(found) if name not in dropped]
