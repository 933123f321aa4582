"""Processes of their own that do one thing each, a few at a time."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

AT_ONCE = 2
BROKEN = 70
"""Exit code of a process whose work raised."""


def forked(work: Callable[[], int], patience_s: int = 0) -> int:
    """The id of a process that does this, unheard, and exits with what it returned.

    After its patience it is ended by SIGALRM; 0 is for ever.
    """
    child = os.fork()
    if child == 0:
        loud, quiet = os.fdopen(os.dup(2), "w"), os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.alarm(patience_s)
        end = BROKEN
        try:
            end = work()
        except BaseException:
            traceback.print_exc(file=loud)
        finally:
            loud.flush()
            os._exit(end)
    return child


def ended(
    things: Sequence[T], work: Callable[[T], int], patience_s: int = 0
) -> Iterator[tuple[T, int]]:
    """Each thing with the exit code of the process that worked on it, as they end."""
    waiting, running = [*reversed(things)], dict[int, T]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            thing = waiting.pop()
            running[forked(lambda thing=thing: work(thing), patience_s)] = thing
        child, status = os.wait()
        if child in running:
            yield running.pop(child), os.waitstatus_to_exitcode(status)
