"""Which rows of the tables and which causes the worlds have come by, and which never."""

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

import anchorhold.domain
from anchorhold.domain.access import ACCESS
from anchorhold.domain.attempt import Cause

CAUSES: Final = tuple(cause.value for cause in Cause)


def _tables() -> Iterator[tuple[object, ...]]:
    """Every table of the domain, that is a literal tuple of rows with ids, once."""
    seen: set[int] = set()
    for module in pkgutil.iter_modules(anchorhold.domain.__path__, "anchorhold.domain."):
        for name, value in vars(import_module(module.name)).items():
            table = name.isupper() and isinstance(value, tuple) and value
            if table and hasattr(value[0], "id") and value is not ACCESS and id(value) not in seen:
                seen.add(id(value))
                yield value


ROWS: Final = tuple(
    dict.fromkeys(str(getattr(row, "id", "")) for table in _tables() for row in table)
)
"""Ids of all rows that decide. What an act meets (ACCESS) is asked, not done, and not counted."""


def hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> dict[str, int]:
    """In how many worlds each decided something; only those that ever did."""
    return {row: counted[row] for row in every if counted.get(row)}


def never_hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> list[str]:
    """Those that decided nothing in any world."""
    return [row for row in every if not counted.get(row)]
