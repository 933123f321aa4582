"""The direct mode, here: chargers with their one send, operators, and what is followed."""

from collections.abc import Iterator
from functools import partial

from anchorhold.sim.model import direct_stripe
from anchorhold.sim.model import rows as r
from anchorhold.sim.model.direct import (
    AT_BANK,
    FLYING,
    PAID,
    REFUSED,
    RUNNING,
    UNCLEAR,
    Actor,
    Request,
    Rule,
    Run,
    State,
    broken,
    settled,
    stuck,
    unrecorded,
    with_request,
)
from anchorhold.sim.model.direct_sweep import audit, sweep
from anchorhold.sim.model.search import Model, Step

KINDS = (r.AUTO, r.DUNNING)
Steps = Iterator[Step[State]]


def model(rule: Rule, run: Run) -> Model[State]:
    """What is searched."""
    return Model(State(), partial(steps, rule=rule, run=run), broken, stuck)


def steps(s: State, rule: Rule, run: Run) -> Steps:
    """Everything that may happen next."""
    for step in _all(s, rule, run):
        yield step._replace(state=_forgotten(step.state))


def _all(s: State, rule: Rule, run: Run) -> Steps:
    for i in (0, 1):
        yield from _charger(s, i, rule, run)
    yield from direct_stripe.steps(s, rule, run)
    yield from sweep(s, rule, run)
    yield from audit(s, rule)
    yield from _follower(s)
    if run.has("operator"):
        yield from _operators(s, rule)
    if run.has("refuse"):
        off = s._replace(refused=not s.refused, alarm=False)
        yield Step("Stripe refuses reads, or reads again", off, helps=s.refused)


def _forgotten(s: State) -> State:
    """Answers that nobody waits for, and windows of lists without a hold, tell nothing apart."""
    busy = {actor.on for actor in s.chargers if actor.at}
    requests = tuple(
        one if a in busy else one._replace(answer="") for a, one in enumerate(s.requests)
    )
    intents = s.intents
    if s.rows.hold == r.FREE:
        intents = tuple(one._replace(out=False) for one in intents)
    return s._replace(requests=requests, intents=intents)


def _charger(s: State, i: int, rule: Rule, run: Run) -> Steps:
    actor, name = s.chargers[i], KINDS[i]
    if actor.at and run.has("crash"):
        yield Step(f"{name} crashes", _moved(s, i, Actor()), helps=False)
    match actor.at:
        case 0:
            yield from _claim(s, i, rule, run)
        case 1:
            yield from _recheck(s, i, rule)
        case 2:
            yield from _send(s, i, rule, run)
        case 3:
            yield from _answer(s, i, rule, run)
        case _:
            saved = _save(_moved(s, i, Actor()), actor.on, actor.answer)
            yield Step(f"{name} saves: {actor.answer}", saved)


def _moved(s: State, i: int, actor: Actor) -> State:
    chargers = (actor, s.chargers[1]) if i == 0 else (s.chargers[0], actor)
    return s._replace(chargers=chargers)


def _claim(s: State, i: int, rule: Rule, run: Run) -> Steps:
    ignores = rule.hold_expires or run.has("forget")
    presumed = any(one.state == r.PRESUMED for one in s.rows.attempts)
    if len(s.rows.attempts) >= run.attempts or (presumed and not rule.recharges):
        return
    taken = any(one.seq == s.rows.seq and one.state in r.UNENDED for one in s.rows.attempts)
    rows = r.claim(s.rows, KINDS[i], ignores_hold=ignores)
    if rows is None or (rule.one_attempt and taken):
        return
    intents = tuple(one._replace(out=one.old) for one in s.intents)
    claimed = s._replace(rows=rows, requests=(*s.requests, Request()), intents=intents)
    n = len(rows.attempts)
    yield Step(f"{KINDS[i]} claims attempt {n}", _moved(claimed, i, Actor(1, n - 1)), helps=False)


def _recheck(s: State, i: int, rule: Rule) -> Steps:
    a, name = s.chargers[i].on, KINDS[i]
    found = _seen_before(s) if rule.reads_before else None
    if found is not None:
        rows = found.rows
        rows = r.put(rows, a, state=r.NOT_SENT) if rows.attempts[a].state in r.UNENDED else rows
        found = found._replace(rows=r.freed(rows))
        yield Step(
            f"{name} reads the list once more and finds a payment", _moved(found, i, Actor())
        )
        return
    rows = r.mark(s.rows, a)
    if rows is None and not rule.hold_expires:
        mine = r.holds(s.rows, a)
        ended = r.put(s.rows, a, state=r.NOT_SENT)
        ended = r.freed(ended) if mine else ended
        yield Step(f"{name}: the re-check refuses", _moved(s._replace(rows=ended), i, Actor()))
        return
    rows = rows or r.put(s.rows, a, state=r.SENDING)
    avoidable = "A1 a charge is sent though the list shows a success" if unrecorded(s) else ""
    marked = _moved(s._replace(rows=rows), i, Actor(2, a))
    yield Step(f"{name}: attempt {a + 1} is sending", marked, broken=avoidable)


def _seen_before(s: State) -> State | None:
    """What one more list shows while an earlier attempt is only presumed dead (A1, H8)."""
    if not any(one.state == r.PRESUMED for one in s.rows.attempts):
        return None
    for k, intent in enumerate(s.intents, 1):
        if intent.state == PAID and k not in s.rows.recorded:
            return settled(s, k)
        if intent.state == AT_BANK:
            rows = r.put(r.follow(s.rows, k), intent.maker, state=r.FOLLOWED)
            return s._replace(rows=rows)
    return None


def _send(s: State, i: int, rule: Rule, run: Run) -> Steps:
    a, name = s.chargers[i].on, KINDS[i]
    late = not (s.rows.hold == r.LIVE and s.rows.holder == a)
    if late and rule.deadline:
        yield Step(f"{name}: the deadline has passed, nothing leaves", _moved(s, i, Actor()))
        return
    sent = with_request(s, a, s.requests[a]._replace(state=FLYING))
    after = "I4 a request leaves after its hold" if late and not rule.hold_expires else ""
    yield Step(f"{name} sends attempt {a + 1}", _moved(sent, i, Actor(3, a)), broken=after)


def _answer(s: State, i: int, rule: Rule, run: Run) -> Steps:
    actor, name = s.chargers[i], KINDS[i]
    request = s.requests[actor.on]
    running = request.state in (FLYING, RUNNING)
    if request.answer:
        heard = _moved(s, i, actor._replace(at=4, answer=request.answer))
        yield Step(f"{name} hears: {request.answer}", heard)
    if run.has("timeout") or not (request.answer or running):
        yield Step(f"{name}: timed out", _moved(s, i, actor._replace(at=4, answer=UNCLEAR)))
    if run.has("cancel"):
        yield Step(f"{name}: its caller is gone, nothing saved", _moved(s, i, Actor()), helps=False)
    if run.has("resend") and not rule.no_resend and running:
        resent = _moved(s, i, actor._replace(at=4, answer=REFUSED))
        yield Step(f"{name}: a hidden resend is answered 401", resent, helps=False)


def _save(s: State, a: int, answer: str) -> State:
    """Outcome, counter and release in one commit, guarded by hold and attempt."""
    rows = s.rows
    own = r.holds(rows, a) and rows.attempts[a].state in r.UNENDED
    fits = own and rows.status == r.OPEN and rows.payment in r.IDLE
    k = next((n for n, one in enumerate(s.intents, 1) if one.maker == a), 0)
    if answer == PAID:
        s = settled(s, k)
        return s._replace(rows=r.freed(s.rows)) if r.holds(s.rows, a) else s
    if not fits:
        return s
    if answer == UNCLEAR:
        return s._replace(rows=r.ask(rows, a))
    if answer == AT_BANK:
        return s._replace(rows=r.end(rows, a, r.FOLLOWED, payment=r.PROCESSING, follows=k))
    return s._replace(rows=r.end(rows, a, r.DECLINED, payment=r.FAILED))


def _follower(s: State) -> Steps:
    """Section 7: what is followed is retrieved by its id."""
    k = s.rows.followed
    if s.refused or not k:
        return
    intent = s.intents[k - 1]
    if intent.state == PAID and k not in s.rows.recorded:
        yield Step("the follower settles", settled(s, k))
    elif intent.state != AT_BANK and s.rows.payment == r.PROCESSING:
        rows = r.follow_ends(s.rows, intent.maker, canceled=False)
        yield Step("the follower records the decline", s._replace(rows=rows))


def _operators(s: State, rule: Rule) -> Steps:
    """Void and offline payment refuse any hold; a write-off refuses a live one only."""
    rows = s.rows
    if rows.status != r.OPEN:
        return
    free = rows.hold == r.FREE or (rule.hold_expires and rows.hold >= r.ENDED)
    blocked = rule.reads_before and _seen_before(s) is not None
    if free and rows.payment in r.IDLE and not rows.followed and not blocked:
        wrong = "I3 closed while a charge is outstanding" if _outstanding(s) else ""
        void = s._replace(rows=r.close(rows, r.VOID))
        yield Step("an operator voids it", void, helps=False, broken=wrong)
        paid = s._replace(rows=r.close(rows, r.PAID), offline=True)
        yield Step("an operator records a payment", paid, helps=False, broken=wrong)
    if rows.hold != r.LIVE:
        off = s._replace(rows=r.close(rows, r.UNCOLLECTIBLE))
        yield Step("an operator writes it off", off, helps=False)


def _outstanding(s: State) -> bool:
    at_bank = any(one.state == AT_BANK for one in s.intents)
    flying = any(one.state in (FLYING, RUNNING) and not one.kept for one in s.requests)
    return unrecorded(s) or at_bank or flying
