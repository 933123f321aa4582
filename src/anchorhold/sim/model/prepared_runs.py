"""The searches of the prepared mode: the protocol finds nothing, each sentence taken back does."""

from dataclasses import dataclass
from typing import Final

from anchorhold.sim.model.prepared import Rule, Run, State
from anchorhold.sim.model.prepared_ours import model
from anchorhold.sim.model.search import Model


def _run(faults: str, outcomes: str = "SD", closes: str = "", attempts: int = 2) -> Run:
    return Run(frozenset(faults.split()), outcomes, closes, attempts)


def _unprepared(faults: str, outcomes: str = "SD", closes: str = "", attempts: int = 1) -> Run:
    return Run(frozenset(faults.split()), outcomes, closes, attempts, prepared=False)


SHORT: Final = {
    "charge": _run("crash"),
    "debit": _run("crash", "SDP", attempts=1),
    "freeze": _run("crash freeze", "SDE", attempts=1),
    "lag": _run("crash slow lag", "D"),
    "page": _run("crash page slow", "SDP", attempts=1),
    "close": _run("crash", "SD", "vowc", 1),
    "prepare": _unprepared("crash page", "S", "v"),
}
"""Searches of a second or less each; all complete."""

LONG: Final = {
    "charges": _run("crash slow", "SDP"),
    "freezes": _run("crash freeze slow", "SDE"),
    "debits": _run("crash", "PD"),
    "three": _run("crash slow", "D", attempts=3),
    "pages": _run("crash page slow", "SD"),
    "closes": _run("crash freeze slow", "SDE", "vowc", 1),
    "closes and page": _run("crash page", "SDP", "vowc", 1),
    "prune": _unprepared("crash page prune", "S", "v"),
}
"""The same protocol with more of everything: minutes."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """One sentence of the protocol left out, and the violations that then show."""

    finding: str
    sentence: str
    run: Run
    found: frozenset[str]

    def model(self) -> Model[State]:
        """The protocol without the sentence."""
        return model(Rule(**{self.sentence: False}), self.run)


def _back(finding: str, sentence: str, run: Run, *found: str) -> TakenBack:
    return TakenBack(finding, sentence, run, frozenset(found))


TAKEN_BACK: Final = (
    _back("P1", "commit_guard", _unprepared("page prune", "S"), "M1"),
    _back("P1", "commit_guard", _unprepared("crash page", "S", "v"), "M1", "M2"),
    _back("P5", "restore", _run("crash freeze", attempts=1), "L2"),
    _back("P5", "own_key", _run("crash page", "D", attempts=1), "D1", "D2"),
    _back("P6", "final_proves", _run("crash page", attempts=1), "L1"),
    _back("P7", "follow_compares", _run("", "PD"), "D1", "D2"),
    _back("P8", "late_proof", _run("slow", "D"), "D3"),
    _back("P10", "follow_ends", _run("page", "SDP", attempts=1), "L2", "D3"),
    _back("P11", "open_release", _run("page", "SD", "w", 1), "L4"),
    _back("P11", "clear_compares_status", _run("crash page", "S", "w", 1), "L4"),
    _back("P11", "sweep_cancels", _run("crash page", "S", "w", 1), "L4"),
    _back("cancel first", "cancel_first", _run("page", "S", "voc", 1), "M1", "M2"),
    _back("60 minutes", "action_ends", _run("page", "S", attempts=1), "L2"),
)
"""Each sentence that carries weight, with the shortest search that shows it."""
