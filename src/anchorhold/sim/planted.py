"""How long the auditor takes to find each planted bug, and the page that says so."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from anchorhold.sim.bugs import BUGS, Bug
from anchorhold.sim.ground import Ground
from anchorhold.sim.lanes import played
from anchorhold.sim.planting import planted
from anchorhold.sim.run import Played, play

WORLDS_MOST: Final = 2000
"""A bug that no world of so many shows counts as not found."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """One bug: the first world that shows it, and after how many; None when none did.

    `sound`: the same world is sound without the bug. `as_said`: it was found for what it is.
    """

    bug: Bug
    worlds: int
    played: Played | None
    sound: bool

    @property
    def found(self) -> bool:
        """The bug was found, for what it is, and was all that was found."""
        return self.played is not None and self.sound and self.as_said

    @property
    def as_said(self) -> bool:
        """One of the violations begins as it should."""
        said = self.played.violations if self.played else ()
        return any(one.startswith(self.bug.found_as) for one in said)


def hunt(
    ground: Ground, bug: Bug, *, first_seed: int | None = None, most: int = WORLDS_MOST
) -> Hunt:
    """The bug is planted and worlds are played, from `first_seed` on, until one shows it."""
    begin = bug.first_seed if first_seed is None else first_seed
    worlds, found = 0, None
    with planted(bug.plant), closing(played(ground, range(begin, begin + most), bug.mode)) as all_:
        for one in all_:
            worlds += 1
            if one.violations:
                found = one
                break
    sound = found is not None and not play(ground, found.seed, bug.mode).violations
    return Hunt(bug, worlds, found, sound)


def hunts(ground: Ground) -> Iterator[Hunt]:
    """Every bug, from the first world on."""
    for bug in BUGS:
        yield hunt(ground, bug, first_seed=0)


def page(all_of_them: list[Hunt]) -> str:
    """`docs/proof/planted-bugs.md`."""
    lines = "\n".join(_line(one) for one in all_of_them)
    found = sum(one.found for one in all_of_them)
    return f"""# Planted bugs

<!-- Made by `anchorhold sim planted --write`. Do not edit: run it again. -->

A simulator that finds nothing proves nothing, unless it finds what is there. Each line drops one
sentence of the protocol from the program that ships, then plays worlds from seed 0 on until the
auditor objects. The same world is then played without the bug and has to be sound.

{found} of {len(all_of_them)} were found. Run it again: `anchorhold sim planted`.

| the bug | brings back | mode | found after | seed | what the auditor said first |
|---|---|---|---|---|---|
{lines}
"""


def _line(one: Hunt) -> str:
    said = one.played.violations[0].replace("|", "\\|") if one.played else "nothing"
    seed = str(one.played.seed) if one.played else ""
    after = f"{one.worlds} worlds" if one.found else f"**not in {one.worlds} worlds**"
    return f"| {one.bug.name} | {one.bug.holes} | {one.bug.mode} | {after} | {seed} | {said} |"
