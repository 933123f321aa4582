"""The prepared mode: one named PaymentIntent, and everybody who acts on it (protocol section 2).

The state, the rules that can be taken back, and what must never be. The steps are in
`prepared_ours` and `prepared_stripe`. Trusted: an intent succeeds at most once, a cancelled one
never; one statement is one step; an event names the key of its request. Not modelled: amounts,
refunds, several invoices, refused reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.rows import NOBODY, Rows

READY, ACTION, AT_BANK, PAID, CANCELED = (
    "payable",
    "requires_action",
    "processing",
    "succeeded",
    "canceled",
)
PAYABLE: Final = (READY, ACTION)
LOCKED, UNCLEAR, DECLINE, NOTHING = "lock_timeout", "unclear", "declined", "nothing"
CUSTOMER: Final = -2
"""Who made a charge, when the customer did on a page; else the number of the attempt."""

FLYING, RUNNING, RESTING, OVER = "flying", "running", "resting", "over"
"""A request: on its way, executing slowly, answered 500 with its end still to come, done."""


class Intent(NamedTuple):
    """A PaymentIntent at Stripe."""

    state: str = READY
    maker: int = NOBODY
    named: bool = False
    """Its id was stored here, now or before."""
    secret: bool = False
    """A page has handed out its client secret."""


class Request(NamedTuple):
    """The confirm of one attempt, and its answer."""

    state: str = ""
    answer: str = ""


class Actor(NamedTuple):
    """Where a process stands: its step, what it works on, and the answer it has in memory."""

    at: int = 0
    on: int = NOBODY
    answer: str = ""


class Read(NamedTuple):
    """What a sweep or a ladder has read and not acted on yet."""

    holder: int = NOBODY
    seq: int = 0
    state: str = ""
    status: str = ""
    found: str = ""
    maker: int = NOBODY


class State(NamedTuple):
    """One invoice here and at Stripe, and every process that works on it."""

    rows: Rows
    intents: tuple[Intent, ...]
    requests: tuple[Request, ...] = ()
    declines: frozenset[tuple[int, int]] = frozenset()
    """Declined charges that nobody has written down: intent, maker."""
    declined: frozenset[int] = frozenset()
    """Attempts that were declined in truth."""
    counted: int = 0
    """Declines written down, as dunning counts its tries."""
    chargers: tuple[Actor, Actor] = (Actor(), Actor())
    closer: Actor = Actor()
    preparers: tuple[Actor, ...] = (Actor(),)
    sweep: Read | None = None
    ladder: Read | None = None
    closed_by: str = ""
    customers: int = 0
    """How often the customer tried."""
    locked: int = 0
    """The intent that a slow confirm of the customer has locked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The sentences that can be taken back, each alone."""

    own_key: bool = True
    """S7: a decline is this attempt's only by the key in Stripe's event."""
    cancel_first: bool = True
    """Section 5: the intent is cancelled before anything is closed."""
    sweep_cancels: bool = True
    """S6b: the sweep cancels the payable intent of a closed invoice."""
    commit_guard: bool = True
    """F1: an id is stored only where it is still wanted."""
    restore: bool = True
    """F3: a cleared unknown goes back to what its claim found."""
    final_proves: bool = True
    """F4: an intent that ended proves all its attempts."""
    follow_compares: bool = True
    """F5: the ladder compares the counter it read."""
    follow_ends: bool = True
    """F5: every status but processing and succeeded ends the following."""
    late_proof: bool = True
    """F6: late news of a decline proves a superseded attempt."""
    open_release: bool = True
    """F7: the owner releases only while the invoice is open."""
    clear_compares_status: bool = True
    """F8: the sweep's clear compares the invoice's status too."""
    action_ends: bool = True
    """Section 2: an intent that waits for the customer for an hour is cancelled."""


SENTENCES: Final = tuple(field.name for field in fields(Rule))


@dataclass(frozen=True, slots=True)
class Run:
    """What may happen in a search."""

    faults: frozenset[str] = frozenset()
    """Of `crash`, `freeze`, `slow`, `page`, `late`, `prune`, `lag`."""
    outcomes: str = "SD"
    """Of S success, D decline, P processing, E a 500 whose end is still to come."""
    closes: str = ""
    """Of v void, o offline payment, c credit, w write-off."""
    attempts: int = 2
    prepared: bool = True
    """The intent has been prepared already."""

    def has(self, fault: str) -> bool:
        """This fault may happen."""
        return fault in self.faults


def initial(run: Run) -> State:
    """An open invoice, with its intent or without."""
    preparers = (Actor(), Actor()) if run.has("prune") else (Actor(),)
    if run.prepared:
        return State(Rows(intent=1), (Intent(named=True),), preparers=preparers)
    return State(Rows(), (), preparers=preparers)


def with_intent(s: State, k: int, intent: Intent) -> State:
    """Intent `k` is this one now."""
    return s._replace(intents=(*s.intents[: k - 1], intent, *s.intents[k:]))


def with_request(s: State, a: int, request: Request) -> State:
    """The request of attempt `a` is this one now."""
    return s._replace(requests=(*s.requests[:a], request, *s.requests[a + 1 :]))


def is_locked(s: State, k: int) -> bool:
    """Somebody's confirm of intent `k` is executing."""
    ours = any(
        request.state == RUNNING and s.rows.attempts[a].intent == k
        for a, request in enumerate(s.requests)
    )
    return ours or s.locked == k


def canceled(s: State, k: int) -> State:
    """Stripe has cancelled intent `k`."""
    return with_intent(s, k, s.intents[k - 1]._replace(state=CANCELED))


def settled(s: State, k: int, rule: Rule) -> State:
    """The success of intent `k` is recorded."""
    maker = max(s.intents[k - 1].maker, NOBODY)
    rows = r.settle(s.rows, k, maker)
    if not rule.final_proves and rows is not s.rows:
        attempts = tuple(
            new if a == maker else old
            for a, (old, new) in enumerate(zip(s.rows.attempts, rows.attempts, strict=True))
        )
        rows = rows._replace(attempts=attempts)
    return s._replace(rows=rows)


def write_decline(s: State, a: int, maker: int) -> State:
    """A decline is written on attempt `a`; `maker` made the charge it is taken from."""
    attempt = s.rows.attempts[a]
    return s._replace(
        rows=r.put(s.rows, a, state=r.DECLINED),
        counted=s.counted + 1,
        declines=s.declines - {(attempt.intent, maker)},
    )


def payable(s: State, k: int) -> bool:
    """Money can still come from intent `k`: somebody has its secret, or a confirm is under way."""
    intent = s.intents[k - 1]
    if intent.state not in PAYABLE:
        return intent.state == AT_BANK
    asked = any(
        request.state in (FLYING, RUNNING, RESTING) and s.rows.attempts[a].intent == k
        for a, request in enumerate(s.requests)
    )
    return intent.secret or asked


def broken(s: State) -> Iterator[str]:
    """What must never be."""
    won = sum(intent.state == PAID for intent in s.intents)
    if won + (s.closed_by in ("offline payment", "credit")) > 1:
        yield "M1 two payments"
    if s.rows.status == r.VOID and won:
        yield "M1 a success on a void invoice"
    numbers = range(1, len(s.intents) + 1)
    if s.closed_by not in ("", "write-off") and any(payable(s, k) for k in numbers):
        yield f"M2 payable after {s.closed_by}"
    if s.counted > len(s.declined):
        yield "D2 more tries counted than made"
    for a, attempt in enumerate(s.rows.attempts):
        if attempt.state == r.DECLINED and a not in s.declined:
            yield "D1 a decline on an attempt that was not declined"


def stuck(s: State) -> Iterator[str]:
    """What must come to an end by itself."""
    rows = s.rows
    won = [k for k, intent in enumerate(s.intents, 1) if intent.state == PAID]
    if rows.hold != r.FREE:
        yield "L1 a hold is never cleared"
    if any(k not in rows.recorded for k in won):
        yield "L3 a success is never recorded"
    free = rows.status == r.OPEN and rows.hold == r.FREE
    live = s.intents[rows.intent - 1].state if rows.intent else ""
    if free and rows.payment == r.UNKNOWN:
        yield "L2 unknown for ever without a hold"
    if free and rows.payment == r.PROCESSING and live != AT_BANK:
        yield "L2 processing for ever though Stripe is not"
    if free and live == ACTION:
        yield "L2 requires_action for ever"
    written_off = rows.status == r.UNCOLLECTIBLE and rows.hold == r.FREE
    numbers = range(1, len(s.intents) + 1)
    if written_off and any(payable(s, k) and s.intents[k - 1].state != AT_BANK for k in numbers):
        yield "L4 payable after a write-off for ever"
    if rows.status == r.OPEN and any(rows.attempts[a].state != r.DECLINED for a in s.declined):
        yield "D3 a decline is never counted"
