"""What happens in a world: who comes to work, what customers do, how time goes, and how often.

The workload knows nothing of the auditor, and does not care whether what it does makes sense.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from anchorhold.domain.ids import InvoiceId
from anchorhold.sim import outside
from anchorhold.sim.labour import KINDS
from anchorhold.sim.moves import Move
from anchorhold.sim.scheduler import Process
from anchorhold.sim.world import World
from anchorhold.twin.keyring import KeyState

CARDS: Final = ("pm_card_visa", "pm_card_chargeCustomerFail", "pm_card_threeDSecure2Required")
DEBITS: Final = ("pm_success_de", "pm_failed_de")
JUMPS: Final = (60, 240, 360, 360, 1860, 3660, 93_600)
"""Seconds that go by at once: within a hold, past it, past a re-check, past a key's life."""
YES, NO = "yes", "no"
NUMBERS: Final = 64
"""Which event a webhook brings is drawn out of so many."""


@dataclass(slots=True)
class Cast:
    """A world and the processes that live in it."""

    world: World
    living: list[Process] = field(default_factory=list)
    begun: int = 0

    def of(self, move: Move) -> InvoiceId:
        """The invoice that a move is about."""
        return self.world.invoice(move.invoice)

    def named(self, name: str) -> Process | None:
        """The living process of this name."""
        return next((one for one in self.living if one.name == name), None)

    def enter(self, move: Move) -> Process:
        """A new process begins the work of its kind."""
        self.begun += 1
        work = KINDS[move.who.partition(" ")[0]]
        process = Process(move.who, work(self.world, move.who, move))
        process.begin()
        self.living.append(process)
        return process


Do = Callable[[Cast, Move], object]


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can happen, with how often against the others and what it draws."""

    weight: int
    do: Do
    enters: str = ""
    words: tuple[str, ...] = ("",)
    seconds: tuple[int, ...] = (0,)


def _entry(weight: int, kind: str) -> Act:
    return Act(weight, Cast.enter, enters=kind)


def _time(cast: Cast, move: Move) -> None:
    cast.world.tell("time", f"{move.seconds // 60} minutes go by")
    cast.world.later(move.seconds)


def _key(state: KeyState) -> Do:
    return lambda cast, _move: outside.key_state(cast.world, state)


ACTS: Final[dict[str, Act]] = {
    "worker comes": _entry(10, "worker"),
    "preparer comes": _entry(3, "preparer"),
    "operator collects": _entry(6, "operator"),
    "dunning comes": _entry(4, "dunning"),
    "sweeper comes": _entry(6, "sweep"),
    "ticker comes": _entry(5, "tick"),
    "webhook comes": _entry(6, "webhook"),
    "reader opens it": _entry(1, "reader"),
    "customer opens the page": _entry(6, "page"),
    "operator voids": _entry(2, "voider"),
    "operator writes off": _entry(3, "writer-off"),
    "operator was paid elsewhere": _entry(2, "cashier"),
    "operator amends": _entry(2, "amender"),
    "final action": _entry(2, "finisher"),
    "customer has credit": _entry(1, "creditor"),
    "operator refunds": _entry(4, "refunder"),
    "time goes by": Act(14, _time, seconds=JUMPS),
    "customer pays on the page": Act(
        5, lambda cast, move: outside.pays_on_page(cast.world, cast.of(move), move.word),
        words=CARDS,
    ),
    "customer agrees to a debit": Act(
        2, lambda cast, move: outside.agrees_to_debit(cast.world, cast.of(move), move.word),
        words=DEBITS,
    ),
    "customer comes back": Act(
        2,
        lambda cast, move: outside.comes_back(cast.world, cast.of(move), passed=move.word == YES),
        words=(YES, YES, NO),
    ),
    "cards change": Act(
        2, lambda cast, move: outside.card_becomes(cast.world, move.word), words=CARDS
    ),
    "merchant detaches the card": Act(
        1, lambda cast, _move: outside.method_is_detached(cast.world)
    ),
    "customer disputes": Act(
        2,
        lambda cast, move: outside.disputed(cast.world, cast.of(move), move.word),
        words=("fraudulent", "inquiry"),
    ),
    "dispute ends": Act(
        1,
        lambda cast, move: outside.dispute_ends(cast.world, won=move.word == YES),
        words=(YES, NO),
    ),
    "banks speak": Act(2, lambda cast, _move: outside.banks_speak(cast.world)),
    "Stripe catches up": Act(2, lambda cast, _move: outside.stripe_catches_up(cast.world)),
    "merchant cancels": Act(
        1, lambda cast, move: outside.merchant_cancels(cast.world, cast.of(move))
    ),
    "merchant refunds": Act(
        1, lambda cast, move: outside.merchant_refunds(cast.world, cast.of(move))
    ),
    "merchant deletes the customer": Act(
        1, lambda cast, _move: outside.customer_is_deleted(cast.world)
    ),
    "key is revoked": Act(1, _key(KeyState.REVOKED)),
    "key is restored": Act(2, _key(KeyState.VALID)),
    "key cannot be read": Act(
        1, lambda cast, _move: outside.unreadable(cast.world, now=cast.world.connected)
    ),
}  # fmt: skip
"""Everything that can happen."""
AFTER_A_FREEZE: Final = ("worker comes", "sweeper comes", "ticker comes", "operator collects")
"""Who overtakes a frozen process."""
BEGINS_WARM: Final = (*("worker comes",) * 3, "customer opens the page")
BEGINS_COLD: Final = (*("preparer comes", "operator collects") * 3, "operator voids")
ON_A_PAGE: Final = (*("customer pays on the page",) * 3, "customer agrees to a debit")
AFTER_A_PAYMENT: Final = (
    "operator voids",
    "operator writes off",
    "operator was paid elsewhere",
    "operator amends",
    "final action",
    "worker comes",
    "dunning comes",
    "sweeper comes",
    "webhook comes",
)
"""What may come just after the customer paid, before anybody heard of it."""
_NAMES: Final = tuple(ACTS)
_WEIGHTS: Final = [act.weight for act in ACTS.values()]


def drawn(random: Random, cast: Cast, *names: str) -> Move:
    """An act with all that it needs; one of `names`, or any."""
    name = random.choice(names) if names else random.choices(_NAMES, _WEIGHTS)[0]
    act = ACTS[name]
    return Move(
        name,
        f"{act.enters} {cast.begun + 1}" if act.enters else "",
        random.randrange(len(cast.world.invoices)),
        random.choice(act.words),
        random.choice(act.seconds),
        random.randrange(NUMBERS),
    )
