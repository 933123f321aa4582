"""Turns: where a process of a world waits until the scheduler lets it go on.

There is no event loop. A coroutine that awaits a `Turn` hands control to whoever drives it with
`send`, and gets its `Fate` back.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


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


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Statements that a process has sent: whoever drives the world carries them out.

    At `now` by the world's clock, and each is committed by itself.
    """

    now: float
    statements: Sequence[tuple[bytes, dict[str, Any]]]

    def __await__(self) -> Generator["Asked", Any, Any]:
        """The rows of each statement, or what PostgreSQL refused is raised."""
        return (yield self)


@dataclass(frozen=True, slots=True)
class Turn:
    """One step that waits for its turn."""

    kind: Kind
    name: str

    def __await__(self) -> Generator["Turn", Any, Any]:
        """Control goes to the scheduler; the fate that it chose comes back."""
        return (yield self)
