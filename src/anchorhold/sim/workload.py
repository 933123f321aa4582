"""What happens in a world, drawn by its seed: who comes to work, what customers do, how time goes.

The workload knows nothing of the auditor, and does not care whether what it does makes sense.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from anchorhold.domain.ids import InvoiceId
from anchorhold.sim import outside
from anchorhold.sim.scheduler import Process, Work
from anchorhold.sim.world import World
from anchorhold.twin.keyring import KeyState

METHODS: Final = (
    *("pm_card_visa",) * 5,
    *("pm_card_chargeCustomerFail",) * 2,
    "pm_card_threeDSecure2Required",
    "pm_success_de",
    "pm_failed_de",
)
"""What invoices are charged with: cards that pay, decline, want the customer; bank debits."""
CARDS: Final = ("pm_card_visa", "pm_card_chargeCustomerFail", "pm_card_threeDSecure2Required")
DEBITS: Final = ("pm_success_de", "pm_failed_de")
JUMPS: Final = (60, 240, 360, 360, 1860, 3660, 93_600)
"""Seconds that go by at once: within a hold, past it, past a re-check, past a key's life."""


@dataclass(slots=True)
class Cast:
    """A world and the processes that live in it."""

    world: World
    living: list[Process] = field(default_factory=list)
    begun: int = 0

    def invoice(self) -> InvoiceId:
        """One of the world's invoices."""
        return self.world.random.choice(self.world.invoices)

    def enter(self, kind: str, work: Callable[[str], Work]) -> Process:
        """A new process begins this work."""
        self.begun += 1
        name = f"{kind} {self.begun}"
        process = Process(name, work(name))
        process.begin()
        self.living.append(process)
        return process


def _worker(cast: Cast) -> None:
    cast.enter("worker", cast.world.work)


def _preparer(cast: Cast) -> None:
    cast.enter("preparer", cast.world.prepare)


def _operator(cast: Cast) -> None:
    invoice = cast.invoice()
    cast.enter("operator", lambda name: cast.world.collects(name, invoice))


def _sweeper(cast: Cast) -> None:
    cast.enter("sweep", cast.world.sweeps)


def _two_sweepers(cast: Cast) -> None:
    _sweeper(cast)
    _sweeper(cast)


def _ticker(cast: Cast) -> None:
    cast.enter("tick", cast.world.ticks)


def _time(cast: Cast) -> None:
    seconds = cast.world.random.choice(JUMPS)
    cast.world.tell("time", f"{seconds // 60} minutes go by")
    cast.world.later(seconds)


def _page(cast: Cast) -> None:
    outside.pays_on_page(cast.world, cast.invoice(), cast.world.random.choice(CARDS))


def _debit(cast: Cast) -> None:
    outside.agrees_to_debit(cast.world, cast.invoice(), cast.world.random.choice(DEBITS))


def _return(cast: Cast) -> None:
    outside.comes_back(cast.world, cast.invoice(), passed=cast.world.random.random() < 0.6)


def _card(cast: Cast) -> None:
    outside.card_becomes(cast.world, cast.world.random.choice(CARDS))


def _revoked(cast: Cast) -> None:
    outside.key_state(cast.world, KeyState.REVOKED)


def _restored(cast: Cast) -> None:
    outside.key_state(cast.world, KeyState.VALID)


def _unreadable(cast: Cast) -> None:
    outside.unreadable(cast.world, now=cast.world.connected)


ACTS: Final[tuple[tuple[int, Callable[[Cast], None]], ...]] = (
    (10, _worker),
    (3, _preparer),
    (6, _operator),
    (3, _sweeper),
    (3, _two_sweepers),
    (6, _ticker),
    (14, _time),
    (5, _page),
    (2, _debit),
    (2, _return),
    (2, _card),
    (3, lambda cast: outside.written_off(cast.world, cast.invoice())),
    (2, lambda cast: outside.banks_speak(cast.world)),
    (2, lambda cast: outside.stripe_catches_up(cast.world)),
    (1, lambda cast: outside.merchant_cancels(cast.world, cast.invoice())),
    (1, lambda cast: outside.merchant_refunds(cast.world, cast.invoice())),
    (1, lambda cast: outside.customer_is_deleted(cast.world)),
    (1, _revoked),
    (2, _restored),
    (1, _unreadable),
)
"""Everything that can happen, with how often against the others."""
OVERTAKEN: Final = 0.6
_WEIGHTS: Final = [weight for weight, _ in ACTS]


def happen(cast: Cast) -> None:
    """The next thing happens; where somebody is frozen, time often goes by and others come."""
    random = cast.world.random
    if any(one.frozen for one in cast.living) and random.random() < OVERTAKEN:
        _time(cast)
        random.choice((_worker, _sweeper, _ticker, _operator))(cast)
        return
    ((_, act),) = random.choices(ACTS, _WEIGHTS)
    act(cast)
