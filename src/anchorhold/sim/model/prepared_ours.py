"""The prepared mode, here: chargers, closers, the preparer, the sweep and the ladder.

A hold is live until the step that ends it; each step of its owner may still come after that
(freeze). Each process may crash between any two steps.
"""

from collections.abc import Iterator
from functools import partial

from anchorhold.sim.model import prepared_stripe
from anchorhold.sim.model import rows as r
from anchorhold.sim.model.prepared import (
    ACTION,
    AT_BANK,
    CANCELED,
    DECLINE,
    FLYING,
    LOCKED,
    NOTHING,
    PAID,
    PAYABLE,
    READY,
    UNCLEAR,
    Actor,
    Intent,
    Request,
    Rule,
    Run,
    State,
    broken,
    canceled,
    initial,
    is_locked,
    settled,
    stuck,
    with_intent,
    with_request,
    write_decline,
)
from anchorhold.sim.model.prepared_sweep import ladder, shown, sweep
from anchorhold.sim.model.search import Model, Step

KINDS = (r.AUTO, r.DUNNING)
CLOSES = {"v": "void", "o": "offline payment", "c": "credit", "w": "write-off"}
CLOSED = {"v": r.VOID, "o": r.PAID, "c": r.PAID, "w": r.UNCOLLECTIBLE}
INTENTS_MOST = 3
Steps = Iterator[Step[State]]


def model(rule: Rule, run: Run) -> Model[State]:
    """What is searched."""
    return Model(initial(run), partial(steps, rule=rule, run=run), broken, stuck)


def steps(s: State, rule: Rule, run: Run) -> Steps:
    """Everything that may happen next."""
    for step in _all(s, rule, run):
        yield step._replace(state=_forgotten(step.state))


def _all(s: State, rule: Rule, run: Run) -> Steps:
    for i in (0, 1):
        yield from _charger(s, i, rule, run)
    yield from prepared_stripe.steps(s, rule, run)
    yield from _closer(s, rule, run)
    for n in range(len(s.preparers)):
        yield from _preparer(s, n, rule, run)
    yield from sweep(s, rule, run)
    yield from ladder(s, rule)
    if s.rows.hold == r.LIVE:
        yield Step("the hold ends", s._replace(rows=s.rows._replace(hold=r.ENDED)))
    live = s.rows.intent
    waits = live and s.intents[live - 1].state == ACTION and s.rows.payment in r.IDLE
    if rule.action_ends and waits and s.rows.hold == r.FREE and s.rows.status == r.OPEN:
        gone = canceled(s, live)
        gone = gone._replace(rows=gone.rows._replace(intent=0))
        yield Step(f"intent {live} waited an hour for the customer: cancelled", gone)


def _forgotten(s: State) -> State:
    """Answers that nobody waits for are nothing to tell states apart by."""
    busy = {actor.on for actor in s.chargers if actor.at}
    requests = tuple(
        request if a in busy else request._replace(answer="")
        for a, request in enumerate(s.requests)
    )
    return s._replace(requests=requests)


def _charger(s: State, i: int, rule: Rule, run: Run) -> Steps:
    actor, name = s.chargers[i], KINDS[i]
    if actor.at and run.has("crash"):
        yield Step(f"{name} crashes", _moved(s, i, Actor()), helps=False)
    match actor.at:
        case 0:
            yield from _claim(s, i, run)
        case 1:
            yield from _recheck(s, i, rule)
        case 2:
            yield from _send(s, i, rule, run)
        case 3:
            answer = s.requests[actor.on].answer
            for heard in (answer, UNCLEAR) if answer else (UNCLEAR,):
                moved = _moved(s, i, actor._replace(at=4, answer=heard))
                yield Step(f"{name} hears: {heard}", moved)
        case _:
            done = save(_moved(s, i, Actor()), actor.on, actor.answer, rule)
            yield Step(f"{name} saves: {actor.answer}", done)


def _moved(s: State, i: int, actor: Actor) -> State:
    chargers = (actor, s.chargers[1]) if i == 0 else (s.chargers[0], actor)
    return s._replace(chargers=chargers)


def _claim(s: State, i: int, run: Run) -> Steps:
    rows = r.claim(s.rows, KINDS[i]) if s.rows.intent else None
    if rows is not None and len(s.rows.attempts) < run.attempts:
        claimed = s._replace(rows=rows, requests=(*s.requests, Request()))
        n = len(rows.attempts)
        claimed = _moved(claimed, i, Actor(1, n - 1))
        yield Step(f"{KINDS[i]} claims attempt {n}", claimed, helps=False)


def _released(s: State, a: int, rule: Rule) -> State:
    """Nothing was sent: the owner's release (F7)."""
    if not r.holds(s.rows, a):
        return s._replace(rows=r.put(s.rows, a, state=r.NOT_SENT))
    if rule.open_release and s.rows.status != r.OPEN:
        return s
    return s._replace(rows=r.end(s.rows, a, r.NOT_SENT, moves=False))


def _recheck(s: State, i: int, rule: Rule) -> Steps:
    a = s.chargers[i].on
    same = s.rows.intent == s.rows.attempts[a].intent
    rows = r.mark(s.rows, a) if same else None
    if rows is None:
        refused = _moved(_released(s, a, rule), i, Actor())
        yield Step(f"{KINDS[i]}: the re-check refuses", refused)
        return
    marked = _moved(s._replace(rows=rows), i, Actor(2, a))
    yield Step(f"{KINDS[i]}: attempt {a + 1} is sending", marked)


def _send(s: State, i: int, rule: Rule, run: Run) -> Steps:
    a = s.chargers[i].on
    in_time = r.holds(s.rows, a) and s.rows.hold == r.LIVE
    if in_time or run.has("freeze"):
        sent = _moved(with_request(s, a, Request(FLYING)), i, Actor(3, a))
        after = "" if in_time else " after its hold"
        yield Step(f"{KINDS[i]} sends the confirm of attempt {a + 1}{after}", sent)
        return
    own = r.holds(s.rows, a) and s.rows.attempts[a].state in r.UNENDED
    given_up = _released(s, a, rule) if own else s
    yield Step(f"{KINDS[i]}: the deadline has passed, nothing leaves", _moved(given_up, i, Actor()))


def save(s: State, a: int, answer: str, rule: Rule) -> State:
    """The owner writes what it heard, guarded by its hold and its attempt (section 3, step 5)."""
    attempt = s.rows.attempts[a]
    mine = r.holds(s.rows, a)
    own = mine and attempt.state in r.UNENDED and s.rows.status == r.OPEN
    if answer == LOCKED:
        return s
    maker = a
    if answer == UNCLEAR:
        answer, maker = _looked_up(s, a, rule) if own else (NOTHING, a)
        if own and answer == NOTHING:
            return s._replace(rows=r.ask(s.rows, a))
    if answer == PAID:
        s = settled(s, attempt.intent, rule)
        return s._replace(rows=r.freed(s.rows)) if mine else s
    if own:
        return ended(s, a, answer, maker, rule)
    if answer == DECLINE and rule.late_proof and attempt.state in (r.SUPERSEDED, r.NOT_SENT):
        return write_decline(s, a, a)
    return s


def _looked_up(s: State, a: int, rule: Rule) -> tuple[str, int]:
    """Unclear: the intent is retrieved while the hold is live; only what is final counts."""
    found, maker = shown(s, a, rule, seen=True)
    final = found in (PAID, AT_BANK, CANCELED, DECLINE) and s.rows.hold == r.LIVE
    return (found, maker) if final else (NOTHING, maker)


def ended(s: State, a: int, found: str, maker: int, rule: Rule) -> State:
    """Attempt `a`, whose hold it is, ends with what was found; the hold with it."""
    k = s.rows.attempts[a].intent
    if found == DECLINE:
        s = write_decline(s, a, maker)
        rows = s.rows._replace(payment=r.FAILED, seq=s.rows.seq + 1)
        return s._replace(rows=r.freed(rows))
    if found == AT_BANK:
        mine = s.intents[k - 1].maker == a
        state = r.FOLLOWED if mine else r.SUPERSEDED
        return s._replace(rows=r.end(s.rows, a, state, payment=r.PROCESSING, follows=k))
    keeps = "" if rule.restore else s.rows.payment
    rows = r.end(s.rows, a, r.SUPERSEDED, payment=keeps)
    if found == CANCELED and rows.intent == k:
        rows = rows._replace(intent=0)
    return s._replace(rows=rows)


def _closer(s: State, rule: Rule, run: Run) -> Steps:
    actor = s.closer
    if actor.at and run.has("crash"):
        yield Step("the closer crashes", s._replace(closer=Actor()), helps=False)
    if actor.at == 0 and run.closes and not s.closed_by:
        yield from _close_begins(s, run)
    elif actor.at == 1:
        yield from _cancel_first(s, actor, rule)
    elif actor.at == 2:
        yield Step(f"the closer writes: {actor.answer}", _closed(s, actor, rule))


def _close_begins(s: State, run: Run) -> Steps:
    stale = s.rows.hold == r.ENDED or (s.rows.hold == r.FREE and s.rows.followed > 0)
    if "w" in run.closes and s.rows.status == r.OPEN and stale:
        off = s._replace(rows=r.close(s.rows, r.UNCOLLECTIBLE), closed_by="write-off")
        yield Step("an operator writes it off", off, helps=False)
    rows = r.claim(s.rows, r.CLOSE)
    if rows is not None and len(rows.attempts) <= run.attempts + 1:
        for kind in run.closes:
            begun = s._replace(rows=rows, requests=(*s.requests, Request()))
            begun = begun._replace(closer=Actor(1, len(rows.attempts) - 1, kind))
            yield Step(f"an operator begins: {CLOSES[kind]}", begun, helps=False)


def _cancel_first(s: State, actor: Actor, rule: Rule) -> Steps:
    """The intent is cancelled at Stripe; its answer may be lost."""
    k, kind = s.rows.intent, actor.answer
    if not k or not rule.cancel_first:
        yield Step("nothing to cancel", s._replace(closer=Actor(2, actor.on, f"{kind}go")))
        return
    state = s.intents[k - 1].state
    if is_locked(s, k):
        yield Step("cancel: locked", s._replace(closer=Actor(2, actor.on, f"{kind}keep")))
        return
    done = canceled(s, k) if state in PAYABLE else s
    said = {PAID: "paid", AT_BANK: "bank"}.get(state, "go")
    yield Step(f"cancel: {said}", done._replace(closer=Actor(2, actor.on, kind + said)))
    lost = done._replace(closer=Actor(2, actor.on, f"{kind}keep"))
    yield Step("cancel: the answer is lost", lost, helps=False)


def _closed(s: State, actor: Actor, rule: Rule) -> State:
    kind, said, a = actor.answer[0], actor.answer[1:], actor.on
    s, k = s._replace(closer=Actor()), s.rows.attempts[a].intent
    mine = r.holds(s.rows, a) and s.rows.status == r.OPEN
    if said == "paid":
        s = settled(s, k, rule)
    if not mine or said == "keep":
        return s
    if said == "paid":
        return s._replace(rows=r.end(s.rows, a, r.NOT_SENT, moves=False))
    if said == "bank":
        rows = r.end(s.rows, a, r.NOT_SENT, moves=False)
        return s._replace(rows=r.follow(rows, k))
    rows = r.close(r.end(s.rows, a, r.NOT_SENT, moves=False), CLOSED[kind])
    gone = rows._replace(intent=0) if rule.cancel_first else rows
    return s._replace(rows=gone, closed_by=CLOSES[kind])


def _preparer(s: State, n: int, rule: Rule, run: Run) -> Steps:
    """It takes no hold: the finaliser, or the page that hands out the secret at once."""
    actor = s.preparers[n]
    if actor.at:
        yield Step(f"preparer {n + 1} stores the id of intent {actor.on}", _named(s, n, rule, run))
        if run.has("crash"):
            yield Step(f"preparer {n + 1} crashes", _preparing(s, n, 0), helps=False)
        return
    wanted = s.rows.status == r.OPEN and not s.rows.intent and s.rows.hold == r.FREE
    if not wanted or s.rows.payment not in r.IDLE:
        return
    unnamed = [k for k, one in enumerate(s.intents, 1) if not one.named and one.state == READY]
    if unnamed:
        again = _preparing(s, n, unnamed[-1])
        yield Step(f"preparer {n + 1} repeats the create of intent {unnamed[-1]}", again)
    if (not unnamed or run.has("prune")) and len(s.intents) < INTENTS_MOST:
        made = s._replace(intents=(*s.intents, Intent()))
        k = len(made.intents)
        yield Step(f"preparer {n + 1} creates intent {k}", _preparing(made, n, k))


def _preparing(s: State, n: int, k: int) -> State:
    """Preparer `n` has the answer of intent `k` in memory; 0: nothing."""
    actor = Actor(1, k) if k else Actor()
    return s._replace(preparers=(*s.preparers[:n], actor, *s.preparers[n + 1 :]))


def _named(s: State, n: int, rule: Rule, run: Run) -> State:
    """The answered id becomes the live intent where it is still wanted (F1)."""
    k, s = s.preparers[n].on, _preparing(s, n, 0)
    intent = s.intents[k - 1]
    if s.rows.intent or intent.named:
        return s
    if rule.commit_guard and s.rows.status != r.OPEN:
        return with_intent(s, k, intent._replace(named=True, state=CANCELED))
    if rule.commit_guard and (s.rows.hold != r.FREE or _another_lives(s)):
        return s
    named = intent._replace(named=True, secret=intent.secret or run.has("page"))
    return with_intent(s, k, named)._replace(rows=s.rows._replace(intent=k))


def _another_lives(s: State) -> bool:
    return any(one.named and one.state in (READY, ACTION, AT_BANK, PAID) for one in s.intents)
