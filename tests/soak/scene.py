"""One soak, told by its numbers, and what Stripe does wrong in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anchorhold.demo import scene as demo
from anchorhold.twin.faults import FaultKind, Rule

TIMES: Mapping[str, str] = demo.TIMES
"""The times of the demo: what takes minutes in production takes seconds here."""
DIRECT_TIMES: Mapping[str, str] = {
    "ANCHORHOLD_SWEEP_WAIT_SECONDS": "2",
    "ANCHORHOLD_TWIN_KEY_LIFE_SECONDS": "30",
    "ANCHORHOLD_FENCE_MAX_SECONDS": "25",
    "ANCHORHOLD_PARKED_WAIT_SECONDS": "32",
    "ANCHORHOLD_PARKED_ALARM_SECONDS": "60",
}
"""A day of waiting for a key to be forgotten takes half a minute; the twin keeps it longer."""
SWEEP_MODES: Mapping[str, str] = {"prepared": "fence", "direct": "fence", "adr": "adr"}
"""The modes of a soak, and how an account of each is swept."""
HOLD_S = float(TIMES["ANCHORHOLD_HOLD_SECONDS"])
MOVES_MONEY = demo.MOVES_MONEY
LATE_S = demo.CLIENT_PATIENCE_S + 1
STALL_S = 3.0
"""The longest time for which the network keeps what it was given, and delivers it after all."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One run. `per_s` is how many charges a second all workers together may begin."""

    seed: int
    charges: int
    workers: int
    folder: Path
    mode: str = "prepared"
    durable: bool = True
    """Whether PostgreSQL waits for the disk; without, it still survives each kill."""
    per_s: float = 60
    acts: int = 400
    """About so many acts of trouble, spread over the charges."""
    pause_s: float = 1.0
    """Between two acts of trouble, on average, at the least."""
    idle_s: float = 10.0
    """And at the most, however slowly the charges go."""
    patience_s: float = 900
    """How long after the trouble everything may take to come to rest."""
    charging_s: float = 3600
    """How long the trouble goes on at the most."""

    @property
    def pace(self) -> float:
        """Requests a second of one worker to one endpoint."""
        return max(4.0, self.per_s / self.workers)

    @property
    def charge_mode(self) -> str:
        """How the account charges."""
        return "prepared" if self.mode == "prepared" else "direct"

    @property
    def times(self) -> Mapping[str, str]:
        """The settings of every process that are times."""
        return TIMES if self.mode == "prepared" else {**TIMES, **DIRECT_TIMES}

    @property
    def charges_per_act(self) -> int:
        """So many charges have ended since the last act of trouble when the next one comes."""
        return max(5, self.charges // self.acts)


def faults() -> tuple[Rule, ...]:
    """Of a hundred requests that move money about twelve meet one of these; reads a few."""
    return (
        *demo.faults(),
        Rule(FaultKind.DROPPED_BEFORE, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.CUT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.ERROR_500_WITHOUT_EFFECT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.ERROR_500_LATE_EFFECT, MOVES_MONEY, probability=0.01, seconds=LATE_S),
        Rule(FaultKind.RATE_LIMIT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.LOCK_TIMEOUT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.CONFLICT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.SLOW, MOVES_MONEY, probability=0.01, seconds=1),
        Rule(FaultKind.ERROR_500_WITHOUT_EFFECT, "GET *", probability=0.02),
        Rule(FaultKind.DROPPED_AFTER, "GET *", probability=0.02),
        Rule(FaultKind.RATE_LIMIT, "GET *", probability=0.01),
    )
