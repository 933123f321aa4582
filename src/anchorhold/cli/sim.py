"""`anchorhold sim`: run, replay, story, planted."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import show_one
from anchorhold.domain.refusals import Exit
from anchorhold.sim import coverage, ledger, planted
from anchorhold.sim.campaign import Campaign, campaign
from anchorhold.sim.ground import ground
from anchorhold.sim.mode import Mode
from anchorhold.sim.run import play
from anchorhold.sim.shrink import shrunk
from anchorhold.sim.story import told

app = noun(
    "Play simulated worlds on the SQL that ships, and audit them.",
    "anchorhold sim run --seeds 1000",
    "anchorhold sim story 42",
)

SHOWN: Final = 20
"""So many failed seeds are named; a campaign that finds more has found enough."""


class Modes(StrEnum):
    """Which charge modes the worlds' accounts have."""

    PREPARED = "prepared"
    DIRECT = "direct"
    ADR = "adr"
    ALL = "all"

    @property
    def each(self) -> tuple[Mode, ...]:
        """One by one."""
        return tuple(Mode) if self is Modes.ALL else (Mode(self.value),)


Seed = Annotated[int, typer.Argument(min=0, metavar="SEED", help="The world's number.")]
OneMode = Annotated[Mode, typer.Option("--mode", help="How the world's account charges.")]


@verb(
    app,
    "run",
    "anchorhold sim run --seeds 1000 --output json",
    "anchorhold sim run --seeds 1000000 --first-seed 5000 --minutes 60 --mode all",
    scoped=False,
)
def run(
    call: Call,
    *,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many worlds a mode.")] = 500,
    first_seed: Annotated[
        int | None,
        typer.Option(
            "--first-seed", min=0, help="The first one; else 0, or with --keep the next new one."
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="Stop after so long, if not done.")
    ] = None,
    mode: Annotated[Modes, typer.Option("--mode", help="How the accounts charge.")] = (
        Modes.PREPARED
    ),
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="Append what came of it to this file, a line a mode."),
    ] = None,
) -> None:
    """Play many worlds and audit each; exit code 6 when an invariant was broken.

    In each world a seed decides who moves, what breaks and what customers do. The engine, the
    store's statements and the Stripe client are the ones that ship; Stripe is the twin in memory.
    Residuals that direct mode states are counted apart, by their id.
    """
    each = mode.each
    first = first_seed if first_seed is not None else ledger.next_seed(keep) if keep else 0
    until_s = None if minutes is None else 60.0 * minutes / len(each)
    came_to = [Campaign(one) for one in each]
    try:
        with ground() as made:
            for at, one in enumerate(each):
                for so_far in campaign(made, range(first, first + seeds), one, until_s=until_s):
                    came_to[at] = so_far
    finally:
        if keep is not None:
            commit = ledger.commit_of(Path(__file__).parent)
            played = [one for one in came_to if one.worlds]
            ledger.append(keep, [ledger.entry(one, first, commit) for one in played])
    data = _campaigns(came_to, first, mode)
    show_one(call, str(first), data, lambda: _screen(came_to))
    if any(one.failed or one.unexplained for one in came_to):
        raise typer.Exit(Exit.FINDINGS)


def _campaigns(came_to: list[Campaign], first_seed: int, mode: Modes) -> Object:
    worlds, seconds = sum(one.worlds for one in came_to), sum(one.seconds for one in came_to)
    failed = [
        {"seed": seed, "mode": one.mode.value, "violations": list(one.failed[seed])}
        for one in came_to
        for seed in sorted(one.failed)
    ]
    return {
        "object": "simulation",
        "mode": mode.value,
        "first_seed": first_seed,
        "worlds": worlds,
        "steps": sum(one.steps for one in came_to),
        "worlds_per_second": round(worlds / seconds, 1) if seconds else 0.0,
        "violations": sum(one.violations for one in came_to),
        "first_violation_seed": min((one for run in came_to for one in run.failed), default=None),
        "failed": failed[:SHOWN],
        "observed": sum(one.observed for one in came_to),
        "refinement_violations": sum(len(one.unexplained) for one in came_to),
        "unexplained": [
            {"seed": seed, "mode": one.mode.value, "changes": list(one.unexplained[seed])}
            for one in came_to
            for seed in sorted(one.unexplained)
        ][:SHOWN],
        "stated": _all(one.stated for one in came_to),
        "rows_hit": coverage.hit(_all(one.rows for one in came_to)),
        "rows_never_hit": coverage.never_hit(_all(one.rows for one in came_to)),
        "causes_hit": coverage.hit(_all(one.causes for one in came_to), coverage.CAUSES),
        "causes_never_hit": coverage.never_hit(
            _all(one.causes for one in came_to), coverage.CAUSES
        ),
    }


def _all(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counted:
        total.update(one)
    return dict(sorted(total.items()))


def _screen(came_to: list[Campaign]) -> None:
    for one in came_to:
        found, speed = one.violations, one.per_second
        print(f"{one.worlds} worlds, {found} violations, {speed:.1f} worlds a second, {one.mode}")
        for seed in sorted(one.failed)[:SHOWN]:
            print(f"  seed {seed}: {'; '.join(one.failed[seed])}")
            print(f"    anchorhold sim story {seed} --mode {one.mode} --shrink")
        print(f"  {one.observed} held against the model: {len(one.unexplained)} not explained")
        for seed in sorted(one.unexplained)[:SHOWN]:
            print(f"  seed {seed}: {'; '.join(one.unexplained[seed])}")
        if one.stated:
            print(f"  stated: {', '.join(f'{n} x {id_}' for id_, n in one.stated.items())}")
    rows = _all(one.rows for one in came_to)
    causes = _all(one.causes for one in came_to)
    print(f"Rows that decided something: {len(coverage.hit(rows))}")
    if never := coverage.never_hit(rows):
        print(f"Rows never come by: {', '.join(never)}")
    if never := coverage.never_hit(causes, coverage.CAUSES):
        print(f"Causes never come by: {', '.join(never)}")


@verb(
    app,
    "replay",
    "anchorhold sim replay 42",
    "anchorhold sim replay 42 --output json",
    scoped=False,
)
def replay(call: Call, seed: Seed, *, mode: OneMode = Mode.PREPARED) -> None:
    """Play one world again and say what the auditor found; exit code 6 when it found anything."""
    _one(call, seed, mode, with_story=False)


@verb(
    app,
    "story",
    "anchorhold sim story 42",
    "anchorhold sim story 42 --mode direct --shrink --output json",
    scoped=False,
)
def story(
    call: Call,
    seed: Seed,
    *,
    mode: OneMode = Mode.PREPARED,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Leave out all that the violation does not need.")
    ] = False,
) -> None:
    """Tell one world as a timeline: who did what, what broke, and what Stripe said.

    Exit code 6 when the auditor found anything.
    """
    _one(call, seed, mode, with_story=True, shrink=shrink)


def _one(call: Call, seed: int, mode: Mode, *, with_story: bool, shrink: bool = False) -> None:
    with ground() as made:
        played = play(made, seed, mode)
        if shrink:
            played = shrunk(made, played)
    lines = told(played)
    data: Object = {
        "object": "world",
        "seed": seed,
        "mode": mode.value,
        "violations": list(played.violations),
        "stated": list(played.stated),
        "rows_hit": sorted(played.rows),
        "steps": played.steps,
    }
    if with_story:
        data["script"] = played.script.shown()
        data["story"] = lines[1:-1]
    shown = lines if with_story else [lines[0], lines[-1]]
    show_one(call, str(seed), data, lambda: print("\n".join(shown)))
    if played.violations:
        raise typer.Exit(Exit.FINDINGS)


@verb(
    app,
    "planted",
    "anchorhold sim planted",
    "anchorhold sim planted --write planted-bugs.md",
    scoped=False,
)
def planted_bugs(
    call: Call,
    *,
    write: Annotated[Path | None, typer.Option("--write", help="Write the page here.")] = None,
) -> None:
    """Plant one bug after the other and say after how many worlds it is found.

    Exit code 6 when one is not found.
    """
    hunted: list[planted.Hunt] = []
    with ground() as made:
        for one in planted.hunts(made):
            hunted.append(one)
            came_to = f"after {one.worlds} worlds" if one.found else "not found"
            print(f"{one.bug.name}: {came_to}", file=sys.stderr, flush=True)
    page = planted.page(hunted)
    if write is not None:
        write.write_text(page, "utf-8")
    bugs = [
        {
            "name": one.bug.name,
            "holes": one.bug.holes,
            "mode": one.bug.mode.value,
            "found": one.found,
            "worlds": one.worlds,
            "violations": list(one.played.violations) if one.played else [],
        }
        for one in hunted
    ]
    data: Object = {
        "object": "planted_bugs",
        "found": sum(one.found for one in hunted),
        "bugs": bugs,
    }
    show_one(call, "planted", data, lambda: print(page))
    if not all(one.found for one in hunted):
        raise typer.Exit(Exit.FINDINGS)
