"""What each kind of fault does to one request."""

from collections.abc import Callable
from typing import Protocol

from anchorhold.twin.desk import Desk, Overrule
from anchorhold.twin.errors import StripeError, key_in_use, lock_timeout, rate_limit
from anchorhold.twin.faults import FaultKind, Rule
from anchorhold.twin.journal import Entry
from anchorhold.twin.wire import Break, Broken, Request, Response, encode


class World(Protocol):
    """What a fault needs of the twin."""

    desk: Desk

    def postpone(self, request: Request, entry: Entry, seconds: float) -> None:
        """Execute later, key and object held."""
        ...

    def reconcile(self, request: Request, entry: Entry, seconds: float) -> None:
        """Execute later, beside the key."""
        ...


Act = Callable[[World, Request, Entry, Rule], Response | Broken]


def meet(world: World, request: Request, entry: Entry, rule: Rule) -> Response | Broken:
    """The request under this rule's fault: what the client meets."""
    return ACTS[rule.kind](world, request, entry, rule)


def _nothing(how: Break) -> Act:
    def act(_world: World, _request: Request, entry: Entry, _rule: Rule) -> Broken:
        entry.delivered = False
        return Broken(how, executed=False)

    return act


def _dropped_after(world: World, request: Request, entry: Entry, _rule: Rule) -> Broken:
    world.desk.answer(request, entry)
    entry.delivered = False
    return Broken(Break.DROPPED, executed=entry.executed)


def _cut(world: World, request: Request, entry: Entry, _rule: Rule) -> Broken:
    whole = world.desk.answer(request, entry)
    entry.delivered = False
    half = whole.body[: len(whole.body) // 2]
    headers = {**whole.headers, "Content-Length": str(len(whole.body))}
    return Broken(Break.CUT, entry.executed, whole.status, headers, half)


def _with_500(overrule: Overrule) -> Act:
    def act(world: World, request: Request, entry: Entry, _rule: Rule) -> Response:
        return world.desk.answer(request, entry, overrule)

    return act


def _late_500(world: World, request: Request, entry: Entry, rule: Rule) -> Response:
    answer = world.desk.answer(request, entry, Overrule.BEFORE)
    if answer.status == 500:
        world.reconcile(request, entry, rule.seconds)
    return answer


def _late(world: World, request: Request, entry: Entry, rule: Rule) -> Response | Broken:
    if not world.desk.admits(request):  # a key is looked at when its request arrives
        return world.desk.answer(request, entry)
    entry.delivered = False
    world.postpone(request, entry, rule.seconds)
    return Broken(Break.NEVER, executed=False)


def _slow(world: World, request: Request, entry: Entry, rule: Rule) -> Response:
    answer = world.desk.answer(request, entry)
    return Response(answer.status, answer.headers, answer.body, rule.seconds)


def _refusal(make: Callable[[Request], StripeError], **headers: str) -> Act:
    def act(_world: World, request: Request, entry: Entry, _rule: Rule) -> Response:
        refusal = make(request)
        entry.status, entry.error_code = refusal.status, refusal.error["code"]
        sent = {"Content-Type": "application/json", "Request-Id": entry.request_id}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        if refusal.retry is not None:
            sent["Stripe-Should-Retry"] = "true" if refusal.retry else "false"
        return Response(refusal.status, sent, encode({"error": refusal.error}))

    return act


ACTS: dict[FaultKind, Act] = {
    FaultKind.REFUSED: _nothing(Break.REFUSED),
    FaultKind.DROPPED_BEFORE: _nothing(Break.DROPPED),
    FaultKind.DROPPED_AFTER: _dropped_after,
    FaultKind.CUT: _cut,
    FaultKind.ERROR_500_WITHOUT_EFFECT: _with_500(Overrule.BEFORE),
    FaultKind.ERROR_500_WITH_EFFECT: _with_500(Overrule.AFTER),
    FaultKind.ERROR_500_LATE_EFFECT: _late_500,
    FaultKind.LATE: _late,
    FaultKind.RATE_LIMIT: _refusal(
        lambda _request: rate_limit(), Stripe_Rate_Limited_Reason="endpoint-rate"
    ),
    FaultKind.LOCK_TIMEOUT: _refusal(lambda _request: lock_timeout()),
    FaultKind.CONFLICT: _refusal(
        lambda request: key_in_use(request.header("idempotency-key") or "")
    ),
    FaultKind.SLOW: _slow,
}
