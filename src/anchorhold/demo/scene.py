"""What both programs of the demo meet: the same invoices, faults, kills and times."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final

from anchorhold.domain.timing import DAY_SECONDS
from anchorhold.twin.faults import FaultKind, Rule

MOVES_MONEY = "POST /v1/payment_intents*"
CLIENT_PATIENCE_S = 2.0

TIMES: Mapping[str, str] = {
    "ANCHORHOLD_HOLD_SECONDS": "7",
    "ANCHORHOLD_MIN_LEFT_SECONDS": "3",
    "ANCHORHOLD_CALL_BOUND_SECONDS": "3",
    "ANCHORHOLD_DEADLINE_AUTO_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_COLLECT_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_DUNNING_SECONDS": "2",
    "ANCHORHOLD_DEADLINE_MARGIN_SECONDS": "0.5",
    "ANCHORHOLD_CHECK_CUT_SECONDS": "2",
    "ANCHORHOLD_RECHECK_SECONDS": "2",
    "ANCHORHOLD_TICK_SECONDS": "2",
}
"""The real program with short times: what takes minutes in production takes seconds here."""


class Mode(StrEnum):
    """How Anchorhold charges in the demo."""

    PREPARED = "prepared"
    DIRECT = "direct"
    ADR = "adr"
    """Direct without the fence."""

    @property
    def options(self) -> tuple[str, ...]:
        """What `anchorhold account create` is told."""
        if self is Mode.PREPARED:
            return ()
        sweep = "adr" if self is Mode.ADR else "fence"
        return ("--charge-mode", "direct", "--sweep-mode", sweep)


KEY_LIFE_S: Final = 30.0
"""How long the twin keeps a key in the demo of the direct modes: a day in half a minute."""

DIRECT_TIMES: Mapping[str, str] = {
    "ANCHORHOLD_SWEEP_WAIT_SECONDS": "4",
    "ANCHORHOLD_TWIN_KEY_LIFE_SECONDS": f"{KEY_LIFE_S:g}",
    "ANCHORHOLD_FENCE_MAX_SECONDS": "28",
    "ANCHORHOLD_PARKED_WAIT_SECONDS": f"{KEY_LIFE_S:g}",
    "ANCHORHOLD_PARKED_ALARM_SECONDS": "40",
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of the demo, told by its numbers."""

    seed: int
    invoices: int
    kills: int
    workers: int
    folder: Path
    patience_s: float = 75
    mode: Mode = Mode.PREPARED

    @property
    def times(self) -> Mapping[str, str]:
        """The settings of Anchorhold's processes."""
        return TIMES if self.mode is Mode.PREPARED else {**TIMES, **DIRECT_TIMES}

    @property
    def key_life_s(self) -> float:
        """How long the twin keeps an idempotency key."""
        return DAY_SECONDS if self.mode is Mode.PREPARED else KEY_LIFE_S

    @property
    def random(self) -> Random:
        """Who is killed when; the same for both halves."""
        return Random(self.seed)  # noqa: S311 - a repeatable scene, not a secret

    @property
    def pace(self) -> float:
        """Requests a second of one worker to one endpoint, so that kills meet charges."""
        return max(8.0, self.invoices / 60)

    @property
    def pause_s(self) -> float:
        """How long between two kills, on average: spread over the time that charging takes."""
        return max(0.8, min(24.0, self.invoices / 40) / max(self.kills, 1))


def faults() -> tuple[Rule, ...]:
    """2 % dropped after execution, 1 % 500 with effect, 1 % executed when the client has gone."""
    return (
        Rule(FaultKind.DROPPED_AFTER, MOVES_MONEY, probability=0.02),
        Rule(FaultKind.ERROR_500_WITH_EFFECT, MOVES_MONEY, probability=0.01),
        Rule(FaultKind.LATE, MOVES_MONEY, probability=0.01, seconds=CLIENT_PATIENCE_S + 1),
    )
