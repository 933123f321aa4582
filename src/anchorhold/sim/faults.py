"""What breaks in a world: requests at Stripe by rule, and processes between two steps."""

from dataclasses import dataclass
from enum import Enum
from random import Random

from anchorhold.sim.mode import Mode
from anchorhold.sim.turns import Kind, Turn
from anchorhold.twin.faults import FaultKind, Rule

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
CREATE = "POST /v1/payment_intents"
READS = (
    "GET /v1/payment_intents/{id}",
    "GET /v1/payment_intents/{id}",
    *("POST /v1/payment_intents/{id}/cancel",) * 3,
    *("POST /v1/refunds",) * 2,
    "GET /v1/refunds",
    "GET /v1/payment_intents",
    "GET /v1/events",
    "GET /v1/customers/{id}",
)
SETS_UP = (CREATE, "POST /v1/customers", "POST /v1/payment_methods/{id}/attach")
ENDPOINTS = {
    Mode.PREPARED: (*(CONFIRM,) * 6, *READS, CREATE),
    Mode.DIRECT: (*(CREATE,) * 8, CONFIRM, *READS),
    Mode.ADR: (*(CREATE,) * 8, CONFIRM, *READS),
}
"""Where requests break; charges most often."""

LATE = (FaultKind.LATE, FaultKind.ERROR_500_LATE_EFFECT)
KINDS = {
    Mode.PREPARED: tuple(FaultKind),
    Mode.DIRECT: (*FaultKind, *LATE * 4),
    Mode.ADR: (*FaultKind, *LATE * 4),
}
"""What breaks; late executions are what direct mode is about."""
RULES_MOST = 3
CALLS_MOST = 2
SECONDS = (0, 2, 40, 400, 2000, 20_000, 100_000)
"""How late a late execution comes: at once, within the deadline, the hold, after it, next day."""


def at_stripe(random: Random, mode: Mode, *, cold: bool) -> list[Rule]:
    """Up to three requests that will meet a fault."""
    endpoints = ENDPOINTS[mode] + (SETS_UP if cold else ())
    return [
        Rule(
            random.choice(KINDS[mode]),
            random.choice(endpoints),
            frozenset({random.randint(1, CALLS_MOST)}),
            seconds=random.choice(SECONDS),
        )
        for _ in range(random.randint(0, RULES_MOST))
    ]


class Harm(Enum):
    """What can happen to a process at one step."""

    DIES = "dies before"
    LOSES_ANSWER = "loses the answer of"
    FREEZES = "freezes before"
    CANCELLED = "is cancelled at"
    """Its caller is gone: a shutdown, a closed tab."""
    SLOW = "waits long for"
    """The database or the network is slow: minutes go by before the step."""


CHANCES = {
    Kind.STATEMENT: (
        (Harm.DIES, 0.06),
        (Harm.LOSES_ANSWER, 0.04),
        (Harm.FREEZES, 0.05),
        (Harm.CANCELLED, 0.02),
        (Harm.SLOW, 0.03),
    ),
    Kind.REQUEST: ((Harm.DIES, 0.06), (Harm.FREEZES, 0.10), (Harm.CANCELLED, 0.02)),
    Kind.ANSWER: (
        (Harm.DIES, 0.09),
        (Harm.LOSES_ANSWER, 0.06),
        (Harm.FREEZES, 0.10),
        (Harm.CANCELLED, 0.05),
    ),
}
SLOW_S = (20, 200, 400)
"""How long a slow step takes: within the hold's use, too long to send, past the hold."""

"""How often; a request that is not sent yet has no answer to lose."""

HEART = (
    "holds.", "payments.", "closes.", "checks.", "confirm", "charge", "fence", "retrieve_intent",
    "cancel_intent", "create_intent",
)  # fmt: skip
ELSEWHERE = 0.15
"""How often harm is done away from the heart, against there: most steps only set the scene."""


@dataclass(slots=True)
class Harms:
    """The harms of one world: at most `left` more."""

    random: Random
    left: int

    def next(self, turn: Turn) -> Harm | None:
        """What happens at this step, if anything."""
        if not self.left:
            return None
        chance = self.random.random() / (1 if turn.name.startswith(HEART) else ELSEWHERE)
        for harm, share in CHANCES[turn.kind]:
            if chance < share:
                self.left -= 1
                return harm
            chance -= share
        return None

    def stop(self) -> None:
        """Nothing breaks any more."""
        self.left = 0
