"""One world from its beginning to the auditor's judgement, drawn by a seed or played by a script.

Everything that a world does until its faults stop is a move, so that a failing world can be played
again without some of them.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeVar

from anchorhold.sim import outside, setting, warm, workload
from anchorhold.sim.auditor import Auditor, Rows, rows_of
from anchorhold.sim.faults import SLOW_S, Harm, Harms
from anchorhold.sim.ground import Ground
from anchorhold.sim.labour import prepare
from anchorhold.sim.mode import Mode
from anchorhold.sim.moves import STEP, THAW, Move, Script
from anchorhold.sim.observer import observe
from anchorhold.sim.scheduler import Process
from anchorhold.sim.setting import Setting
from anchorhold.sim.shield import Shield
from anchorhold.sim.turns import Asked, Fate
from anchorhold.sim.warm import Template
from anchorhold.sim.workload import (
    ACTS,
    AFTER_A_FREEZE,
    AFTER_A_PAYMENT,
    BEGINS_COLD,
    BEGINS_WARM,
    ON_A_PAGE,
    Cast,
)
from anchorhold.sim.world import Line, World, finished
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.wire import Obj

STEPS_MOST: Final = 4000
"""No world takes more; one that does is going round in circles."""
FIRST: Final = (1860, 1860, 93_600)
ROUNDS: Final = (93_600,) * 10
"""Seconds until each visit of those who come when nothing breaks any more: longer than any wait."""
LATE: Final = {
    Mode.PREPARED: (0, 0, 0, 1),
    Mode.DIRECT: (0, 1, 2, 3),
    Mode.ADR: (0, 1, 2, 3),
}
"""Before which visit Stripe carries out what it has put off."""
VISITORS: Final = ("tick", "preparer", "worker")
THOROUGH: Final = 0.25
"""How many worlds get one more visit when all is quiet, which may change nothing (I7)."""
OBSERVED: Final = 20
"""Each so many-th seed's world is held against the model, statement by statement."""
BURSTS: Final = (0, 2, 8, 30)
"""How many steps are taken between two things that happen."""
THAWS: Final = 0.3
PAID: Final = ("confirm_intent: succeeded", "create_intent: succeeded")
"""Answers that are saved although their caller is cancelled."""
PAYS: Final = 0.3
OVERTAKEN: Final = 0.6
"""How often a frozen process is overtaken by time and by others."""


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one world."""

    script: Script
    violations: tuple[str, ...]
    stated: tuple[str, ...]
    """Ids of the residuals that this mode states, and that came to pass here."""
    rows: frozenset[str]
    """Ids of the rows of all tables that decided something."""
    causes: frozenset[str]
    steps: int
    story: tuple[Line, ...]
    left: Rows
    """The rows that were left in the end."""
    at_stripe: tuple[Obj, ...]
    """The PaymentIntents that Stripe has of it, oldest first."""
    unexplained: tuple[str, ...] | None
    """What no move of the model explains; None in a world that was not observed."""

    @property
    def seed(self) -> int:
        """The seed that it was drawn by."""
        return self.script.setting.seed


@dataclass(slots=True)
class _Play:
    cast: Cast
    auditor: Auditor
    moves: list[Move] = field(default_factory=list)
    steps: int = 0


T = TypeVar("T")

Answer = list[list[tuple[Any, ...]]] | Exception | None
Playing = Generator[Asked, Answer, T]
"""Yields the statements that it waits for, and is sent what they were answered."""

Source = Callable[[_Play], Iterator[Move]]


def play(ground: Ground, seed: int, mode: Mode = Mode.PREPARED) -> Played:
    """The seed's world; the same seed tells the same story."""
    return at_once(ground, playing(ground, seed, mode))


def replay(ground: Ground, script: Script) -> Played:
    """The script's world: its moves as far as they are possible, and nothing else."""
    return at_once(ground, _played(ground, script.setting, lambda _game: iter(script.moves)))


def playing(ground: Ground, seed: int, mode: Mode) -> Playing[Played]:
    """The seed's world, step by step: it waits wherever statements are to be carried out."""
    return _played(ground, setting.drawn(seed, mode), _draws)


def at_once(ground: Ground, work: Playing[T]) -> T:
    """The end of what waits only for its statements."""
    answer: Answer = None
    try:
        while True:
            answer = ground.answer_all([work.send(answer)])[0]
    except StopIteration as done:
        return done.value


def _played(ground: Ground, of: Setting, source: Source) -> Playing[Played]:
    ground.begin()
    try:
        return (yield from _whole(ground, of, source))
    finally:
        ground.end()


def _whole(ground: Ground, of: Setting, source: Source) -> Playing[Played]:
    auditor = Auditor()
    template = None if of.cold else _template(ground, of)
    world = World(ground, of, auditor.leaving, template=template)
    auditor.world = world
    observer = observe(world) if of.seed % OBSERVED == 0 else None
    game = _Play(Cast(world), auditor)
    _begin(game)
    for move in source(game):
        game.moves.append(move)
        yield from _take(game, move)
    rows = yield from _calm(game)
    played = Played(
        Script(of, tuple(game.moves)),
        tuple(auditor.violations),
        tuple(auditor.stated),
        frozenset(world.rows),
        frozenset(rows["causes"]) | {one["cause"] for one in rows["attempts"] if one["cause"]},
        game.steps,
        tuple(world.story),
        rows,
        tuple(auditor.ledger.intents()),
        tuple(observer.violations) if observer else None,
    )
    auditor.world = None
    world.let_go()
    return played


def _template(ground: Ground, of: Setting) -> Template:
    """The prepared world of this kind; made anew when the tables were emptied."""
    kind = (ground.generation, of.mode, of.methods)
    made = ground.templates.get(kind)
    if made is None:
        seed = "warm"
        plain = Setting(0, of.mode, of.methods, cold=True, rules=(), harms=0)
        world = World(ground, plain, lambda _key, _url: None)
        finished(world, world.begin())
        finished(world, prepare(world, seed, Move("comes")))
        account = world.scope.account_id
        made = ground.templates[kind] = Template(
            account,
            world.clock(),
            tuple(world.invoices),
            tuple(world.requests),
            str(plain.seed),
            warm.copying(ground, account),
            [],
        )
    return made


def _begin(game: _Play) -> None:
    world = game.cast.world
    of = world.setting
    if of.cold:
        finished(world, world.begin())
    state = "to be set up" if of.cold else "prepared"
    world.tell("import", f"invoices to be charged with {', '.join(of.methods)}: {state}")
    outside.allow_mandates(world)
    if of.deaf:
        outside.key_state(world, KeyState.VALID)
        world.tell("Stripe", "tells of no event, ever")
    world.twin.faults.replace(of.rules, of.seed)
    for rule in of.rules:
        world.tell("Stripe", f"call {min(rule.calls)} of {rule.endpoint} will be {rule.kind.value}")


def _draws(game: _Play) -> Iterator[Move]:
    """Things happen while processes are at work, and some of it breaks."""
    cast, of = game.cast, game.cast.world.setting
    random = Random(f"world:{of.seed}")  # noqa: S311 - repeatable, not secret
    harms = Harms(random, of.harms)
    yield workload.drawn(random, cast, *(BEGINS_COLD if of.cold else BEGINS_WARM))
    for _ in range(random.randint(3, 12)):
        for _ in range(random.choice(BURSTS)):
            able = [one for one in cast.living if not one.frozen]
            if not able:
                break
            yield _step_of(random.choice(able), harms)
        for process in [one for one in cast.living if one.frozen]:
            if random.random() < THAWS:
                yield Move(THAW, process.name)
        yield from _happens(random, cast)


def _happens(random: Random, cast: Cast) -> Iterator[Move]:
    """The next thing; where somebody is frozen, time often goes by and others come.

    Where a page has handed out its secret, the customer often pays, and others act on that.
    """
    if cast.world.secrets and random.random() < PAYS:
        yield workload.drawn(random, cast, *ON_A_PAGE)
        yield workload.drawn(random, cast, *AFTER_A_PAYMENT)
    elif any(one.frozen for one in cast.living) and random.random() < OVERTAKEN:
        yield workload.drawn(random, cast, "time goes by")
        yield workload.drawn(random, cast, *AFTER_A_FREEZE)
    else:
        yield workload.drawn(random, cast)


def _step_of(process: Process, harms: Harms) -> Move:
    harm = harms.next(process.turn) if process.turn is not None else None
    seconds = harms.random.choice(SLOW_S) if harm is Harm.SLOW else 0
    return Move(STEP, process.name, word=harm.name if harm else "", seconds=seconds)


def _take(game: _Play, move: Move) -> Playing[None]:
    """The move is made, or left out where nobody can make it."""
    process = game.cast.named(move.who)
    if move.what == STEP:
        if process is not None and not process.frozen:
            game.cast.world.later(move.seconds)
            yield from _step(game, process, Harm[move.word] if move.word else None)
    elif move.what == THAW:
        if process is not None and process.frozen:
            process.frozen = False
            game.cast.world.tell(process.name, "thaws")
    else:
        ACTS[move.what].do(game.cast, move)
        game.auditor.look()


def _step(game: _Play, process: Process, harm: Harm | None = None) -> Playing[None]:
    world, turn = game.cast.world, process.turn
    if turn is not None:
        if harm is not None:
            world.tell(process.name, f"{harm.value} {turn.name}")
        if harm is Harm.FREEZES:
            process.frozen = True
            return
        if harm is Harm.DIES:
            process.die()
        elif harm is Harm.CANCELLED:
            process.cancel(world.shields.setdefault(process.name, Shield()))
            yield from _heard(process)
        else:
            world.tell(process.name, turn.name)
            process.move(Fate.LOSES_ANSWER if harm is Harm.LOSES_ANSWER else Fate.GOES_ON)
            yield from _heard(process)
            if world.setting.cold:
                outside.allow_mandates(world)
        game.steps += 1
        game.auditor.look()
    if process.turn is None:
        _ended(game, process)


def _heard(process: Process) -> Playing[None]:
    """The statements of its step are carried out, and it goes on to its next step."""
    while process.asked is not None:
        answer = yield process.asked
        assert answer is not None
        process.hear(answer)


def _ended(game: _Play, process: Process) -> None:
    game.cast.living.remove(process)
    game.cast.world.tell(process.name, f"ends: {process.end}")
    if process.end == "cancelled" and not process.injured and process.heard in PAID:
        game.auditor.look_for_unsaved(process.name)
    if process.bug is not None:
        said = f"{type(process.bug).__name__}: {str(process.bug).splitlines()[0]}"
        game.auditor.found(f"loud: a process raised {said}")


def _calm(game: _Play) -> Playing[Rows]:
    """Nothing breaks any more; everybody comes to an end, others come later; then all is judged."""
    cast, world = game.cast, game.cast.world
    random = Random(f"calm:{world.setting.seed}")  # noqa: S311 - repeatable, not secret
    world.tell("faults", "stop")
    world.twin.faults.replace([])
    outside.key_state(world, KeyState.VALID)
    world.connected = True
    for process in cast.living:
        process.frozen = False
    yield from _finish(game, random)
    settled = yield from _settles(game, random)
    if not settled:
        game.auditor.found("I7: each visit changes something, without an end")
    rows = game.auditor.judge()
    world.rows.update(rows["rules"])
    return rows


def _settles(game: _Play, random: Random) -> Playing[bool]:
    """Everything has come to its end; in a share of the worlds one more visit changed nothing.

    What Stripe has put off it carries out before one of the first visits.
    """
    world, before = game.cast.world, None
    thorough = random.random() < THOROUGH
    late = random.choice(LATE[world.setting.mode]) if world.twin.next_due() is not None else 0
    for number, seconds in enumerate((random.choice(FIRST), *ROUNDS)):
        if number == late:
            outside.stripe_catches_up(world)
            outside.banks_speak(world)
        yield from _visit(game, random, seconds)
        rows = rows_of(world)
        after = (rows, len(world.twin.accounts[0].events))
        quiet = before == after or not (thorough or game.auditor.objects_to(rows))
        if quiet and number >= late:
            return True
        before = after
    return False


def _visit(game: _Play, random: Random, seconds: float) -> Playing[None]:
    """So much later everybody who comes by himself has come once."""
    world = game.cast.world
    world.later(seconds)
    outside.banks_speak(world)
    world.alarms.clear()
    for kind in random.sample(VISITORS, k=len(VISITORS)):
        game.cast.enter(Move("comes", f"{kind} {game.cast.begun + 1}"))
        yield from _finish(game, random)


def _finish(game: _Play, random: Random) -> Playing[None]:
    while game.cast.living and game.steps < STEPS_MOST:
        yield from _step(game, random.choice(game.cast.living))
    if game.cast.living:
        game.auditor.found("I7: work without an end")
        for process in list(game.cast.living):
            process.die()
            game.cast.living.remove(process)
