"""The direct mode: create and confirm in one call, so an unclear answer names nothing (section 6).

The state, the rules and what must never be; the steps are in `direct_ours`, `direct_sweep` and
`direct_stripe`. Trusted: a list shows what was written before it; a key compares parameters and
repeats its answer for at least 24 hours from its first use; an intent makes one successful charge
at most, a cancelled one none. Not modelled: amounts, refunds, several invoices, the page's intent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.rows import Rows

PAID, AT_BANK, DECLINED, CANCELED = "succeeded", "processing", "declined", "canceled"
FLYING, RUNNING, RESTING, OVER = "flying", "running", "resting", "over"
UNCLEAR, REFUSED = "unclear", "401"
NO_RECORD, PRUNED, FENCED, SERVER_ERROR = "", "pruned", "fenced", "500"


class Intent(NamedTuple):
    """A PaymentIntent that an attempt has made."""

    maker: int
    state: str
    old: bool = False
    """Made more than an hour ago: a later hold's list does not reach so far back."""
    out: bool = False
    """Not in the list of the hold that stands now."""
    event: bool = True
    """Its newest event has not been delivered yet."""


class Request(NamedTuple):
    """The one request of an attempt, and what its key has kept."""

    state: str = ""
    answer: str = ""
    kept: str = NO_RECORD
    """Nothing, the state of an intent, or one of the words above."""


class Actor(NamedTuple):
    """Where a charger stands: its step, its attempt, the answer it has in memory."""

    at: int = 0
    on: int = r.NOBODY
    answer: str = ""


class State(NamedTuple):
    """One invoice here and at Stripe. An intent's number is its place in the list, from 1."""

    rows: Rows = Rows()
    intents: tuple[Intent, ...] = ()
    requests: tuple[Request, ...] = ()
    chargers: tuple[Actor, Actor] = (Actor(), Actor())
    days: int = 0
    refused: bool = False
    """Reads are refused: the tenant has disconnected Stripe."""
    alarm: bool = False
    flagged: bool = False
    """A duplicate was told to a person."""
    offline: bool = False
    decided: tuple[int, int] | None = None
    """A sweep has seen nothing and will clear: attempt and counter that it read."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One set of rules; what is False by default is the first text's."""

    hold_expires: bool = False
    """The old rule: an expired hold is free."""
    wait_for_all: bool = False
    """Every attempt that may have been sent waits a day, saved or not."""
    fence: bool = False
    """The key is used up with a request that cannot charge."""
    names_attempt: bool = False
    """Metadata tell which attempt made an intent."""
    reads_before: bool = False
    """Before a charge or a close after `presumed_none` the list is read once more."""
    audit: bool = False
    """What is presumed none stays watched."""
    deadline: bool = False
    """Nothing leaves after the hold has ended."""
    no_resend: bool = False
    """One request, one send."""
    one_attempt: bool = False
    """UNIQUE (invoice, counter)."""
    compares_state: bool = False
    """The clear compares the attempt's state too."""
    own_proof: bool = False
    """A hold ends only when its own attempt is proven or presumed none."""
    keeps_refused: bool = False
    """A refused read keeps every unpaid invoice's hold."""
    recharges: bool = True
    """After `presumed_none` an automatic charge goes on; else an operator."""


OLD: Final = Rule(hold_expires=True)
FIRST: Final = Rule()
"""The first text: cause guessed from what was saved, no attempt row before the send."""
ADR: Final = Rule(
    names_attempt=True,
    reads_before=True,
    audit=True,
    deadline=True,
    no_resend=True,
    one_attempt=True,
    compares_state=True,
    own_proof=True,
    keeps_refused=True,
)
"""`sweep_mode = adr`: a lost result with nothing found is cleared at its first check."""
FENCE: Final = Rule(
    fence=True,
    wait_for_all=True,
    names_attempt=True,
    reads_before=True,
    audit=True,
    deadline=True,
    no_resend=True,
    one_attempt=True,
    compares_state=True,
    own_proof=True,
    keeps_refused=True,
)
"""`sweep_mode = fence`, the default."""


@dataclass(frozen=True, slots=True)
class Run:
    """What may happen in a search."""

    faults: frozenset[str] = frozenset()
    """Of `crash`, `cancel`, `timeout`, `freeze`, `slow`, `late`, `lost`, `refuse`, `resend`,
    `operator`, `forget` (a claim ignores the hold), `split` (a sweep reads, later writes)."""
    outcomes: str = "SD"
    """Of S success, D decline, P processing, E a 500."""
    attempts: int = 2
    days: int = 1

    def has(self, fault: str) -> bool:
        """This fault may happen."""
        return fault in self.faults


def with_intent(s: State, k: int, intent: Intent) -> State:
    """Intent `k` is this one now."""
    return s._replace(intents=(*s.intents[: k - 1], intent, *s.intents[k:]))


def with_request(s: State, a: int, request: Request) -> State:
    """The request of attempt `a` is this one now."""
    return s._replace(requests=(*s.requests[:a], request, *s.requests[a + 1 :]))


def under_way(s: State) -> bool:
    """A request can still run."""
    return any(one.state in (FLYING, RUNNING) for one in s.requests)


def settled(s: State, k: int) -> State:
    """The success of intent `k` is recorded; a second one is told to a person."""
    if k in s.rows.recorded:
        return s
    twice = s.rows.status in (r.PAID, r.VOID)
    rows = r.settle(s.rows, k, s.intents[k - 1].maker)
    rows = _won(rows, s.intents[k - 1].maker)
    return s._replace(rows=rows, flagged=s.flagged or twice)


def _won(rows: Rows, a: int) -> Rows:
    before = rows.attempts[a].state
    moves = before in r.UNENDED or before in (r.FOLLOWED, r.PRESUMED)
    return r.put(rows, a, state=r.WON)._replace(seq=rows.seq + moves)


def successes(s: State) -> int:
    """How often money was taken."""
    return sum(intent.state == PAID for intent in s.intents) + s.offline


def unrecorded(s: State) -> bool:
    """A success at Stripe has no payment row."""
    return any(
        intent.state == PAID and k not in s.rows.recorded for k, intent in enumerate(s.intents, 1)
    )


def broken(s: State) -> Iterator[str]:
    """What must never be."""
    if successes(s) > 1:
        yield "I1 two payments"
    parked = s.rows.payment == r.UNKNOWN and s.rows.hold == r.FREE
    if parked and s.rows.status in (r.OPEN, r.UNCOLLECTIBLE):
        yield "I5 parked without a hold"


def stuck(s: State) -> Iterator[str]:
    """What must come to an end by itself."""
    if unrecorded(s):
        yield "I2 a success is never recorded"
    if successes(s) > 1 and (unrecorded(s) or not s.flagged):
        yield "I1w two payments that nobody is ever told of"
    if s.rows.hold != r.FREE and not s.alarm:
        yield "I5 a hold never ends and nobody is told"
