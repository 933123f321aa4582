"""The circuit breaker: while Stripe is unreachable, no charge is sent into the silence.

One per process and base address, shared by all accounts: it is about the road to Stripe and not
about anybody's key. Only for writes; reads are how one finds out what happened, and always go.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import Doubt, NothingSent, NotSent, Refused, Result, Shown, Unclear


class BreakerState(StrEnum):
    """Closed lets all through, open none, half open one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Sign(StrEnum):
    """What the end of a call says about the road to Stripe."""

    REACHED = "reached"
    UNREACHED = "unreached"
    SILENT = "silent"


NOT_SENT_SIGN = {
    NotSent.BREAKER_OPEN: Sign.SILENT,
    NotSent.CONNECT_FAILED: Sign.UNREACHED,
    NotSent.DEADLINE_PASSED: Sign.SILENT,
    NotSent.CREDENTIALS_UNREADABLE: Sign.SILENT,
}
DOUBT_SIGN = {
    Doubt.CONNECTION_LOST: Sign.UNREACHED,
    Doubt.DEADLINE: Sign.UNREACHED,
    Doubt.UNREADABLE_ANSWER: Sign.SILENT,
}


def sign_of(result: Result[object]) -> Sign:
    """A decline, a refused key or a 429 is an answer: Stripe was reached."""
    match result:
        case Shown():
            return Sign.REACHED
        case Refused(status=status):
            return Sign.UNREACHED if status >= 500 else Sign.REACHED
        case NothingSent(cause=cause):
            return NOT_SENT_SIGN[cause]
        case Unclear(cause=doubt):
            return DOUBT_SIGN[doubt]


@dataclass(frozen=True, slots=True)
class BreakerView:
    """The breaker at one moment. `failures` in a row; `opens_in_s` until a probe may go."""

    state: BreakerState
    failures: int
    opens_in_s: float


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave for one call; ends with exactly one `record` or `forget`."""

    turn: int


class Breaker:
    """Opens after `failures` unreached calls in a row and rests `rest_s` seconds."""

    def __init__(
        self,
        *,
        failures: int = 5,
        rest_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        on_turn: Callable[["BreakerView"], object] = lambda _: None,
    ) -> None:
        """`on_turn` is told when it has opened, opened again after a probe, or closed."""
        self._on_turn = on_turn
        self._limit = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._open_until: float | None = None
        self._probing = False
        self._turn = 0

    def view(self) -> BreakerView:
        """The state now, as a value for metrics and the dashboard."""
        if self._open_until is None:
            return BreakerView(BreakerState.CLOSED, self._failures, 0.0)
        wait = max(0.0, self._open_until - self._clock())
        state = BreakerState.OPEN if wait else BreakerState.HALF_OPEN
        return BreakerView(state, self._failures, wait)

    def admit(self) -> Permit | None:
        """A permit for one call, or None: nothing may be sent now."""
        if self._open_until is not None:
            if self._probing or self._clock() < self._open_until:
                return None
            self._probing = True
        return Permit(self._turn)

    def record(self, permit: Permit, result: Result[object]) -> None:
        """Count how the call ended; one from before the last turn no longer matters."""
        if permit.turn != self._turn:
            return
        self._probing = False
        match sign_of(result):
            case Sign.REACHED:
                self._close()
            case Sign.UNREACHED:
                self._fail()
            case Sign.SILENT:
                pass

    def forget(self, permit: Permit) -> None:
        """The call was cancelled: it says nothing, and its probe is free for another."""
        if permit.turn == self._turn:
            self._probing = False

    def _close(self) -> None:
        self._failures = 0
        if self._open_until is not None:
            self._open_until = None
            self._turns()

    def _fail(self) -> None:
        self._failures += 1
        if self._open_until is not None or self._failures >= self._limit:
            self._open_until = self._clock() + self._rest_s
            self._turns()

    def _turns(self) -> None:
        self._turn += 1
        self._on_turn(self.view())
