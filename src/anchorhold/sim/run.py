"""One seed played from its beginning to the auditor's judgement, and many of them in a row."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from anchorhold.sim import faults, outside
from anchorhold.sim.auditor import Auditor, rows_of
from anchorhold.sim.db import Connection
from anchorhold.sim.faults import Harm, Harms
from anchorhold.sim.scheduler import Process
from anchorhold.sim.turns import Fate
from anchorhold.sim.workload import METHODS, Cast, happen
from anchorhold.sim.world import Line, World, at_once
from anchorhold.twin.keyring import KeyState

STEPS_MOST: Final = 4000
"""No world takes more; one that does is going round in circles."""
ROUNDS: Final = (1860, *(93_600,) * 7)
"""Seconds until each visit of those who come when nothing breaks any more: longer than any wait."""


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one world."""

    seed: int
    violations: tuple[str, ...]
    rows: frozenset[str]
    """Ids of the rows of all tables that decided something."""
    steps: int
    story: tuple[Line, ...]


@dataclass(slots=True)
class _Play:
    cast: Cast
    auditor: Auditor
    harms: Harms
    steps: int = 0


def play(connection: Connection, seed: int, *, number: int = 0) -> Played:
    """The seed's world from its beginning to its judgement; the same seed tells the same story.

    `number` must be another one for each run of a seed in one database.
    """
    auditor = Auditor()
    world = World(connection, seed, auditor.leaving, number=number)
    auditor.world = world
    game = _Play(Cast(world), auditor, Harms(world.random, world.random.randint(0, 4)))
    _begin(game)
    _live(game)
    _calm(game)
    return Played(
        seed, tuple(auditor.violations), frozenset(world.rows), game.steps, tuple(world.story)
    )


def _begin(game: _Play) -> None:
    world = game.cast.world
    count = world.random.choice((1, 1, 1, 2))
    methods: list[str | None] = [world.random.choice(METHODS) for _ in range(count)]
    at_once(world.begin(methods, 1000))
    world.tell("import", f"invoices to be charged with {', '.join(map(str, methods))}")
    rules = faults.at_stripe(world.random)
    world.twin.faults.replace(rules, world.seed)
    for rule in rules:
        world.tell("Stripe", f"call {min(rule.calls)} of {rule.endpoint} will be {rule.kind.value}")


def _live(game: _Play) -> None:
    """Things happen while processes are at work, and some of it breaks."""
    cast, random = game.cast, game.cast.world.random
    cast.enter("worker", cast.world.work)
    for _ in range(random.randint(3, 12)):
        for _ in range(random.choice((0, 2, 8, 30))):
            able = [one for one in cast.living if not one.frozen]
            if not able:
                break
            _step(game, random.choice(able))
        _thaw(game)
        happen(cast)
        game.auditor.look()


def _thaw(game: _Play) -> None:
    for process in game.cast.living:
        if process.frozen and game.cast.world.random.random() < 0.3:
            process.frozen = False
            game.cast.world.tell(process.name, "thaws")


def _step(game: _Play, process: Process) -> None:
    world, turn = game.cast.world, process.turn
    if turn is not None:
        harm = game.harms.next(turn)
        if harm is not None:
            world.tell(process.name, f"{harm.value} {turn.name}")
        if harm is Harm.FREEZES:
            process.frozen = True
            return
        if harm is Harm.DIES:
            process.die()
        else:
            world.tell(process.name, turn.name)
            process.move(Fate.LOSES_ANSWER if harm is Harm.LOSES_ANSWER else Fate.GOES_ON)
            outside.allow_mandates(world)
        game.steps += 1
        game.auditor.look(turn.name)
    if process.turn is None:
        _ended(game, process)


def _ended(game: _Play, process: Process) -> None:
    game.cast.living.remove(process)
    game.cast.world.tell(process.name, f"ends: {process.end}")
    if process.bug is not None:
        said = f"{type(process.bug).__name__}: {str(process.bug).splitlines()[0]}"
        game.auditor.found(f"loud: a process raised {said}")


def _calm(game: _Play) -> None:
    """Nothing breaks any more; everybody comes to an end, others come later; then all is judged."""
    cast, world = game.cast, game.cast.world
    world.tell("faults", "stop")
    game.harms.stop()
    world.twin.faults.replace([])
    outside.key_state(world, KeyState.VALID)
    world.connected = True
    for process in cast.living:
        process.frozen = False
    _finish(game)
    outside.stripe_catches_up(world)
    outside.banks_speak(world)
    if not _settles(game):
        game.auditor.found("I7: each visit changes something, without an end")
    world.rows.update(game.auditor.judge()["rules"])


def _settles(game: _Play) -> bool:
    """A visit came that changed nothing, neither here nor at Stripe."""
    world, before = game.cast.world, None
    for seconds in ROUNDS:
        world.later(seconds)
        outside.banks_speak(world)
        for kind, work in (("tick", world.ticks), ("worker", world.work)):
            game.cast.enter(kind, work)
            _finish(game)
        after = (rows_of(world), len(world.twin.accounts[0].events))
        if before == after:
            return True
        before = after
    return False


def _finish(game: _Play) -> None:
    while game.cast.living and game.steps < STEPS_MOST:
        _step(game, game.cast.world.random.choice(game.cast.living))
    if game.cast.living:
        game.auditor.found("I7: work without an end")
        for process in list(game.cast.living):
            process.die()
            game.cast.living.remove(process)


@dataclass(slots=True)
class Campaign:
    """What many worlds came to."""

    worlds: int = 0
    steps: int = 0
    seconds: float = 0
    failed: dict[int, tuple[str, ...]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    """In how many worlds each row decided something."""

    @property
    def per_second(self) -> float:
        """Worlds a second."""
        return self.worlds / self.seconds if self.seconds else 0.0

    def add(self, played: Played) -> None:
        """One more world."""
        self.worlds += 1
        self.steps += played.steps
        self.rows.update(played.rows)
        if played.violations:
            self.failed[played.seed] = played.violations


def campaign(
    connection: Connection, seeds: Iterable[int], *, until_s: float | None = None, number: int = 0
) -> Iterator[Campaign]:
    """The campaign so far, after each world; it ends with the seeds or after `until_s` seconds."""
    came_to, began = Campaign(), perf_counter()
    for seed in seeds:
        came_to.add(play(connection, seed, number=number))
        came_to.seconds = perf_counter() - began
        yield came_to
        if until_s is not None and came_to.seconds >= until_s:
            return
