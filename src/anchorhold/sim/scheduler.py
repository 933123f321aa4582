"""The hand that moves processes: which one takes its next step, and what becomes of it."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg

from anchorhold.domain.refusals import Refusal
from anchorhold.sim.turns import Fate, Turn

Work = Coroutine[Turn, Fate | None, object]


@dataclass(slots=True)
class Process:
    """One process at work in a world; `turn` is the step it waits for, None once it has ended."""

    name: str
    work: Work
    turn: Turn | None = None
    frozen: bool = False
    injured: bool = False
    """An answer of the database was taken from it, so that it may end by the error."""
    end: str = ""
    bug: BaseException | None = None
    """What it raised although nobody injured it."""

    def begin(self) -> None:
        """It waits for its first step."""
        self._drive(None)

    def move(self, fate: Fate = Fate.GOES_ON) -> None:
        """Its step was taken, with this fate, and it waits for the next one or has ended."""
        self.injured = self.injured or fate is Fate.LOSES_ANSWER
        self._drive(fate)

    def die(self) -> None:
        """It ends where it stands, without a word."""
        self.work.close()
        self.turn, self.end = None, "dead"

    def _drive(self, fate: Fate | None) -> None:
        self.turn = None
        try:
            self.turn = self.work.send(fate)
        except StopIteration as done:
            self.end = _told(done.value)
        except Refusal as refusal:
            self.end = f"refused: {refusal.code.code}"
        except Exception as error:  # a world judges it: it may have been made to happen
            self.end = f"raised {type(error).__name__}"
            if not (self.injured and isinstance(error, psycopg.OperationalError)):
                self.bug = error


def _told(value: Any) -> str:
    return "" if value is None else str(value)
