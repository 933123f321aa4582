"""Asking before money moves."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from anchorhold.cli.output import say
from anchorhold.domain.refusals import Code, Refusal


def ask(act: str, *, yes: bool) -> None:
    """The person said yes, or --yes did. Refuses without a terminal (CONFIRMATION_MISSING).

    A no ends the command as an interruption does: nothing was done.
    """
    if yes:
        return
    if not is_terminal():
        raise Refusal(Code.CONFIRMATION_MISSING, act=act)
    with interruptible():
        agreed = typer.confirm(f"Shall I {act}?", err=True)
    if not agreed:
        say("Nothing was done.")
        raise typer.Abort


def is_terminal() -> bool:
    """Somebody can read the question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


@contextmanager
def interruptible() -> Generator[None]:
    """Ctrl-C ends a question at once: inside an event loop it would only cancel a task."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
