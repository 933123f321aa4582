"""Which rows of the tables the worlds have come by, and which never."""

from collections.abc import Mapping
from typing import Final

from anchorhold.domain.following import FOLLOW
from anchorhold.domain.outcome import OUTCOME
from anchorhold.domain.preparing import PREPARE
from anchorhold.domain.sweep import SWEEP
from anchorhold.domain.watching import WATCH

ROWS: Final = tuple(row.id for table in (OUTCOME, PREPARE, SWEEP, FOLLOW, WATCH) for row in table)
"""Ids of all rows that decide, in the order of their tables."""


def hit(counted: Mapping[str, int]) -> dict[str, int]:
    """In how many worlds each row decided something; only rows that ever did."""
    return {row: counted[row] for row in ROWS if counted.get(row)}


def never_hit(counted: Mapping[str, int]) -> list[str]:
    """The rows that decided nothing in any world."""
    return [row for row in ROWS if not counted.get(row)]
