"""Moves: a world's script is what it begins with and one move after the other.

A move says all that there is to say, so that it can be played again without dice, and left out.
"""

from dataclasses import asdict, dataclass
from typing import Any, Final

from anchorhold.sim.setting import Setting

STEP: Final = "step"
THAW: Final = "thaw"


@dataclass(frozen=True, slots=True)
class Move:
    """A process takes a step, thaws, or enters; time goes by; or somebody outside acts."""

    what: str
    """`step`, `thaw`, or the name of an act."""
    who: str = ""
    """The process that moves or enters."""
    invoice: int = 0
    word: str = ""
    """A step's harm, a card, what a bank says."""
    seconds: int = 0
    """How much time goes by, at once or before a step."""
    number: int = 0
    """Which event of Stripe's a webhook brings."""


@dataclass(frozen=True, slots=True)
class Script:
    """A whole world until nothing breaks any more."""

    setting: Setting
    moves: tuple[Move, ...]

    def shown(self) -> dict[str, Any]:
        """The script as JSON."""
        return {
            "seed": self.setting.seed,
            "mode": self.setting.mode.value,
            "methods": list(self.setting.methods),
            "cold": self.setting.cold,
            "deaf": self.setting.deaf,
            "rules": [rule.shown() for rule in self.setting.rules],
            "moves": [asdict(move) for move in self.moves],
        }
