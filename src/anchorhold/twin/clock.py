"""The twin's time: any callable that returns seconds since the epoch, and two that can be moved."""

import time
from collections.abc import Callable

Seconds = Callable[[], float]
"""A clock: seconds since the epoch, with a fraction."""


class Clock:
    """A clock that moves only when told to; for tests and simulations."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time in seconds since the epoch."""
        return self.now

    def advance(self, seconds: float) -> float:
        """Move forward; the new time. Time never goes back: a negative step is a ValueError."""
        if seconds < 0:
            raise ValueError("a clock moves forward; give seconds >= 0")
        self.now += seconds
        return self.now


class WallClock:
    """The machine's time, which can be moved ahead of it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        """The time in seconds since the epoch."""
        return time.time() + self.ahead

    def advance(self, seconds: float) -> float:
        """Move forward; the new time. A negative step is a ValueError."""
        if seconds < 0:
            raise ValueError("a clock moves forward; give seconds >= 0")
        self.ahead += seconds
        return self()
