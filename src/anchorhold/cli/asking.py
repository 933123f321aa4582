"""Asking before money moves."""

import sys

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
    if not typer.confirm(f"Shall I {act}?", err=True):
        say("Nothing was done.")
        raise typer.Abort


def is_terminal() -> bool:
    """Somebody can read the question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()
