"""`anchorhold bench`: the charge path, the sweep and the intake, each beside its floor."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from anchorhold.domain.refusals import Exit

app = typer.Typer(add_completion=False, rich_markup_mode=None)

HELP = """Measure the product beside its floor, on one server in one run.

It loads both cores for about four minutes and uses a database of its own. Exit code 6 when a
budget is not met.

\b
Examples:
  anchorhold bench
  anchorhold bench --seconds 4 --rounds 1 --output json
"""


@app.command(help=HELP)
def bench(
    *,
    seconds: Annotated[int, typer.Option(min=1, max=60, help="How long each step runs.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, max=9, help="Medians of so many.")] = 3,
    stale: Annotated[int, typer.Option(min=100, help="How many holds the sweep drains.")] = 10_000,
    write: Annotated[Path | None, typer.Option(help="Write the results to this page.")] = None,
    output: Annotated[str, typer.Option(help="table or json")] = "table",
) -> int:
    """Measure, show, and write the page when asked."""
    import uvloop  # noqa: PLC0415 - the help needs none of it

    from anchorhold.bench import run  # noqa: PLC0415 - nor this

    lines = uvloop.run(run.measure(seconds, rounds, stale))
    if write is not None:
        write.write_text(run.markdown(lines, seconds, rounds), encoding="utf-8")
    if output == "json":
        typer.echo(json.dumps([asdict(line) for line in lines], indent=2))
    else:
        table = Table("what", "product", "floor", "ratio", "budget", "met")
        for line in lines:
            met = {True: "yes", False: "no", None: ""}[line.met]
            table.add_row(line.what, line.product, line.floor, line.ratio, line.budget, met)
        Console().print(table)
    return Exit.FINDINGS if any(line.met is False for line in lines) else Exit.DONE
