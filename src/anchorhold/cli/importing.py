"""`anchorhold invoice import`: reads the file, says what is wrong with it, takes it in."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final, TextIO

from rich.console import Console
from rich.progress import Progress

from anchorhold.cli.call import Call, Format
from anchorhold.cli.objects import Object
from anchorhold.cli.output import print_json, say, show_one
from anchorhold.cli.session import Session
from anchorhold.cli.waking import wake
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.imports import Imported, Preview, preview, take_in
from anchorhold.engine.invoice_file import BadRow, Judged, judge

SHOWN_MAX: Final = 20
"""So many bad rows, or rows that differ, are listed; the rest is counted."""


def read_file(path: Path) -> Judged:
    """Every row of the file, judged; `-` is standard input.

    Refuses a file that cannot be read or is not UTF-8 (IMPORT_FILE_UNREADABLE), and what `judge`
    refuses. On a terminal a bar shows how far it is.
    """
    try:
        with _lines(path) as lines:
            return judge(lines, str(path))
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1:,} is not UTF-8"
        raise Refusal(Code.IMPORT_FILE_UNREADABLE, path=path, reason=reason) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refusal(Code.IMPORT_FILE_UNREADABLE, path=path, reason=reason) from error


@contextmanager
def _lines(path: Path) -> Generator[TextIO]:
    if str(path) == "-":
        yield TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        return
    console = Console(stderr=True)
    with (
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
        bar.open(path, "rt", encoding="utf-8-sig", newline="", description="reading") as lines,
    ):
        yield lines


def require_good(path: Path, judged: Judged, *, skip_bad: bool) -> None:
    """Every row is good, or bad ones may be left out. Refuses otherwise (IMPORT_ROWS_INVALID)."""
    for bad in judged.bad[:SHOWN_MAX]:
        say(_told(bad))
    if len(judged.bad) > SHOWN_MAX:
        say(f"… and {len(judged.bad) - SHOWN_MAX:,} more")
    if judged.bad and not skip_bad:
        rows = len(judged.bad) + len(judged.rows)
        raise Refusal(Code.IMPORT_ROWS_INVALID, path=path, rows=rows, bad=len(judged.bad))


def _told(bad: BadRow) -> str:
    fields = {"line": bad.line, "column": bad.column, "reason": bad.reason}
    return Refusal(Code.IMPORT_ROW_INVALID, **fields).sentence


async def run(call: Call, desk: Session, judged: Judged, *, dry_run: bool) -> None:
    """The rows are in, or with `dry_run` nothing changed; what happened is printed."""
    console = Console(stderr=True)
    with console.status("writing") if console.is_terminal else _nothing():
        if dry_run:
            seen = await preview(desk.db, desk.scope, judged.rows)
            _show(call, judged, seen, [], dry_run=True)
            return
        done = await take_in(desk.db, desk.scope, judged.rows, actor=desk.app.deps.actor)
    if done.created:
        await wake(desk.app, desk.scope)
    _show(call, judged, _counted(done), list(done.created), dry_run=False)


@contextmanager
def _nothing() -> Generator[None]:
    yield


def _counted(done: Imported) -> Preview:
    return Preview(len(done.created), len(done.already), done.differing)


def _show(call: Call, judged: Judged, seen: Preview, ids: list[str], *, dry_run: bool) -> None:
    data: Object = {
        "object": "import",
        "id": None,
        "dry_run": dry_run,
        "rows": len(judged.rows) + len(judged.bad),
        "created": seen.created,
        "already_there": seen.already,
        "differing": seen.differing,
        "skipped": [
            {"line": bad.line, "column": bad.column, "reason": bad.reason} for bad in judged.bad
        ],
    }
    if call.format is Format.IDS:
        print("\n".join(ids), end="\n" if ids else "")
        return
    if call.format is Format.JSON:
        print_json({**data, "invoices": ids})
        return
    show_one(call, "", data, lambda: _screen(judged, seen, dry_run=dry_run))


def _screen(judged: Judged, seen: Preview, *, dry_run: bool) -> None:
    made = "would be new" if dry_run else "new"
    print(f"{seen.created:,} invoices {made}, {seen.already:,} there before")
    if judged.bad:
        print(f"{len(judged.bad):,} bad rows left out")
    if seen.differing:
        print(f"{len(seen.differing):,} there before with other facts, left as they are:")
        print("  " + ", ".join(seen.differing[:SHOWN_MAX]))
    if not seen.created and not judged.bad:
        print("Nothing changed.")
