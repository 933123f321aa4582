"""`python -m anchorhold.sim.model`: every search, with its states, its violations and its time."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from anchorhold.sim.model.direct_runs import STORIES
from anchorhold.sim.model.prepared import Rule
from anchorhold.sim.model.prepared_ours import model
from anchorhold.sim.model.prepared_runs import LONG, SHORT, TAKEN_BACK
from anchorhold.sim.model.search import Model, search

MODES: Final = ("prepared", "direct", "adr")
SWEEPS: Final = {"direct": "fence", "adr": "adr"}


class Search(NamedTuple):
    """One search to be made, and the kinds of violations that it has to show."""

    name: str
    model: Model[Any]
    shows: frozenset[str]


def searches(mode: str, *, long: bool) -> Iterator[Search]:
    """The searches of a mode; the long ones take minutes each."""
    if mode == "prepared":
        for name, run in (SHORT | LONG if long else SHORT).items():
            yield Search(name, model(Rule(), run), frozenset())
        for back in TAKEN_BACK:
            yield Search(f"{back.finding} without {back.sentence}", back.model(), back.found)
        return
    for story in STORIES:
        if long or story.short:
            for rule in ("first", SWEEPS[mode]):
                name = f"{story.finding} {rule}: {story.what}"
                yield Search(name, story.model(rule), story.shows[rule])


def main(words: list[str]) -> int:
    """Makes the searches and prints each; 1 when one shows something else than it has to."""
    asked = argparse.ArgumentParser(prog="python -m anchorhold.sim.model", description=__doc__)
    asked.add_argument("--mode", choices=MODES, default="prepared")
    asked.add_argument("--long", action="store_true", help="the long searches too")
    asked.add_argument("--minutes", type=float, help="cut each search after so long")
    asked.add_argument("--ways", action="store_true", help="tell the way to each violation")
    given = asked.parse_args(words)
    until_s = None if given.minutes is None else 60 * given.minutes
    wrong = 0
    for one in searches(given.mode, long=given.long):
        done = search(one.model, until_s=until_s)
        as_told = done.kinds == one.shows or (not done.complete and done.kinds <= one.shows)
        wrong += not as_told
        size = f"{done.states:>9} states{'' if done.complete else ', cut'}, {done.seconds:.1f} s"
        found = " ".join(sorted(done.kinds)) or "nothing"
        print(f"{size}: {one.name}: {found}{'' if as_told else ' (NOT AS TOLD)'}", flush=True)
        if given.ways:
            _tell(done.found)
    return 1 if wrong else 0


def _tell(found: dict[str, tuple[str, ...]]) -> None:
    for violation, way in sorted(found.items()):
        print(f"    {violation}, after {len(way)} steps:")
        for number, label in enumerate(way, 1):
            print(f"      {number:2}. {label}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
