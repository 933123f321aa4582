"""The prepared mode, at Stripe: confirms that come late or never, the customer, the banks."""

from collections.abc import Iterator

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.prepared import (
    ACTION,
    AT_BANK,
    CANCELED,
    CUSTOMER,
    DECLINE,
    FLYING,
    LOCKED,
    OVER,
    PAID,
    READY,
    RESTING,
    RUNNING,
    UNCLEAR,
    Intent,
    Request,
    Rule,
    Run,
    State,
    is_locked,
    settled,
    with_intent,
    with_request,
    write_decline,
)
from anchorhold.sim.model.search import Step

SAID = {"S": PAID, "D": DECLINE, "P": AT_BANK, "R": ACTION}
TRIES_MOST = 1


def steps(s: State, rule: Rule, run: Run) -> Iterator[Step[State]]:
    """Everything that Stripe, a bank or the customer may do next."""
    for a, request in enumerate(s.requests):
        yield from _request(s, a, request, run)
    for k, intent in enumerate(s.intents, 1):
        yield from _bank(s, k, intent)
        if run.has("page"):
            yield from _customer(s, k, intent, run)
    yield from _late_events(s, rule)
    if s.locked:
        for outcome in "SD":
            done = charged(s._replace(locked=0), s.locked, CUSTOMER, outcome)
            yield Step(f"the customer's own confirm executes: {SAID[outcome]}", done)


def charged(s: State, k: int, maker: int, outcome: str) -> State:
    """A confirm of intent `k` by `maker` has this outcome."""
    intent = s.intents[k - 1]
    if outcome != "D":
        return with_intent(s, k, intent._replace(state=SAID[outcome], maker=maker))
    truth = s.declined | {maker} if maker >= 0 else s.declined
    s = s._replace(declines=s.declines | {(k, maker)}, declined=truth)
    return with_intent(s, k, intent._replace(state=READY, maker=r.NOBODY))


def _request(s: State, a: int, request: Request, run: Run) -> Iterator[Step[State]]:
    """The confirm of attempt `a` goes its way."""
    name, k = f"Stripe: the confirm of attempt {a + 1}", s.rows.attempts[a].intent
    if request.state in ("", OVER):
        return
    intent = s.intents[k - 1]
    if request.state == FLYING:
        yield Step(f"{name} is lost on its way", with_request(s, a, Request(OVER)))
        if intent.state != READY:
            refused = Request(OVER, intent.state)
            yield Step(f"{name} is refused: {intent.state}", with_request(s, a, refused))
            return
        if is_locked(s, k):
            locked = with_request(s, a, Request(OVER, LOCKED))
            yield Step(f"{name} is refused: {LOCKED}", locked)
            return
        if run.has("slow"):
            slow = with_request(s, a, Request(RUNNING))
            yield Step(f"{name} begins to execute slowly", slow)
    if request.state == RESTING:
        yield from _reconciled(s, a, k, name)
        return
    for outcome in run.outcomes:
        yield Step(f"{name}: {outcome}", _executed(s, a, k, outcome))


def _executed(s: State, a: int, k: int, outcome: str) -> State:
    if outcome == "E":
        return with_request(s, a, Request(RESTING, UNCLEAR))
    return with_request(charged(s, k, a, outcome), a, Request(OVER, SAID[outcome]))


def _reconciled(s: State, a: int, k: int, name: str) -> Iterator[Step[State]]:
    over = with_request(s, a, s.requests[a]._replace(state=OVER))
    yield Step(f"{name} is rolled back", over)
    if s.intents[k - 1].state == READY and not is_locked(s, k):
        for outcome in "SD":
            yield Step(f"{name} is reconciled late: {outcome}", charged(over, k, a, outcome))


def _bank(s: State, k: int, intent: Intent) -> Iterator[Step[State]]:
    if intent.state == AT_BANK:
        for outcome in "SD":
            said = charged(s, k, intent.maker, outcome)
            yield Step(f"the bank ends the debit of intent {k}: {SAID[outcome]}", said)


def _customer(s: State, k: int, intent: Intent, run: Run) -> Iterator[Step[State]]:
    """The customer keeps the secret for ever and pays whenever he likes."""
    rows = s.rows
    opens = rows.intent == k and rows.hold == r.FREE and rows.payment in r.IDLE
    if opens and rows.status == r.OPEN and not intent.secret:
        opened = with_intent(s, k, intent._replace(secret=True))
        yield Step(f"the customer opens the page of intent {k}", opened, helps=False)
    if not intent.secret or is_locked(s, k):
        return
    if intent.state == READY and s.customers < TRIES_MOST:
        tried = s._replace(customers=s.customers + 1)
        for outcome in "SD" + ("P" if "P" in run.outcomes else "") + "R":
            paid = charged(tried, k, CUSTOMER, outcome)
            yield Step(f"the customer pays intent {k}: {outcome}", paid, helps=False)
        if run.has("slow"):
            slow = tried._replace(locked=k)
            yield Step("the customer's own confirm begins to execute", slow, helps=False)
    if intent.state == ACTION:
        for outcome in "SD":
            back = charged(s, k, CUSTOMER, outcome)
            yield Step(f"the customer comes back from the bank: {outcome}", back, helps=False)


def _late_events(s: State, rule: Rule) -> Iterator[Step[State]]:
    """Webhook or catch-up: successes, and declines by the key of their attempt (F6)."""
    for k, intent in enumerate(s.intents, 1):
        if intent.state == PAID and k not in s.rows.recorded:
            yield Step(f"event: intent {k} succeeded, settled", settled(s, k, rule))
        free = s.rows.hold == r.FREE and not s.rows.followed
        if intent.state == CANCELED and s.rows.intent == k and free:
            gone = s._replace(rows=s.rows._replace(intent=0))
            yield Step(f"event: intent {k} was cancelled", gone)
    for a in s.declined:
        if rule.late_proof and s.rows.attempts[a].state in (r.SUPERSEDED, r.NOT_SENT):
            proven = write_decline(s, a, a)
            yield Step(f"event with the key of attempt {a + 1}: declined", proven)
