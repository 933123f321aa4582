"""The hand that moves processes: which one takes its next step, and what becomes of it."""

from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg

from anchorhold.domain.refusals import Refusal
from anchorhold.sim.shield import Shield
from anchorhold.sim.turns import Fate, Kind, Turn

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
    heard: str = ""
    """The last answer of Stripe's that reached it."""
    end: str = ""
    bug: BaseException | None = None
    """What it raised although nobody injured it."""

    def begin(self) -> None:
        """It waits for its first step."""
        self._drive(None)

    def move(self, fate: Fate = Fate.GOES_ON) -> None:
        """Its step was taken, with this fate, and it waits for the next one or has ended."""
        if self.turn is not None and self.turn.kind is Kind.ANSWER and fate is Fate.GOES_ON:
            self.heard = self.turn.name
        self.injured = self.injured or fate is Fate.LOSES_ANSWER
        self._drive(fate)

    def cancel(self, shield: Shield) -> None:
        """Its caller is gone: it ends here, or when what must come to its end has done so."""
        if shield.closed:
            shield.cancelled = True
            self.move()
        else:
            self._go_on(lambda: self.work.throw(CancelledError()))

    def die(self) -> None:
        """It ends where it stands, without a word."""
        self.work.close()
        self.turn, self.end = None, "dead"

    def _drive(self, fate: Fate | None) -> None:
        self._go_on(lambda: self.work.send(fate))

    def _go_on(self, drive: Callable[[], Turn]) -> None:
        self.turn = None
        try:
            self.turn = drive()
        except StopIteration as done:
            self.end = _told(done.value)
        except CancelledError:
            self.end = "cancelled"
        except Refusal as refusal:
            self.end = f"refused: {refusal.code.code}"
        except Exception as error:  # a world judges it: it may have been made to happen
            self.end = f"raised {type(error).__name__}"
            if not (self.injured and isinstance(error, psycopg.OperationalError)):
                self.bug = error


def _told(value: Any) -> str:
    return "" if value is None else str(value)
