"""The rows of one invoice and what each kind of statement may do to them.

These are the moves that both models are made of, and the only ones that a simulated world may
show (protocol sections 3 to 8). Amounts, refunds and notices are not in it.
"""

from typing import Final, NamedTuple

from anchorhold.domain.attempt import RUNNING, AttemptState
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus

OPEN: Final = InvoiceStatus.OPEN.value
PAID: Final = InvoiceStatus.PAID.value
VOID: Final = InvoiceStatus.VOID.value
UNCOLLECTIBLE: Final = InvoiceStatus.UNCOLLECTIBLE.value

PENDING: Final = PaymentStatus.PENDING.value
FAILED: Final = PaymentStatus.FAILED.value
PROCESSING: Final = PaymentStatus.PROCESSING.value
UNKNOWN: Final = PaymentStatus.UNKNOWN.value
SUCCEEDED: Final = PaymentStatus.SUCCEEDED.value
IDLE: Final = (PENDING, FAILED)

CLAIMED: Final = AttemptState.CLAIMED.value
SENDING: Final = AttemptState.SENDING.value
ASKED: Final = AttemptState.UNKNOWN.value
"""The answer was unclear."""
WON: Final = AttemptState.SUCCEEDED.value
DECLINED: Final = AttemptState.FAILED.value
FOLLOWED: Final = AttemptState.PROCESSING.value
NOT_SENT: Final = AttemptState.NOT_SENT.value
SUPERSEDED: Final = AttemptState.SUPERSEDED.value
FENCED: Final = AttemptState.FENCED.value
PRESUMED: Final = AttemptState.PRESUMED_NONE.value
UNENDED: Final = frozenset(state.value for state in RUNNING)

FREE, LIVE, ENDED, STALE, DAY = range(5)
"""How old a hold is: none, live, over, over for 10 minutes, over for a day."""
NOBODY: Final = -1
AUTO, DUNNING, CLOSE = "auto", "dunning", "close"
FITS: Final = {AUTO: (PENDING,), DUNNING: IDLE, CLOSE: IDLE}


class Attempt(NamedTuple):
    """One taking of the hold; `found` is the payment status that its claim found."""

    kind: str
    state: str
    seq: int
    found: str
    intent: int = 0
    """Number of the intent that it confirms or made; 0: not known."""


class Rows(NamedTuple):
    """One invoice as the database has it. Intents are numbered from 1."""

    status: str = OPEN
    payment: str = PENDING
    hold: int = FREE
    holder: int = NOBODY
    seq: int = 0
    intent: int = 0
    """The live prepared intent."""
    followed: int = 0
    attempts: tuple[Attempt, ...] = ()
    recorded: frozenset[int] = frozenset()
    """Intents whose success has its payment row."""

    @property
    def own(self) -> Attempt:
        """The attempt that holds."""
        return self.attempts[self.holder]


def put(rows: Rows, a: int, *, state: str) -> Rows:
    """Attempt `a` has this state."""
    changed = rows.attempts[a]._replace(state=state)
    return rows._replace(attempts=(*rows.attempts[:a], changed, *rows.attempts[a + 1 :]))


def freed(rows: Rows) -> Rows:
    """Nobody holds the invoice."""
    return rows._replace(hold=FREE, holder=NOBODY)


def holds(rows: Rows, a: int) -> bool:
    """Attempt `a` has the hold, live or not."""
    return rows.hold != FREE and rows.holder == a


def claim(rows: Rows, kind: str, *, ignores_hold: bool = False) -> Rows | None:
    """The hold is taken and the attempt written, in one commit (section 3, step 1)."""
    free = rows.hold == FREE or (ignores_hold and rows.hold >= ENDED)
    if not (free and rows.status == OPEN and rows.payment in FITS[kind] and not rows.followed):
        return None
    attempt = Attempt(kind, CLAIMED, rows.seq, rows.payment, rows.intent)
    n = len(rows.attempts)
    return rows._replace(hold=LIVE, holder=n, attempts=(*rows.attempts, attempt))


def mark(rows: Rows, a: int) -> Rows | None:
    """The re-check: the attempt is `sending` (section 3, step 3)."""
    own = rows.attempts[a]
    fits = rows.hold == LIVE and rows.holder == a and own.state == CLAIMED
    if fits and rows.status == OPEN and rows.payment in IDLE and rows.seq == own.seq:
        return put(rows, a, state=SENDING)
    return None


def end(
    rows: Rows, a: int, state: str, *, payment: str = "", moves: bool = True, follows: int = 0
) -> Rows:
    """The hold of attempt `a` ends with it; outcome, counter and release are one commit.

    Without `payment` a cleared unknown goes back to what the claim found (F3). An attempt that has
    ended before keeps its end, and the counter has moved already.
    """
    ended = rows.attempts[a].state not in UNENDED
    if not ended:
        rows = put(rows, a, state=state)
    if rows.status == PAID:
        payment = rows.payment
    elif not payment:
        payment = rows.attempts[a].found if rows.payment in (UNKNOWN, PROCESSING) else rows.payment
    seq = rows.seq + (moves and not ended)
    return freed(rows._replace(payment=payment, seq=seq, followed=follows))


def ask(rows: Rows, a: int) -> Rows:
    """An unclear answer is saved: attempt and invoice are unknown, the hold stays."""
    return put(rows, a, state=ASKED)._replace(payment=UNKNOWN)


def proven_by(rows: Rows, intent: int, maker: int) -> Rows:
    """A success proves every attempt on its intent (F4); `maker` made it, if one of ours did."""
    for a, attempt in enumerate(rows.attempts):
        if attempt.intent == intent:
            late = a == maker and attempt.state in (SUPERSEDED, PRESUMED)
            if attempt.state in UNENDED or attempt.state == FOLLOWED or late:
                rows = put(rows, a, state=WON if a == maker else SUPERSEDED)
    return rows


def settle(rows: Rows, intent: int, maker: int = NOBODY) -> Rows:
    """A success is recorded once, whoever brings the news; the hold stays (section 8)."""
    if intent in rows.recorded:
        return rows
    before = rows.attempts
    rows = proven_by(rows, intent, maker)
    seq = rows.seq + (rows.attempts != before)
    rows = rows._replace(recorded=rows.recorded | {intent}, seq=seq)
    if rows.intent == intent:
        rows = rows._replace(intent=0)
    if rows.status in (OPEN, UNCOLLECTIBLE):
        return rows._replace(status=PAID, payment=SUCCEEDED, followed=0)
    return rows


def follow(rows: Rows, intent: int) -> Rows:
    """The invoice follows a processing intent; the counter moves (S3, W2)."""
    return rows._replace(payment=PROCESSING, followed=intent, seq=rows.seq + 1)


def follow_ends(rows: Rows, maker: int, *, canceled: bool) -> Rows:
    """The following ends as a decline of the followed attempt, of none if the page made it."""
    if maker != NOBODY and rows.attempts[maker].state == FOLLOWED:
        rows = put(rows, maker, state=DECLINED)
    intent = 0 if canceled and rows.intent == rows.followed else rows.intent
    return rows._replace(payment=FAILED, followed=0, seq=rows.seq + 1, intent=intent)


def close(rows: Rows, status: str) -> Rows:
    """The invoice is closed by the owner of its hold, or by a write-off that leaves it."""
    payment = SUCCEEDED if status == PAID else rows.payment
    return rows._replace(status=status, payment=payment)
