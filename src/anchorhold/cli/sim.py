"""`anchorhold sim`: run, replay, story."""

from typing import Annotated, Final

import typer

from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import show_one
from anchorhold.domain.refusals import Exit
from anchorhold.sim import coverage
from anchorhold.sim.ground import ground
from anchorhold.sim.run import Campaign, campaign, play
from anchorhold.sim.story import told

app = noun(
    "Play simulated worlds on the SQL that ships, and audit them.",
    "anchorhold sim run --seeds 1000",
    "anchorhold sim story 42",
)

SHOWN: Final = 20
"""So many failed seeds are named; a campaign that finds more has found enough."""

Seed = Annotated[int, typer.Argument(min=0, metavar="SEED", help="The world's number.")]


@verb(
    app,
    "run",
    "anchorhold sim run --seeds 1000 --output json",
    "anchorhold sim run --seeds 1000000 --first-seed 5000 --minutes 60",
    scoped=False,
)
def run(
    call: Call,
    *,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many worlds.")] = 500,
    first_seed: Annotated[int, typer.Option("--first-seed", min=0, help="The first one.")] = 0,
    minutes: Annotated[
        int | None, typer.Option("--minutes", min=1, help="Stop after so long, if not done.")
    ] = None,
) -> None:
    """Play many worlds and audit each; exit code 6 when an invariant was broken.

    In each world a seed decides who moves, what breaks and what customers do. The engine, the
    store's statements and the Stripe client are the ones that ship; Stripe is the twin in memory.
    Prepared mode.
    """

    until_s = None if minutes is None else 60.0 * minutes
    came_to = Campaign()
    with ground() as connection:
        for so_far in campaign(connection, range(first_seed, first_seed + seeds), until_s=until_s):
            came_to = so_far
    data = _campaign(came_to, first_seed)
    show_one(call, str(first_seed), data, lambda: _screen(came_to))
    if came_to.failed:
        raise typer.Exit(Exit.FINDINGS)


def _campaign(came_to: Campaign, first_seed: int) -> Object:
    failed = came_to.failed
    return {
        "object": "simulation",
        "first_seed": first_seed,
        "worlds": came_to.worlds,
        "steps": came_to.steps,
        "worlds_per_second": round(came_to.per_second, 1),
        "violations": sum(map(len, failed.values())),
        "first_violation_seed": min(failed, default=None),
        "failed": [
            {"seed": seed, "violations": list(failed[seed])} for seed in sorted(failed)[:SHOWN]
        ],
        "rows_hit": coverage.hit(came_to.rows),
        "rows_never_hit": coverage.never_hit(came_to.rows),
    }


def _screen(came_to: Campaign) -> None:
    found = sum(map(len, came_to.failed.values()))
    print(f"{came_to.worlds} worlds, {found} violations, {came_to.per_second:.1f} worlds a second")
    for seed in sorted(came_to.failed)[:SHOWN]:
        print(f"  seed {seed}: {'; '.join(came_to.failed[seed])}")
        print(f"    anchorhold sim story {seed}")
    print(f"Rows that decided something: {len(coverage.hit(came_to.rows))}")
    if never := coverage.never_hit(came_to.rows):
        print(f"Rows never come by: {', '.join(never)}")


@verb(
    app,
    "replay",
    "anchorhold sim replay 42",
    "anchorhold sim replay 42 --output json",
    scoped=False,
)
def replay(call: Call, seed: Seed) -> None:
    """Play one world again and say what the auditor found; exit code 6 when it found anything."""
    _one(call, seed, with_story=False)


@verb(
    app,
    "story",
    "anchorhold sim story 42",
    "anchorhold sim story 42 --output json",
    scoped=False,
)
def story(call: Call, seed: Seed) -> None:
    """Tell one world as a timeline: who did what, what broke, and what Stripe said.

    Exit code 6 when the auditor found anything.
    """
    _one(call, seed, with_story=True)


def _one(call: Call, seed: int, *, with_story: bool) -> None:

    with ground() as connection:
        played = play(connection, seed)
    lines = told(played)
    data: Object = {
        "object": "world",
        "seed": seed,
        "violations": list(played.violations),
        "rows_hit": sorted(played.rows),
        "steps": played.steps,
    }
    if with_story:
        data["story"] = lines[1:-1]
    shown = lines if with_story else [lines[0], lines[-1]]
    show_one(call, str(seed), data, lambda: print("\n".join(shown)))
    if played.violations:
        raise typer.Exit(Exit.FINDINGS)
