"""`anchorhold demo`: kill workers while they charge, then audit from Stripe's side."""

import asyncio
import json
import signal
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer
from rich.console import Console

from anchorhold.demo.scene import Mode
from anchorhold.domain.refusals import Exit, Refusal
from anchorhold.entropy import random_bytes

app = typer.Typer(add_completion=False, rich_markup_mode=None)

T = TypeVar("T")

WORKERS: Final = 3

HELP = """Kill workers while they charge, let recovery finish, and audit from Stripe's side.

Real PostgreSQL, real HTTP, real SIGKILL; the twin loses answers, fails with effect and executes
late. The same invoices, seed and faults then go through a plain retry loop. Exit code 6 when the
audit finds anything.

\b
Examples:
  anchorhold demo
  anchorhold demo --mode direct
  anchorhold demo --seed 7 --invoices 200 --kills 10 --output json
"""


@app.command(help=HELP)
def demo(
    *,
    seed: Annotated[
        int | None, typer.Option(help="Decides faults and kills; a new one each time.")
    ] = None,
    invoices: Annotated[int, typer.Option(min=10, max=20_000, help="How many.")] = 1000,
    kills: Annotated[int, typer.Option(min=0, max=500, help="How many SIGKILLs.")] = 22,
    mode: Annotated[
        Mode, typer.Option(help="prepared, direct, or adr: direct without the fence.")
    ] = Mode.PREPARED,
    output: Annotated[str, typer.Option(help="table or json")] = "table",
) -> int:
    """Run it in a folder of its own, which is gone afterwards."""
    from anchorhold.demo import stage  # noqa: PLC0415 - the help needs none of it

    chosen = int.from_bytes(random_bytes(3)) if seed is None else seed
    talk = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="anchorhold-demo-") as folder:
        scene = stage.Scene(chosen, invoices, kills, WORKERS, Path(folder), mode=mode)
        outcome, plain = _play(stage.play(scene, talk))
    if output == "json":
        typer.echo(json.dumps(stage.as_json(outcome, plain, chosen, mode), indent=2))
    else:
        stage.tell(Console(), outcome, plain, mode)
    return Exit.DONE if outcome.findings.clean else Exit.FINDINGS


def _play(playing: Awaitable[T]) -> T:
    """What the play came to. A SIGTERM or a closed terminal ends it as Ctrl-C does: tidily."""
    try:
        return asyncio.run(_unless_stopped(playing))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _unless_stopped(playing: Awaitable[T]) -> T:
    task = asyncio.ensure_future(playing)
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        return await task
    except Refusal:
        current = asyncio.current_task()
        if current is None or not current.cancelling():
            raise
        # Ctrl-C also hit what was being started, which therefore failed.
        raise asyncio.CancelledError from None
