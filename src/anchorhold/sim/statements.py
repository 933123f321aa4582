"""The worlds' own SQL: their clock, what operators and pages do, what the auditor reads.

It stands in files of its own, so that nothing of it is taken for the store's.
"""

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> bytes:
    """The text of `sql/NAME.sql`."""
    return (files("anchorhold.sim") / "sql" / f"{name}.sql").read_bytes()
