"""The searches of the direct mode: each hole and residual, and what the three rules do there."""

from dataclasses import dataclass
from typing import Final

from anchorhold.sim.model.direct import ADR, FENCE, FIRST, Rule, Run, State
from anchorhold.sim.model.direct_ours import model
from anchorhold.sim.model.search import Model

RULES: Final[dict[str, Rule]] = {"first": FIRST, "adr": ADR, "fence": FENCE}
"""The first text, and the two sweep modes of an account that charges directly."""


@dataclass(frozen=True, slots=True)
class Story:
    """What happens, and the kinds of violations that each rule shows there."""

    finding: str
    what: str
    run: Run
    shows: dict[str, frozenset[str]]
    short: bool = True
    """Seconds, and so a test; else minutes."""

    def model(self, rule: str) -> Model[State]:
        """The search under one of the rules."""
        return model(RULES[rule], self.run)


def _story(
    finding: str,
    what: str,
    faults: str,
    outcomes: str,
    attempts: int,
    *,
    first: str = "",
    adr: str = "",
    fence: str = "",
    short: bool = True,
) -> Story:
    shown = {"first": first, "adr": adr, "fence": fence}
    shows = {rule: frozenset(kinds.split()) for rule, kinds in shown.items()}
    run = Run(frozenset(faults.split()), outcomes, attempts)
    return Story(finding, what, run, shows, short)


STORIES: Final = (
    _story("base", "Stripe is prompt, processes die and time out", "crash timeout", "SE", 2),
    _story("base", "the same, with operators", "crash timeout operator", "SE", 1),
    _story(
        "R4",
        "a charger is frozen between its re-check and its send",
        "freeze",
        "S",
        2,
        first="A1 I1 I4",
    ),
    _story(
        "R15",
        "a process dies while Stripe is slow",
        "crash slow",
        "S",
        2,
        first="A1 I1",
        adr="I1",
        short=False,
    ),
    _story(
        "H1",
        "a 500 that was never saved",
        "crash slow",
        "E",
        2,
        first="A1 I1",
        adr="I1",
        short=False,
    ),
    _story(
        "R10",
        "a 500 is reconciled after more than a day",
        "timeout late",
        "E",
        2,
        first="A1 I1",
        adr="I1",
        fence="I1",
        short=False,
    ),
    _story(
        "H2", "an answer is saved after the sweep has listed", "timeout split", "E", 1, first="I5"
    ),
    _story(
        "H3",
        "a hidden resend is answered 401 while the first request runs",
        "resend slow",
        "S",
        2,
        first="A1 I1",
        short=False,
    ),
    _story(
        "H6",
        "reads are refused, the invoice is written off, Stripe reads again",
        "crash lost refuse operator",
        "S",
        1,
        first="I2",
    ),
    _story(
        "H8",
        "an invoice is closed after a park ended, and the payment comes",
        "timeout late operator",
        "E",
        1,
        first="I1 I3",
        adr="I1",
        fence="I1",
    ),
    _story("H10", "a claim ignores the hold", "crash forget", "S", 2, first="A1 I1"),
    _story(
        "R18",
        "an operator closes it while Stripe is slow",
        "crash slow operator",
        "S",
        1,
        first="I1 I3",
        adr="I1 I3",
    ),
)
"""Each story with what the rules show. `fence` shows R10 alone, and H8's part of it: a payment
that Stripe makes after more than a day. `adr` states R15, R18 and H1 beside it."""
