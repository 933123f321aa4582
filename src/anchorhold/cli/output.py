"""Prints data on stdout in the form that was asked for, and talk on stderr."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Final, Generic, Literal, TypeVar
from unicodedata import category

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anchorhold.cli.call import PAGE_MAX, Call, Format
from anchorhold.cli.objects import Object

T = TypeVar("T")

PIPE_WIDTH: Final = 200
"""A table that is asked for in a pipe is not squeezed."""

LABEL_WIDTH: Final = 12
"""What each line of a screen begins with."""

GAP: Final = 2
"""Blanks between two columns."""

OBEYED: Final = frozenset({"Cc", "Cf"})
"""The kinds of characters (Unicode) that a terminal obeys and does not show."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table. Where not all fit, that with the greatest `from_width` goes first."""

    title: str
    of: Callable[[T], str]
    right: bool = False
    from_width: int = 0
    style: Callable[[T], str] | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """How one kind of row is listed.

    `fetch` gives the rows behind an id, `total` counts what the filters fit. `again` is the
    command with its filters, for the line that says how to go on.
    """

    again: str
    columns: Sequence[Column[T]]
    id_of: Callable[[T], str]
    to_object: Callable[[T], Object]
    fetch: Callable[[str | None, int], Awaitable[list[T]]]
    total: Callable[[], Awaitable[int]]
    empty: str


def console() -> Console:
    """Where tables go; colours only in a terminal and without NO_COLOR."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def visible(text: str) -> str:
    """The text with what a terminal would obey written out: `\\x1b[31m` colours nothing.

    Reasons, references and Stripe's words were typed by somebody else than who reads them.
    """
    return "".join(
        char.encode("unicode_escape").decode()
        if category(char) in OBEYED and char not in "\n\t"
        else char
        for char in text
    )


def wrapped(text: str, indent: int = 0) -> str:
    """The text in lines that fit the terminal, all but the first behind so many blanks.

    Ids and commands stay whole, so that they can be copied.
    """
    return fill(
        visible(text),
        console().width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def line(label: str, text: str) -> None:
    """One line of a screen: what it is about, and what there is to say."""
    print(wrapped(f"{label:<{LABEL_WIDTH}}{text}", LABEL_WIDTH))


def say(text: str) -> None:
    """A line for people, beside the data."""
    print(visible(text), file=sys.stderr)


def hint(text: str) -> None:
    """A line that helps a person in a terminal and would be noise in a log."""
    if sys.stderr.isatty():
        say(text)


async def show_list(call: Call, listing: Listing[T]) -> None:
    """One page, or with --all every page, is printed."""
    if call.everything and call.format in (Format.NDJSON, Format.IDS):
        after = call.starting_after
        while rows := await listing.fetch(after, PAGE_MAX):
            _print_lines(call, listing, rows)
            after = listing.id_of(rows[-1])
        return
    rows, more = await _rows(call, listing)
    if call.format is Format.JSON:
        data = [listing.to_object(row) for row in rows]
        print_json({"object": "list", "data": data, "has_more": more})
    elif call.format is Format.TABLE:
        await _print_table(listing, rows, more=more)
    else:
        _print_lines(call, listing, rows)
        if more:
            hint(_next(listing, rows))


def show_one(call: Call, id_: str, data: Object, screen: Callable[[], None]) -> None:
    """One object is printed: `screen` for people, its JSON or its id for programs."""
    match call.format:
        case Format.TABLE:
            screen()
        case Format.JSON:
            print_json(data)
        case Format.NDJSON:
            print(json.dumps(data, ensure_ascii=False))
        case Format.IDS:
            print(id_)


def print_json(data: Object) -> None:
    """Indented JSON."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


def table(columns: Sequence[Column[T]], rows: Sequence[T], width: int) -> Table:
    """The rows as a table that fits `width`; an id is never cut, columns are left out instead."""
    cells = [(column, [visible(column.of(row)) for row in rows]) for column in columns]
    while len(cells) > 1 and _width(cells) > width:
        cells.remove(max(cells[1:], key=lambda cell: cell[0].from_width))
    made = Table(box=None, show_edge=False, pad_edge=False, padding=(0, GAP, 0, 0))
    for column, _ in cells:
        side: Literal["left", "right"] = "right" if column.right else "left"
        made.add_column(Text(column.title, style="bold"), justify=side, no_wrap=True)
    for n, row in enumerate(rows):
        made.add_row(*(_cell(column, row, texts[n]) for column, texts in cells))
    return made


def _width(cells: Sequence[tuple[Column[T], list[str]]]) -> int:
    widths = [max(cell_len(text) for text in (column.title, *texts)) for column, texts in cells]
    return sum(widths) + GAP * len(widths)


def _cell(column: Column[T], row: T, text: str) -> Text:
    return Text(text, style=column.style(row) if column.style else "")


async def _rows(call: Call, listing: Listing[T]) -> tuple[list[T], bool]:
    if not call.everything:
        rows = await listing.fetch(call.starting_after, call.limit + 1)
        return rows[: call.limit], len(rows) > call.limit
    rows: list[T] = []
    after = call.starting_after
    while page := await listing.fetch(after, PAGE_MAX):
        rows += page
        after = listing.id_of(page[-1])
    return rows, False


def _print_lines(call: Call, listing: Listing[T], rows: Sequence[T]) -> None:
    for row in rows:
        if call.format is Format.IDS:
            print(listing.id_of(row))
        else:
            print(json.dumps(listing.to_object(row), ensure_ascii=False))


async def _print_table(listing: Listing[T], rows: Sequence[T], *, more: bool) -> None:
    if not rows:
        print(listing.empty)
        return
    out = console()
    out.print(table(listing.columns, rows, out.width))
    total = await listing.total()
    count = f"\n{len(rows):,} of {total:,}"
    last = f"{count} - {_next(listing, rows)}" if more else count
    print(last if len(last) <= out.width else last.replace(": ", ":\n", 1))


def _next(listing: Listing[T], rows: Sequence[T]) -> str:
    return f"next: `{listing.again} --starting-after {listing.id_of(rows[-1])}`"
