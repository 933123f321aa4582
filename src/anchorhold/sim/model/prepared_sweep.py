"""The prepared mode: what looks at Stripe later, each as a read and a compare-and-set."""

from collections.abc import Iterator

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.prepared import (
    ACTION,
    AT_BANK,
    CANCELED,
    DECLINE,
    NOTHING,
    PAID,
    PAYABLE,
    Read,
    Rule,
    Run,
    State,
    canceled,
    is_locked,
    settled,
    write_decline,
)
from anchorhold.sim.model.search import Step

Steps = Iterator[Step[State]]


def shown(s: State, a: int, rule: Rule, *, seen: bool) -> tuple[str, int]:
    """What a retrieve of its intent says about attempt `a`, and whose decline that is (S7)."""
    attempt = s.rows.attempts[a]
    state = s.intents[attempt.intent - 1].state if attempt.intent else NOTHING
    if state in (PAID, AT_BANK):
        return state, a
    if seen:
        for k, maker in sorted(s.declines):
            if k == attempt.intent and (maker == a or not rule.own_key):
                return DECLINE, maker
    return (state if state in (CANCELED, ACTION) else NOTHING), a


def sweep(s: State, rule: Rule, run: Run) -> Steps:
    """One check of a hold that has ended (section 6)."""
    if s.sweep is not None:
        yield Step("the sweep writes what it decided", _written(s, s.sweep, rule))
        return
    if s.rows.hold != r.ENDED:
        return
    a, own = s.rows.holder, s.rows.own
    k = own.intent or s.rows.intent
    state = s.intents[k - 1].state if k else NOTHING
    if s.rows.status != r.OPEN and state == AT_BANK:
        return
    if s.rows.status != r.OPEN and state in PAYABLE and rule.sweep_cancels:
        if not is_locked(s, k):
            yield Step("the sweep cancels the intent of a closed invoice", canceled(s, k))
        return
    for seen in (True, False) if run.has("lag") else (True,):
        found, maker = shown(s, a, rule, seen=seen)
        settled_now = settled(s, k, rule) if found == PAID else s
        rows = settled_now.rows
        read = Read(a, rows.seq, rows.attempts[a].state, rows.status, found, maker)
        yield Step(f"the sweep reads: {found}", settled_now._replace(sweep=read))


def _written(s: State, read: Read, rule: Rule) -> State:
    """Compare-and-set on hold, counter, attempt's state and the invoice's status (F8)."""
    s, rows, a = s._replace(sweep=None), s.rows, read.holder
    same = r.holds(rows, a) and rows.hold == r.ENDED and rows.seq == read.seq
    same = same and rows.attempts[a].state == read.state
    if not same or (rule.clear_compares_status and rows.status != read.status):
        return s
    if read.state not in r.UNENDED:
        return s._replace(rows=r.end(rows, a, read.state, moves=False))
    if read.found == PAID:
        return s
    return _ended(s, a, read, rule)


def _ended(s: State, a: int, read: Read, rule: Rule) -> State:
    attempt = s.rows.attempts[a]
    k, is_open = attempt.intent, s.rows.status == r.OPEN
    if read.found == DECLINE and attempt.kind != r.CLOSE:
        s = write_decline(s, a, read.maker)
        payment = r.FAILED if is_open else s.rows.payment
        return s._replace(rows=r.freed(s.rows._replace(payment=payment, seq=s.rows.seq + 1)))
    if read.found == AT_BANK and is_open:
        mine = s.intents[k - 1].maker == a and attempt.kind != r.CLOSE
        state = r.FOLLOWED if mine else r.SUPERSEDED
        return s._replace(rows=r.end(s.rows, a, state, payment=r.PROCESSING, follows=k))
    state = r.NOT_SENT if attempt.kind == r.CLOSE else r.SUPERSEDED
    rows = r.end(s.rows, a, state, payment="" if rule.restore else s.rows.payment)
    if read.found == CANCELED and rows.intent == k:
        rows = rows._replace(intent=0)
    return s._replace(rows=rows)


def ladder(s: State, rule: Rule) -> Steps:
    """A followed intent is retrieved, or a watched one; the write compares what was read (F5)."""
    if s.ladder is not None:
        written = _followed(s._replace(ladder=None), s.ladder, rule)
        yield Step("the ladder writes what it read", written)
    rows = s.rows
    k = rows.followed
    if rows.payment != r.PROCESSING or not k or rows.hold != r.FREE:
        yield from _watched(s)
        return
    state = s.intents[k - 1].state
    if state == AT_BANK or (state == ACTION and not rule.follow_ends):
        return
    read = Read(k, rows.seq, rows.payment, rows.status, state)
    if s.ladder is None:
        yield Step(f"the ladder reads: {state}", s._replace(ladder=read))
    yield Step(f"an event as a hint: {state}", _followed(s, read, rule))


def _watched(s: State) -> Steps:
    """The live intent of a superseded attempt or a page: followed when it is processing (W2)."""
    k = s.rows.intent
    idle = s.rows.hold == r.FREE and s.rows.status == r.OPEN and s.rows.payment in r.IDLE
    if k and idle and s.intents[k - 1].state == AT_BANK:
        yield Step(f"the watcher follows intent {k}", s._replace(rows=r.follow(s.rows, k)))


def _followed(s: State, read: Read, rule: Rule) -> State:
    rows, k = s.rows, read.holder
    same = rows.payment == read.state and rows.followed == k and rows.hold == r.FREE
    if not same or (rule.follow_compares and rows.seq != read.seq):
        return s
    if read.found == PAID:
        return settled(s, k, rule)
    state = s.intents[k - 1].state
    if rows.status == r.UNCOLLECTIBLE and rule.follow_ends and state != CANCELED:
        return s if is_locked(s, k) or state not in PAYABLE else canceled(s, k)
    gone = read.found == CANCELED
    maker = _followed_attempt(s, k)
    ended = r.follow_ends(rows, maker, canceled=gone)
    counted = maker != r.NOBODY
    s = s._replace(rows=ended)
    if counted:
        s = s._replace(counted=s.counted + 1, declines=s.declines - {(k, maker)})
    return s


def _followed_attempt(s: State, k: int) -> int:
    for a, attempt in enumerate(s.rows.attempts):
        if attempt.intent == k and attempt.state == r.FOLLOWED:
            return a
    return r.NOBODY
