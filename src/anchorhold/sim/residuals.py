"""What direct mode states that it cannot prevent, told from what it must.

A create that confirms names its intent and takes the money in one message. An attempt whose answer
was lost can only be presumed to have done nothing; when Stripe carries it out after that, and
another one was paid meanwhile, an invoice is paid twice. That is stated, counted, and flagged by a
notice. It is stated only if Stripe did nothing before the presumption: what was there to be seen
and was not seen is a violation. Prepared mode states nothing of the kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from anchorhold.sim.mode import Mode

DAY_S: Final = 86_400

RESIDUALS: Final[Mapping[str, str]] = {
    "R10": "carried out after the day for which its key is kept, when it was presumed to be none",
    "R15": "adr: carried out after a lost result was cleared, within the day (R15, R18, a crash)",
}
"""By id, what came to pass."""


@dataclass(frozen=True, slots=True)
class Presumed:
    """When an attempt was first seen to have ended without proof, in seconds; its state."""

    at: float
    state: str

    @property
    def none(self) -> bool:
        """It was presumed to have done nothing."""
        return self.state.startswith("presumed_none")


@dataclass(frozen=True, slots=True)
class Success:
    """One success that stands: when Stripe carried it out, and its attempt, where it has one.

    `sent`: when the attempt's request left first. All in seconds.
    """

    carried_out: int
    sent: float | None
    presumed: Presumed | None

    @property
    def late(self) -> str | None:
        """The residual's id, if its attempt was presumed to be none before it was carried out."""
        if self.presumed is None or self.sent is None or not self.presumed.none:
            return None
        if self.carried_out < int(self.presumed.at):
            return None
        return "R10" if self.presumed.at - self.sent >= DAY_S else "R15"


def residual(mode: Mode, successes: Sequence[Success]) -> str | None:
    """The residual that explains why these successes stand beside each other; None: none does.

    All but one of them have to be late, and nothing may have been sent when a late one was there
    to be seen: who charges again looks first (A1).
    """
    late = [one for one in successes if one.late is not None]
    ids = {one.late for one in late if one.late is not None}
    seen = any(
        other.sent is not None and other.sent >= one.carried_out + 1
        for one in late
        for other in successes
        if other is not one
    )
    explained = len(late) >= len(successes) - 1 and not seen
    if not explained or mode is Mode.PREPARED or (mode is Mode.DIRECT and "R15" in ids):
        return None
    return min(ids, default=None)
