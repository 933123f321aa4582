"""The direct mode: the sweep of stale holds (S1 to S15) and the audit of what is presumed."""

from collections.abc import Iterator

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.direct import (
    AT_BANK,
    CANCELED,
    DECLINED,
    FENCED,
    NO_RECORD,
    PAID,
    RUNNING,
    SERVER_ERROR,
    Rule,
    Run,
    State,
    settled,
    with_intent,
    with_request,
)
from anchorhold.sim.model.search import Step

Steps = Iterator[Step[State]]


def sweep(s: State, rule: Rule, run: Run) -> Steps:
    """One check of a hold that ended 10 minutes ago, read and written at once unless `split`."""
    if s.decided is not None:
        yield Step("the sweep clears what it decided on", _late_clear(s, rule))
    if s.rows.hold < r.STALE or rule.hold_expires:
        return
    if s.refused:
        yield from _refused(s, rule)
        return
    listed = _listed(s, rule)
    if listed is not None:
        if listed != s:
            yield Step("the sweep acts on what the list shows", listed)
        return
    yield from _nothing(s, rule, run)


def _refused(s: State, rule: Rule) -> Steps:
    """S15: a read that is refused for good."""
    rows = s.rows
    parked = rows.status == r.UNCOLLECTIBLE and (rows.payment == r.UNKNOWN or rule.keeps_refused)
    if rows.status == r.OPEN or parked:
        yield Step("the sweep is refused: kept, an error", s._replace(alarm=True))
        return
    presumed = rows.own.state in r.UNENDED and rule.own_proof
    rows = r.put(rows, rows.holder, state=r.PRESUMED) if presumed else rows
    cleared = s._replace(rows=r.freed(rows))
    yield Step("the sweep is refused: the hold of a closed one is cleared", cleared)


def _listed(s: State, rule: Rule) -> State | None:
    """What is done about intents that the list shows; None when it shows nothing that counts."""
    own = s.rows.holder
    shown = [
        k for k, one in enumerate(s.intents, 1) if rule.own_proof or not one.out or one.maker == own
    ]
    won = [k for k in shown if s.intents[k - 1].state == PAID]
    under_way = [k for k in shown if s.intents[k - 1].state == AT_BANK]
    stuck = [k for k in shown if s.intents[k - 1].state == DECLINED]
    for k in won:
        s = settled(s, k)
    if under_way:
        return _processing(s, under_way)
    if won and not rule.own_proof:
        return s._replace(rows=r.freed(s.rows))
    if won and s.rows.own.state not in r.UNENDED:
        return s._replace(rows=r.freed(s.rows))
    if stuck:
        return _stuck(s, stuck, rule)
    return s if won and unsettled(s) else None


def unsettled(s: State) -> bool:
    """The invoice has no payment that stands."""
    return s.rows.status != r.PAID


def _processing(s: State, under_way: list[int]) -> State:
    """S3 to S5: the newest is followed where the invoice is open; else the hold stays."""
    k = under_way[-1]
    maker = s.intents[k - 1].maker
    if s.rows.status != r.OPEN:
        return s
    rows = s.rows
    if rows.payment != r.PROCESSING:
        rows = r.put(r.follow(rows, k), maker, state=r.FOLLOWED)
    followed_only = len(under_way) == 1 and rows.own.state not in r.UNENDED
    return s._replace(rows=r.freed(rows) if followed_only else rows)


def _stuck(s: State, stuck: list[int], rule: Rule) -> State:
    """S6 and S7: a declined intent is cancelled; the own attempt's decline is saved."""
    for k in stuck:
        intent = s.intents[k - 1]
        if s.rows.payment == r.PROCESSING and s.rows.followed == k:
            continue
        s = with_intent(s, k, intent._replace(state=CANCELED))
        own = rule.names_attempt and intent.maker == s.rows.holder
        if own and s.rows.own.state in r.UNENDED:
            payment = r.FAILED if s.rows.status == r.OPEN else s.rows.payment
            return s._replace(rows=r.end(s.rows, s.rows.holder, r.DECLINED, payment=payment))
    return s


def _nothing(s: State, rule: Rule, run: Run) -> Steps:
    """S8 to S12: the list shows nothing that can pay."""
    rows, a = s.rows, s.rows.holder
    parked = rows.payment == r.UNKNOWN
    state = rows.own.state
    if state not in r.UNENDED:
        yield Step("the own attempt is proven: cleared", s._replace(rows=r.freed(rows)))
    elif rule.one_attempt and state == r.CLAIMED:
        yield Step("S8: nothing was ever sent", _cleared(s, r.NOT_SENT))
    elif rule.fence and rows.hold == r.STALE:
        yield from _fence(s, a)
    elif parked or rule.wait_for_all:
        yield from _after_a_day(s, rule)
    elif run.has("split"):
        if s.decided is None:
            yield Step("the sweep sees nothing, and will clear", s._replace(decided=(a, rows.seq)))
    else:
        yield Step("S8: the list shows nothing: cleared", _cleared(s, _lost(rule)))


def _lost(rule: Rule) -> str:
    return r.SUPERSEDED if not rule.audit else r.PRESUMED


def _cleared(s: State, state: str) -> State:
    moves = s.rows.status == r.OPEN
    return s._replace(rows=r.end(s.rows, s.rows.holder, state, moves=moves))


def _fence(s: State, a: int) -> Steps:
    """S10: the key is used once more for a request that cannot charge."""
    request = s.requests[a]
    if request.state == RUNNING:
        return
    if request.kept == NO_RECORD:
        fenced = with_request(s, a, request._replace(kept=FENCED))
        yield Step(
            "S10: the fence holds: it never ran and no longer can", _cleared(fenced, r.FENCED)
        )
    elif request.kept == SERVER_ERROR:
        open_one = s.rows.status == r.OPEN and s.rows.payment in r.IDLE
        if open_one:
            yield Step("S11: a replayed 500: parked", s._replace(rows=r.ask(s.rows, a)))
        elif s.rows.status != r.OPEN:
            yield Step("S11: a replayed 500 of a closed one", _cleared(s, r.PRESUMED))
    else:
        yield Step("S10: the replay is its answer", _cleared(s, r.SUPERSEDED))


def _after_a_day(s: State, rule: Rule) -> Steps:
    """S12: nothing for a day."""
    if s.rows.hold != r.DAY:
        return
    if not rule.recharges and s.rows.status == r.OPEN:
        yield Step("S12: nothing for a day: kept for a person", s._replace(alarm=True))
        return
    yield Step("S12: nothing for a day: presumed none", _cleared(s, r.PRESUMED))


def _late_clear(s: State, rule: Rule) -> State:
    """The compare-and-set of a sweep that has read before (H2)."""
    a, seq = s.decided or (r.NOBODY, 0)
    s = s._replace(decided=None)
    same = r.holds(s.rows, a) and s.rows.seq == seq
    if not same or (rule.compares_state and s.rows.payment == r.UNKNOWN):
        return s
    rows = r.put(s.rows, a, state=_lost(rule)) if s.rows.own.state in r.UNENDED else s.rows
    return s._replace(rows=r.freed(rows._replace(seq=rows.seq + 1)))


def audit(s: State, rule: Rule) -> Steps:
    """What is presumed none stays watched, through events that can be read again."""
    presumed = any(one.state in (r.PRESUMED, r.SUPERSEDED) for one in s.rows.attempts)
    if not rule.audit or s.refused or not presumed:
        return
    for k, intent in enumerate(s.intents, 1):
        if intent.state == PAID and k not in s.rows.recorded:
            yield Step(f"the audit records intent {k}", settled(s, k))
        free = s.rows.hold == r.FREE and s.rows.status == r.OPEN and s.rows.payment in r.IDLE
        if intent.state == AT_BANK and free:
            rows = r.put(r.follow(s.rows, k), intent.maker, state=r.FOLLOWED)
            yield Step(f"the audit follows intent {k}", s._replace(rows=rows))
