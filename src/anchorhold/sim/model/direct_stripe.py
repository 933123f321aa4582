"""The direct mode, at Stripe: requests that run late, keys that forget, events, banks, time."""

from collections.abc import Iterator

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.direct import (
    AT_BANK,
    DECLINED,
    FLYING,
    NO_RECORD,
    OVER,
    PAID,
    PRUNED,
    RESTING,
    RUNNING,
    SERVER_ERROR,
    UNCLEAR,
    Intent,
    Request,
    Rule,
    Run,
    State,
    settled,
    under_way,
    with_intent,
    with_request,
)
from anchorhold.sim.model.search import Step

Steps = Iterator[Step[State]]
SAID = {"S": PAID, "D": DECLINED, "P": AT_BANK}


def steps(s: State, rule: Rule, run: Run) -> Steps:
    """Everything that Stripe, a bank or time may do next."""
    for a, request in enumerate(s.requests):
        yield from _request(s, a, request, run)
    for k, intent in enumerate(s.intents, 1):
        if intent.state == AT_BANK:
            for state in (PAID, DECLINED) if "D" in run.outcomes else (PAID,):
                ended = with_intent(s, k, intent._replace(state=state, event=True))
                yield Step(f"the bank ends the debit of intent {k}: {state}", ended)
        if intent.event:
            yield from _event(s, k, intent, rule, run)
    yield from _time(s, rule, run)


def _made(s: State, a: int, state: str, request: Request) -> State:
    s = s._replace(intents=(*s.intents, Intent(a, state)))
    return with_request(s, a, request)


def _request(s: State, a: int, request: Request, run: Run) -> Steps:
    name = f"Stripe: the request of attempt {a + 1}"
    if request.state == FLYING:
        yield Step(f"{name} is lost on its way", with_request(s, a, request._replace(state=OVER)))
    if request.state in (FLYING, RUNNING):
        yield from _runs(s, a, request, name, run)
    if request.state == RESTING:
        yield Step(f"{name} is rolled back", with_request(s, a, request._replace(state=OVER)))
        over = request._replace(state=OVER)
        yield Step(f"{name} is reconciled late", _made(s, a, PAID, over))


def _runs(s: State, a: int, request: Request, name: str, run: Run) -> Steps:
    if request.kept not in (NO_RECORD, PRUNED):
        repeated = with_request(s, a, request._replace(state=OVER, answer=UNCLEAR))
        yield Step(f"{name} is answered from its key: nothing runs", repeated)
        return
    if request.state == FLYING and run.has("slow"):
        slow = with_request(s, a, request._replace(state=RUNNING))
        yield Step(f"{name} begins to run slowly", slow)
    for outcome in run.outcomes:
        if outcome in SAID:
            done = Request(OVER, SAID[outcome], SAID[outcome])
            yield Step(f"{name}: {SAID[outcome]}", _made(s, a, SAID[outcome], done))
    if "E" in run.outcomes:
        error = Request(OVER, UNCLEAR, SERVER_ERROR)
        yield Step(f"{name}: 500, nothing was made", with_request(s, a, error))
        yield Step(f"{name}: 500, and it succeeded", _made(s, a, PAID, error))
        if run.has("slow") or run.has("late"):
            resting = with_request(s, a, error._replace(state=RESTING))
            yield Step(f"{name}: 500, its end is still to come", resting)


def _event(s: State, k: int, intent: Intent, rule: Rule, run: Run) -> Steps:
    heard = with_intent(s, k, intent._replace(event=False))
    if run.has("lost"):
        yield Step(f"the event of intent {k} is lost", heard, helps=False)
    if intent.state == PAID:
        yield Step(f"event: intent {k} succeeded, settled", settled(heard, k))
    elif intent.state == AT_BANK:
        yield Step(f"event: intent {k} is processing", _followed(heard, k, rule))
    else:
        yield Step(f"event: intent {k} was declined", _declined(heard, k, rule))


def _followed(s: State, k: int, rule: Rule) -> State:
    rows, maker = s.rows, s.intents[k - 1].maker
    mine = rows.hold == r.FREE or rows.holder == maker or not rule.own_proof
    if rows.status == r.OPEN and rows.payment != r.PROCESSING and mine:
        return s._replace(rows=r.put(r.follow(rows, k), maker, state=r.FOLLOWED))
    return s


def _declined(s: State, k: int, rule: Rule) -> State:
    """Without the attempt's name a park cannot tell whose decline it hears (R16)."""
    rows, maker = s.rows, s.intents[k - 1].maker
    if rows.status != r.OPEN:
        return s
    if rows.payment == r.PROCESSING and rows.followed == k:
        return s._replace(rows=r.follow_ends(rows, maker, canceled=False))
    mine = rows.holder == maker
    unnamed = not rule.names_attempt and rows.attempts[maker].state != r.DECLINED
    waits = rows.payment == r.UNKNOWN or (rows.payment == r.PENDING and rows.hold != r.FREE)
    if waits and (mine or unnamed):
        state = r.DECLINED if mine and rule.names_attempt else rows.own.state
        rows = r.put(rows, rows.holder, state=state)
        return s._replace(rows=rows._replace(payment=r.FAILED, seq=rows.seq + 1))
    return s


def _time(s: State, rule: Rule, run: Run) -> Steps:
    """Holds end, an hour or a day goes by; nobody is asleep in the middle of a call."""
    if _hurries(s, run):
        return
    rows, prompt = s.rows, not run.has("slow")
    if rows.hold == r.LIVE:
        yield Step("the hold ends", s._replace(rows=rows._replace(hold=r.ENDED)))
    elif rows.hold == r.ENDED and not (prompt and under_way(s)):
        yield Step("10 minutes go by", _aged(s._replace(rows=rows._replace(hold=r.STALE))))
    elif not (prompt and under_way(s)) and any(not one.old for one in s.intents):
        yield Step("an hour goes by", _aged(s))
    resting = any(one.state == RESTING for one in s.requests)
    asleep = all(actor.at in ((0, 2) if run.has("freeze") else (0,)) for actor in s.chargers)
    if asleep and not under_way(s) and not (resting and not run.has("late")):
        yield from _day(s, run)


def _hurries(s: State, run: Run) -> bool:
    steps_now = {actor.at for actor in s.chargers}
    return 3 in steps_now or (2 in steps_now and not run.has("freeze"))


def _aged(s: State) -> State:
    return s._replace(intents=tuple(one._replace(old=True) for one in s.intents))


def _day(s: State, run: Run) -> Steps:
    rows = s.rows
    if s.days >= run.days and rows.hold not in (r.LIVE, r.ENDED, r.STALE):
        return
    hold = r.DAY if rows.hold != r.FREE else r.FREE
    requests = tuple(one._replace(kept=PRUNED) if one.kept else one for one in s.requests)
    later = s._replace(rows=rows._replace(hold=hold), requests=requests)
    yield Step("a day goes by, keys are pruned", _aged(later._replace(days=run.days)))
