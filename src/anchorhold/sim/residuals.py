"""What direct mode states that it cannot prevent, told from what it must.

A create that confirms names its intent and takes the money in one message. An attempt whose answer
was lost can only be presumed to have done nothing; when Stripe carries it out after that, and
another one was paid meanwhile, an invoice is paid twice. That is stated, counted, and flagged by a
notice. It is stated only if Stripe did nothing before the presumption: what was there to be seen
and was not seen is a violation. Prepared mode states nothing of the kind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from anchorhold.sim.mode import Mode
from anchorhold.twin.journal import Entry
from anchorhold.twin.ledger import Payment
from anchorhold.twin.wire import Obj

ATTEMPT: Final = "anchorhold_attempt_id"
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


def residual(
    mode: Mode,
    presumed: Mapping[str, Presumed],
    sent: Callable[[str], list[Entry]],
    payments: list[tuple[Obj, Payment]],
) -> str | None:
    """The residual that explains why these successes stand beside each other; None: none does.

    All but one of them have to be of attempts that were presumed to be none before Stripe carried
    them out. `sent` gives an attempt's requests.
    """
    if mode is Mode.PREPARED:
        return None
    late: list[str] = []
    for intent, payment in payments:
        attempt = intent["metadata"].get(ATTEMPT, "")
        ended = presumed.get(attempt)
        if ended is not None and ended.none and payment.created >= int(ended.at):
            began = min((entry.at for entry in sent(attempt)), default=ended.at)
            late.append("R10" if ended.at - began >= DAY_S else "R15")
    explained = len(late) >= len(payments) - 1
    return min(late) if explained and (mode is Mode.ADR or "R15" not in late) else None
