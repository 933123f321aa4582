"""Tables and words in Markdown."""

from collections.abc import Iterable
from enum import Enum


def table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    """A Markdown table; `head` names the columns, separated by `|`."""
    columns = head.split("|")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def codes(values: Iterable[object], *, of: type[Enum] | None = None) -> str:
    """The values as code, in the order of their enum or of the alphabet; empty says `any`."""
    given = set(values)
    if of is not None and given == set(of):
        return "any"
    if of is not None:
        chosen: list[object] = [member for member in of if member in given]
    else:
        chosen = sorted(given, key=str)
    return ", ".join(f"`{_value(value)}`" for value in chosen)


def _value(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
