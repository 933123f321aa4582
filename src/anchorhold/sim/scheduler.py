"""The hand that moves processes: which one takes its next step, and what becomes of it."""

from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg

from anchorhold.domain.refusals import Refusal
from anchorhold.sim.shield import Shield
from anchorhold.sim.turns import Asked, Fate, Kind, Turn

Work = Coroutine[Turn | Asked, Any, object]


@dataclass(slots=True)
class Process:
    """One process at work in a world; `turn` is the step it waits for, None once it has ended."""

    name: str
    work: Work
    turn: Turn | None = None
    asked: Asked | None = None
    """Its step was taken and these statements are being carried out."""
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
        self._listen(heard=fate is Fate.GOES_ON)
        self.injured = self.injured or fate is Fate.LOSES_ANSWER
        self._drive(fate)

    def cancel(self, shield: Shield) -> None:
        """Its caller is gone: it ends here, or when what must come to its end has done so."""
        self._listen(heard=False)
        if shield.closed:
            shield.cancelled = True
            self.move()
        else:
            self._go_on(lambda: self.work.throw(CancelledError()))

    def die(self) -> None:
        """It ends where it stands, without a word."""
        self.work.close()
        self.turn, self.end = None, "dead"

    def hear(self, answer: list[Any] | Exception) -> None:
        """What its statements were answered has reached it."""
        if isinstance(answer, Exception):
            self._go_on(lambda: self.work.throw(answer))
        else:
            self._go_on(lambda: self.work.send(answer))

    def _listen(self, *, heard: bool) -> None:
        """A request that it sends makes it forget what the one before was answered."""
        if self.turn is not None and self.turn.kind is not Kind.STATEMENT:
            answered = self.turn.kind is Kind.ANSWER and heard
            self.heard = self.turn.name if answered else ""

    def _drive(self, fate: Fate | None) -> None:
        self._go_on(lambda: self.work.send(fate))

    def _go_on(self, drive: Callable[[], Turn | Asked]) -> None:
        self.turn = self.asked = None
        try:
            found = drive()
            if isinstance(found, Asked):
                self.asked = found
            else:
                self.turn = found
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
