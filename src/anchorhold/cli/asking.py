"""Asking before money moves."""

import signal
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

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
    heard, told = socket.socketpair()
    told.settimeout(0)
    wakes = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    over = threading.Event()
    insisting = threading.Thread(target=_insist, args=(heard, over), daemon=True)
    insisting.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(wakes)
        told.close()
        insisting.join()
        heard.close()
        signal.signal(signal.SIGINT, before)


INSIST_S: Final = 0.1


def _insist(heard: socket.socket, over: threading.Event) -> None:
    """Repeat a Ctrl-C: one that comes just before the terminal is read waits for the next key."""
    if heard.recv(1):
        main = threading.main_thread().ident
        while main is not None and not over.wait(INSIST_S):
            signal.pthread_kill(main, signal.SIGINT)
