"""A failing world reduced to its shortest story: what it does not need stays out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from anchorhold.sim.ground import Ground
from anchorhold.sim.moves import Move, Script
from anchorhold.sim.run import Played, replay
from anchorhold.twin.faults import Rule

T = TypeVar("T")

TRIES_MOST: Final = 600
"""Worlds that are played at most to make one shorter."""


@dataclass(slots=True)
class _Shrinking:
    ground: Ground
    best: Played
    wanted: frozenset[str]
    tries: int = 0

    def still_fails(self, script: Script) -> bool:
        """The same invariant is broken without what was left out; then this is the best."""
        if self.tries >= TRIES_MOST:
            return False
        self.tries += 1
        played = replay(self.ground, script)
        if not self.wanted & kinds(played):
            return False
        self.best = replace(played, script=script)
        return True


def kinds(played: Played) -> frozenset[str]:
    """The invariants that a world broke, without the details."""
    return frozenset(said.partition(":")[0] for said in played.violations)


def shrunk(ground: Ground, played: Played) -> Played:
    """A world with as little in it as can be and one of the same violations; a sound one as it is.

    It is as short as leaving out runs of moves, and then broken requests, could make it.
    """
    if not played.violations:
        return played
    at_work = _Shrinking(ground, played, kinds(played))
    before = None
    while before != at_work.best.script and at_work.tries < TRIES_MOST:
        before = at_work.best.script
        _fewer_moves(at_work)
        _fewer_rules(at_work)
    return at_work.best


def _fewer_moves(at_work: _Shrinking) -> None:
    script = at_work.best.script

    def fails(moves: Sequence[Move]) -> bool:
        return at_work.still_fails(replace(script, moves=tuple(moves)))

    _fewest(script.moves, fails)


def _fewer_rules(at_work: _Shrinking) -> None:
    script = at_work.best.script

    def fails(rules: Sequence[Rule]) -> bool:
        setting = replace(script.setting, rules=tuple(rules))
        return at_work.still_fails(replace(script, setting=setting))

    _fewest(script.setting.rules, fails)


def _fewest(whole: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """What is left when runs of ever fewer elements were left out wherever it still fails."""
    size = len(whole)
    while size:
        at = 0
        while at < len(whole):
            less = [*whole[:at], *whole[at + size :]]
            if fails(less):
                whole = less
            else:
                at += size
        size //= 2
    return whole
