"""Turns: where a process of a world waits until the scheduler lets it go on.

There is no event loop. A coroutine that awaits a `Turn` hands control to whoever drives it with
`send`, and gets its `Fate` back.
"""

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum


class Fate(Enum):
    """What becomes of the step that a process is about to take."""

    GOES_ON = "goes on"
    LOSES_ANSWER = "loses the answer"
    """The step is carried out and nobody hears of it."""


class Kind(Enum):
    """What kind of step it is."""

    STATEMENT = "statement"
    REQUEST = "request"
    ANSWER = "answer"
    """Stripe has acted; its answer has not been read yet."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step that waits for its turn."""

    kind: Kind
    name: str

    def __await__(self) -> Generator["Turn", Fate, Fate]:
        """Control goes to the scheduler; the fate that it chose comes back."""
        return (yield self)
