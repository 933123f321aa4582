"""The provider of a world: the real client on the twin in memory, a turn before and after a call.

Between its re-check and its request a process can freeze; between Stripe's act and its answer it
can die. The client itself never suspends: the twin answers at once.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from typing_extensions import override

from anchorhold.domain import fencing, outcome, preparing
from anchorhold.domain.account import SweepMode
from anchorhold.domain.answer import Deadline, Doubt, Refused, Result, Shown, Unclear
from anchorhold.domain.fencing import Request as Fencing
from anchorhold.sim.in_memory import TwinTransport
from anchorhold.sim.turns import Fate, Kind, Turn
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Lane, Limiter
from anchorhold.stripe.transport import Answer, current_deadline
from anchorhold.twin import Request, Twin
from anchorhold.twin.clock import Clock
from anchorhold.twin.world import SECRET_KEY

T = TypeVar("T")

CHARGES = "confirm_intent"
CREATES = "create_intent"
CHARGE_KEY = "anchorhold-charge-"
SETS_UP = frozenset({"create_customer", "attach_payment_method", "create_intent"})
NEVER = 10**9

Leaving = Callable[[str, str], None]
"""Told of each charge at the moment its request leaves: the idempotency key and the path."""


class _OpenLane(Lane):
    """No waiting: the limiter has tests of its own, and needs an event loop."""

    def __init__(self) -> None:
        pass

    @override
    async def enter(self, deadline: Deadline) -> bool:
        """At once."""
        return True

    @override
    def record(self, result: Result[object]) -> None:
        """Nothing is remembered."""


class _NoLimit(Limiter):
    """Lanes without a limit."""

    @override
    def lane(self, account: str, endpoint: str) -> Lane:
        """An open one."""
        return _OPEN


_OPEN = _OpenLane()


class WorldTransport(TwinTransport):
    """The twin in memory; `leaving` sees each charge leave, `sent` keeps every request."""

    def __init__(self, twin: Twin, clock: Clock, leaving: Leaving, sent: list[Request]) -> None:
        super().__init__(twin, clock=clock, sent=sent)
        self._leaving = leaving

    @override
    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> Answer:
        """See `TwinTransport.request_async`."""
        if _charges(method, url, post_data) and self._clock() < current_deadline().at:
            self._leaving(headers["Idempotency-Key"], url)
        return await super().request_async(method, url, headers, post_data)


def _charges(method: str, url: str, post_data: Any) -> bool:
    """The request can take money: a confirm, or a create that confirms."""
    return url.endswith("/confirm") or (
        method.upper() == "POST"
        and url.endswith("/v1/payment_intents")
        and "confirm=true" in (post_data or "").lower()
    )


def real_client(twin: Twin, clock: Clock, leaving: Leaving, sent: list[Request]) -> StripeProvider:
    """The client that ships, without limiter and breaker, on a twin in memory."""
    breaker = Breaker(failures=NEVER, clock=clock)
    transport = WorldTransport(twin, clock, leaving, sent)
    return StripeProvider(SECRET_KEY, transport, breaker=breaker, limiter=_NoLimit(), clock=clock)


class WorldProvider:
    """`Provider` whose calls take turns; `rows` collects the rows that the answers fit."""

    def __init__(
        self,
        client: StripeProvider,
        rows: set[str],
        pass_time: Callable[[], None],
        sweep: SweepMode,
    ) -> None:
        self._sweep = sweep
        self._probed: set[str] = set()
        self._client = client
        self._rows = rows
        self._pass_time = pass_time

    def deadline(self, seconds: float) -> Deadline:
        """See `Provider.deadline`."""
        return self._client.deadline(seconds)

    def __getattr__(self, verb: str) -> Any:
        """The verb of the real client, with its turns."""
        call = getattr(self._client, verb)

        def passing(*args: Any) -> Coroutine[Any, Any, Result[Any]]:
            return self._through(verb, call, args)

        return passing

    async def _through(
        self, verb: str, call: Callable[..., Coroutine[Any, Any, Result[T]]], args: tuple[Any, ...]
    ) -> Result[T]:
        await Turn(Kind.REQUEST, verb)
        answer = await call(*args)
        self._pass_time()
        if await Turn(Kind.ANSWER, _said(verb, answer)) is Fate.LOSES_ANSWER:
            answer = Unclear(Doubt.CONNECTION_LOST, "the answer was lost")
        self._note(verb, args, answer)
        return answer

    def _note(self, verb: str, args: tuple[Any, ...], answer: Result[Any]) -> None:
        if verb == CHARGES:
            self._rows.add(outcome.read(answer).id)
        elif verb == CREATES and args[1].startswith(CHARGE_KEY):
            self._rows.add(self._row_of_direct(args, answer))
        elif verb in SETS_UP and isinstance(answer, Refused):
            self._rows.add(_row_of_preparing(answer))

    def _row_of_direct(self, args: tuple[Any, ...], answer: Result[Any]) -> str:
        """The row of a charge, of a fence's probe, or of the charge's repetition after it."""
        params, key = args[0], args[1]
        if not params.get("confirm"):
            self._probed.add(key)
            return fencing.read(Fencing.PROBE, answer).id
        if key in self._probed:
            return fencing.read(Fencing.REPLAY, answer).id
        return outcome.read_direct(answer, self._sweep).id


def _row_of_preparing(answer: Refused) -> str:
    return next(
        row.id
        for row in preparing.PREPARE
        if (not row.http or answer.status in row.http)
        and (not row.types or answer.type in row.types)
    )


def _said(verb: str, answer: Result[Any]) -> str:
    """The answer in a few words."""
    if isinstance(answer, Shown):
        status = getattr(answer.value, "status", "")
        return f"{verb}: {status or 'shown'}"
    if isinstance(answer, Refused):
        return f"{verb}: {answer.status} {answer.code or answer.type or ''}".rstrip()
    return f"{verb}: {type(answer).__name__} {answer.cause}"
