"""One invoice's life as a machine of random steps: faults, crashes, frozen owners, time, customers.

Each step leaves a line; a failure is told as the story that led to it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from typing_extensions import override

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Refusal
from anchorhold.engine.deps import Deps
from anchorhold.twin import acts
from anchorhold.twin.errors import StripeError
from anchorhold.twin.faults import FaultKind, Rule
from anchorhold.twin.instruments import BY_LITERAL
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import AtStripe, end_debits

T = TypeVar("T")

CARDS = {
    "pays": "pm_card_visa",
    "declines": "pm_card_chargeCustomerFail",
    "wants the customer": "pm_card_threeDSecure2Required",
}
LATE_S = 1800


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request."""

    kind: FaultKind
    endpoint: str


@dataclass(frozen=True)
class Break:
    """Where a process breaks: at its n-th statement or call, in this way."""

    step: int
    how: str

    def __str__(self) -> str:
        return f"and {self.how} step {self.step}"


FREEZES = "freezes behind"
WAYS = (*(when.value for when in When), FREEZES)


class Breaking(Gate):
    """A process that dies or freezes at its n-th step, and goes on when it thaws."""

    def __init__(self, at: Break | None) -> None:
        super().__init__()
        self.at = at
        self.broke_at = ""
        self.stopped, self.thawed = asyncio.Event(), asyncio.Event()

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        here = self.at is not None and len(self.passed) + 1 == self.at.step
        if here and self.at is not None:
            self.broke_at = f" ({name})"
            if self.at.how != FREEZES:
                count = self.passed.count(name) + 1
                self.dies_at = (name, count, When(self.at.how))
        result = await super().through(name, act)
        if here and self.at is not None and self.at.how == FREEZES:
            self.stopped.set()
            await self.thawed.wait()
        return result


@dataclass
class Frozen:
    """A process in the middle of its work."""

    gate: Breaking
    task: "asyncio.Task[object]"


class Life:
    """What can happen to one invoice. Every method is one step of the story."""

    def __init__(self, world: Rig) -> None:
        self.world = world
        self.at = AtStripe(world)
        self.frozen: list[Frozen] = []
        self.story: list[str] = []
        self.invoice = InvoiceId("")

    def tell(self, line: str) -> None:
        """The next line of the story."""
        self.story.append(line)

    async def begin(self, card: str) -> None:
        """The invoice is open and its intent is prepared."""
        self.tell(f"An invoice of a customer whose card {card}.")
        self.world.sql(
            "UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'"
        )
        self.invoice = await self.world.invoice(method=CARDS[card])
        await self.world.prepare()

    def stripe_fails(self, fault: Fault | None) -> None:
        """The next request to an endpoint meets this fault; an earlier one is forgotten."""
        rules: list[Rule] = []
        if fault is not None:
            self.tell(f"Stripe: the next {fault.endpoint} meets {fault.kind.value}.")
            rules = [Rule(fault.kind, fault.endpoint, frozenset({1}), seconds=LATE_S)]
        self.world.twin.faults.replace(rules)

    async def work(self, what: str, broken: Break | None) -> None:
        """A process does this, unless it breaks on the way."""
        gate = Breaking(broken)
        task = asyncio.ensure_future(self._work(what, gate))
        stopped = asyncio.ensure_future(gate.stopped.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            self.frozen.append(Frozen(gate, task))
        end = task.result() if task.done() else "is frozen"
        self.tell(f"A {what} {broken or ''}{gate.broke_at}: {end}.")

    async def _work(self, what: str, gate: Gate) -> str:
        try:
            return await self._does(what, self.world.deps(gate))
        except Refusal as refusal:
            return refusal.code.name.lower()
        except (CrashError, psycopg.OperationalError) as crash:
            return f"dead ({type(crash).__name__})"

    async def _does(self, what: str, deps: Deps) -> str:
        if what == "worker":
            ends = await self.world.charge_due(deps)
            return ", ".join(f"{end.rule} {end.saved}" for end in ends) or "nothing due"
        if what == "Collect":
            end = await self.world.collect(self.invoice, deps)
            return f"{end.rule} {end.saved}"
        ticked = await self.world.tick(deps)
        return f"{ticked.swept.rows} {ticked.followed} {ticked.watched}"

    async def thaw(self) -> None:
        """A frozen process goes on."""
        one = self.frozen.pop(0)
        one.gate.thawed.set()
        self.tell(f"A frozen process thaws: {await one.task}.")

    def time(self, minutes: int) -> None:
        """So much time goes by."""
        self.tell(f"{minutes} minutes go by.")
        self.world.later(minutes=minutes)

    def customer(self, method: str) -> None:
        """The customer pays, or tries to, on a page that we handed the secret to."""
        self._page_was_opened()
        if method.endswith("_de"):
            with contextlib.suppress(AssertionError):
                self.at.page_debits(self.invoice, method)
            self.tell(f"The customer agrees to the debit {method}.")
            return
        answer = self.at.page_confirms(self.invoice, method)
        self.tell(f"The customer tries {method} on the page: {answer.status}.")

    def _page_was_opened(self) -> None:
        self.world.sql(
            "UPDATE anchorhold.intent SET watched_since = anchorhold.now(), "
            "watch_at = anchorhold.now() WHERE state = 'live'"
        )

    def customer_returns(self, *, passed: bool) -> None:
        """The customer comes back from the bank's page."""
        with contextlib.suppress(StripeError):
            acts.authenticate(self.world.twin, self.at.intent(self.invoice)["id"], passed=passed)
            self.tell(f"The customer comes back from the bank, passed: {passed}.")

    def banks_speak(self) -> None:
        """Every debit under way ends."""
        self.tell("The banks end their debits.")
        end_debits(self.world)

    def stripe_catches_up(self) -> None:
        """Stripe carries out what it had put off."""
        self.tell(f"Stripe carries out {self.world.twin.run_late()} late requests.")

    def card_changes(self, card: str) -> None:
        """The customer's card is funded, emptied, or wants him present from now on."""
        self.tell(f"The card now {card}.")
        for hidden in self.at.account.hidden.values():
            if hidden.instrument.type == "card":
                hidden.instrument = BY_LITERAL[CARDS[card]]

    def merchant_cancels(self) -> None:
        """The merchant cancels the intent in Stripe's dashboard."""
        with contextlib.suppress(AssertionError):
            self.at.cancel(self.invoice)
            self.tell("The merchant cancels the intent at Stripe.")

    def merchant_refunds(self) -> None:
        """The merchant gives the money back in Stripe's dashboard."""
        with contextlib.suppress(AssertionError, KeyError):
            self.at.refund(self.invoice)
            self.tell("The merchant refunds the payment at Stripe.")

    def written_off(self) -> None:
        """An operator writes the invoice off; a stale hold allows it."""
        rows = self.world.sql(
            "UPDATE anchorhold.invoice SET status = 'uncollectible' WHERE status = 'open' "
            "AND hold_until < anchorhold.now() RETURNING id"
        )
        if rows:
            self.tell("An operator writes the invoice off on its stale hold.")

    async def end(self) -> None:
        """The faults stop and everybody comes to an end; then all has to be right."""
        self.world.twin.faults.replace([])
        while self.frozen:
            await self.thaw()
        self.stripe_catches_up()
        self.banks_speak()
        for _ in range(4):
            await self.world.recover(rounds=1)
        row = self.world.row(self.invoice)
        self.tell(f"In the end: {row['status']}, {row['payment_status']}.")
        assert row["hold_until"] is None, "a hold is left"
        assert row["payment_status"] not in {"unknown", "processing"}, "it is not known how it ends"
        paid = self.world.paid_at_stripe().get(self.invoice, 0)
        assert paid <= 1, "it was paid twice"
        assert (row["status"] == "paid") >= bool(paid), "a payment at Stripe is not on the invoice"
        closed = row["status"] in {"paid", "uncollectible"}
        payable = [s for s in self.at.intents(self.invoice) if s.startswith("requires_")]
        assert not (closed and payable), "a closed invoice can still be paid"
        await standing_checks(self.world)

    def told(self) -> str:
        """The story so far."""
        lines = [f"  {n}. {line}" for n, line in enumerate(self.story, 1)]
        attempts: list[Any] = self.world.sql(
            "SELECT state, cause, rule FROM anchorhold.attempt ORDER BY id"
        )
        return "\n".join([*lines, f"  attempts: {attempts}"])
