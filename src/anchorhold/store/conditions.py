"""Statements that name only what they filter by."""

from typing import LiteralString


def given(*conditions: tuple[object, LiteralString]) -> LiteralString:
    """The conditions whose value is there.

    A prepared plan of `%(x)s IS NULL OR …` has to fit both, so that it reads the whole table.
    """
    return "".join(condition for value, condition in conditions if value is not None)
