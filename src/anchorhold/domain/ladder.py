"""TABLE: how long until Stripe is asked again about an intent that ends by itself (section 7)."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rung:
    """From this age on, in seconds, each look is followed by this wait."""

    id: str
    after_s: float
    wait_s: float
    because: str


MINUTE: Final = 60.0
HOUR: Final = 3600.0

# fmt: off
LADDER: Final = (
    Rung("L1", 0.0,       MINUTE,      "a card ends within seconds, if it is late at all"),
    Rung("L2", 10 * MINUTE, 5 * MINUTE, "a late confirm ends within the hour"),
    Rung("L3", HOUR,      HOUR / 2,    "what was not late by then is a debit or a customer"),
    Rung("L4", 3 * HOUR,  3 * HOUR,    "same-day debits"),
    Rung("L5", 12 * HOUR, 12 * HOUR,   "debits of one business day"),
    Rung("L6", 48 * HOUR, 24 * HOUR,   "SEPA, ACH and Bacs debits take days"),
)
"""Minutes, then hours, then daily."""
# fmt: on

PARAMS: Final[dict[str, object]] = {
    "after_s": [rung.after_s for rung in LADDER],
    "wait_s": [rung.wait_s for rung in LADDER],
}
"""The ladder as the parameters of a statement, which calls `anchorhold.wait_of`."""

FIRST_S: Final = LADDER[0].wait_s
"""Nothing is looked at more often than this, in seconds."""


def wait_s(age_s: float) -> float:
    """Seconds until the next look, after one at this age."""
    return next((rung.wait_s for rung in reversed(LADDER) if rung.after_s <= age_s), FIRST_S)
