"""What a world begins with, drawn by its seed: cards, broken requests, how much is prepared."""

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from anchorhold.sim import faults
from anchorhold.sim.mode import Mode
from anchorhold.twin.faults import Rule

METHODS: Final = (
    *("pm_card_visa",) * 5,
    *("pm_card_chargeCustomerFail",) * 2,
    "pm_card_threeDSecure2Required",
    "pm_success_de",
    "pm_failed_de",
    "pm_card_refundFail",
)
"""What invoices are charged with: cards that pay, decline, want the customer; bank debits."""
COLD: Final = 0.2
"""How many worlds begin before anything is set up at Stripe."""
DEAF: Final = 0.2
"""How many worlds in prepared mode hear of no event: there all is found by id (section 7, F9)."""
HARMS_MOST: Final = 4


@dataclass(frozen=True, slots=True)
class Setting:
    """How a world begins. `harms`: how many steps of processes may break."""

    seed: int
    mode: Mode
    methods: tuple[str, ...]
    cold: bool
    rules: tuple[Rule, ...]
    harms: int
    deaf: bool = False
    """No event of Stripe's is ever heard of: no webhook comes, and the key may not list them."""

    def without_rule(self, at: int) -> "Setting":
        """The same without one broken request."""
        return replace(self, rules=self.rules[:at] + self.rules[at + 1 :])


def drawn(seed: int, mode: Mode) -> Setting:
    """The setting of this seed."""
    random = Random(f"setting:{seed}")  # noqa: S311 - repeatable, not secret
    count = random.choice((1, 1, 1, 2))
    methods = tuple(random.choice(METHODS) for _ in range(count))
    cold = random.random() < COLD
    rules = tuple(faults.at_stripe(random, mode, cold=cold))
    harms = random.randint(0, HARMS_MOST)
    deaf = mode is Mode.PREPARED and random.random() < DEAF
    return Setting(seed, mode, methods, cold, rules, harms, deaf=deaf)
