"""Many worlds beside each other on one connection: a round trip carries a step of each.

Each world is as it would be alone: it has its own account, Stripe, clock and dice, and each of its
statements is its own commit. Only the waiting is shared.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Final

from anchorhold.sim.ground import Ground
from anchorhold.sim.mode import Mode
from anchorhold.sim.run import Answer, Played, Playing, playing
from anchorhold.sim.turns import Asked

WIDTH: Final = 16
"""Worlds beside each other; more of them no longer share more."""

Lane = tuple[Playing[Played], Asked]


def played(ground: Ground, seeds: Iterable[int], mode: Mode) -> Generator[Played]:
    """Each seed's world, as soon as it has ended."""
    left = iter(seeds)
    lanes: list[Lane] = []
    try:
        while True:
            yield from _filled(ground, left, mode, lanes)
            if not lanes:
                return
            answers = ground.answer_all([asked for _, asked in lanes])
            going_on, lanes = lanes, list[Lane]()
            for (world, _), answer in zip(going_on, answers, strict=True):
                ended = _moved(world, answer, lanes)
                if ended is not None:
                    yield ended
    finally:
        for world, _ in lanes:
            world.close()


def _filled(ground: Ground, left: Iterator[int], mode: Mode, lanes: list[Lane]) -> Iterator[Played]:
    """As many worlds are alive as there is room for; those that have ended in it already."""
    while len(lanes) < WIDTH and not (ground.full and lanes):
        seed = next(left, None)
        if seed is None:
            return
        ended = _moved(playing(ground, seed, mode), None, lanes)
        if ended is not None:
            yield ended


def _moved(world: Playing[Played], answer: Answer, lanes: list[Lane]) -> Played | None:
    """The world went on to where it waits next, or has ended."""
    try:
        lanes.append((world, world.send(answer)))
    except StopIteration as done:
        return done.value
    return None
