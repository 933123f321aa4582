"""Many worlds in a row, and what they came to."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

from anchorhold.sim.ground import Ground
from anchorhold.sim.lanes import played
from anchorhold.sim.mode import Mode
from anchorhold.sim.run import Played

COLLECTED_AFTER = 100
"""Worlds between two collections of garbage."""


@dataclass(slots=True)
class Campaign:
    """What many worlds came to."""

    mode: Mode = Mode.PREPARED
    worlds: int = 0
    steps: int = 0
    seconds: float = 0
    failed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """What was violated, by seed."""
    stated: Counter[str] = field(default_factory=Counter)
    """In how many worlds a residual came to pass that this mode states."""
    rows: Counter[str] = field(default_factory=Counter)
    """In how many worlds each row decided something."""
    causes: Counter[str] = field(default_factory=Counter)
    observed: int = 0
    """Worlds that were held against the model, statement by statement."""
    unexplained: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """What no move of the model explains, by seed."""

    @property
    def per_second(self) -> float:
        """Worlds a second."""
        return self.worlds / self.seconds if self.seconds else 0.0

    @property
    def violations(self) -> int:
        """How many there were in all worlds."""
        return sum(map(len, self.failed.values()))

    def add(self, played: Played) -> None:
        """One more world."""
        self.worlds += 1
        self.steps += played.steps
        self.rows.update(played.rows)
        self.causes.update(played.causes)
        self.stated.update(set(played.stated))
        if played.unexplained is not None:
            self.observed += 1
        if played.unexplained:
            self.unexplained[played.seed] = played.unexplained
        if played.violations:
            self.failed[played.seed] = played.violations


def campaign(
    ground: Ground, seeds: Iterable[int], mode: Mode, *, until_s: float | None = None
) -> Iterator[Campaign]:
    """The campaign so far, after each world; it ends with the seeds or after `until_s` seconds."""
    came_to, began = Campaign(mode), perf_counter()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for one in played(ground, seeds, mode):
            came_to.add(one)
            came_to.seconds = perf_counter() - began
            if came_to.worlds % COLLECTED_AFTER == 0:
                gc.collect()
            yield came_to
            if until_s is not None and came_to.seconds >= until_s:
                return
    finally:
        gc.enable()
        gc.unfreeze()
