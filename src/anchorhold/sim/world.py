"""A world: one account with a few invoices, a Stripe of its own, and everybody who acts on them.

It lives in rows of its own account, so worlds share one database and nothing is ever cleared.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from anchorhold.domain.ids import ACCOUNT, InvoiceId, derive
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.charge import charge
from anchorhold.engine.collect import collect
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.engine.sweep import sweep
from anchorhold.engine.tick import tick
from anchorhold.sim.db import Connection, WorldDb
from anchorhold.sim.provider import Leaving, WorldProvider, real_client
from anchorhold.sim.scheduler import Work
from anchorhold.sim.turns import Turn
from anchorhold.store import accounts, customers, holds, intents, invoices
from anchorhold.store.accounts import NewConnection
from anchorhold.store.invoices import NewInvoice
from anchorhold.twin import Twin
from anchorhold.twin.clock import Clock
from anchorhold.twin.settings import Settings
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT

BEGINS = 1_790_000_000.0
"""When every world begins, in seconds since 1970."""
DEBIT_S = 4 * 86_400
STATEMENT_S = 0.002
CALL_S = 0.3
LIMIT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a world's story: how many seconds after its beginning, who, and what."""

    at: float
    who: str
    what: str


class World:
    """One seed's account, Stripe, clock and dice; `number` tells runs of one seed apart."""

    def __init__(
        self, connection: Connection, seed: int, leaving: Leaving, *, number: int = 0
    ) -> None:
        self.seed = seed
        self.random = Random(f"world:{seed}")  # noqa: S311 - repeatable, not secret
        self.clock = Clock(BEGINS)
        self.db = WorldDb(connection, self.clock, Random(f"ids:{seed}"))  # noqa: S311 - the same
        self.twin = Twin(seed=seed, clock=self.clock, settings=Settings(debit_s=DEBIT_S))
        self.scope = Scope(derive(ACCOUNT, "world", seed, number), livemode=False)
        self.timing = Timing()
        self.rows: set[str] = set()
        self.story: list[Line] = []
        self.invoices: list[InvoiceId] = []
        self.connected = True
        client = real_client(self.twin, self.clock, leaving)
        provider: Any = WorldProvider(client, self.rows, lambda: self._passes(CALL_S))
        self._connected = Connected(provider, STRIPE_ACCOUNT, "fingerprint")

    def deps(self, actor: str) -> Deps:
        """What a process of this name works with."""
        return Deps(self.db, self, self.timing, self, actor)

    async def of(self, scope: Scope) -> Connected | None:
        """`Providers.of`: the world's only account."""
        assert scope == self.scope
        return self._connected if self.connected else None

    def info(self, event: str, **facts: object) -> None:
        """`Log.info`: nobody listens."""

    def error(self, event: str, **facts: object) -> None:
        """`Log.error`: a person would be called."""
        self.tell("log", f"{event} {facts.get('error') or facts.get('reason') or ''}".rstrip())

    def tell(self, who: str, what: str) -> None:
        """The next line of the story."""
        self.story.append(Line(self.clock() - BEGINS, who, what))

    def later(self, seconds: float) -> None:
        """It is so much later, here and at Stripe."""
        self.clock.advance(seconds)
        self.twin.run_due()

    def _passes(self, seconds: float) -> None:
        self.clock.advance(seconds * self.random.choice((0.5, 1, 1, 2)))

    async def begin(self, methods: list[str | None], amount: int) -> object:
        """The account is connected and has one open invoice for each of these cards."""
        await accounts.create(self.db, self.scope.account_id, self.scope.account_id)
        types = ("card", "sepa_debit")
        new = NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint", types)
        await accounts.connect(self.db, self.scope, new)
        due = datetime.fromtimestamp(BEGINS, UTC) - timedelta(days=1)
        rows = [
            NewInvoice(f"R{n}", f"customer {n}", None, method, amount + n, "eur", due)
            for n, method in enumerate(methods)
        ]
        taken = await invoices.take_in(self.db, self.scope, rows, actor="import")
        for row in sorted(taken, key=lambda one: one.reference):
            self.invoices.append(row.id)
            method = methods[int(row.reference[1:])]
            await customers.begin(
                self.db,
                self.scope,
                row.customer_id,
                params={"metadata": {"reference": row.reference}},
                stripe_customer_id=None,
                payment_method=method,
            )
        return None

    async def work(self, actor: str) -> object:
        """A worker's batch: set up, prepare, claim what is due, charge it one after the other."""
        deps = self.deps(actor)
        await self.prepare(actor)
        claims = await holds.claim_due(
            deps.db, self.scope, deps.timing, limit=LIMIT, actor=deps.actor
        )
        ends = [await charge(deps, claim) for claim in claims]
        return ", ".join(f"{end.rule} {end.saved or 'kept'}" for end in ends) or "nothing due"

    async def prepare(self, actor: str) -> object:
        """Customers are set up and intents prepared, as far as Stripe answers."""
        deps, connected = self.deps(actor), await self.of(self.scope)
        if connected is None:
            return "not connected"
        done = [
            await set_up_customer(deps, connected, self.scope, row)
            for row in await customers.take_unready(deps.db, self.scope, limit=LIMIT)
        ]
        done += [
            await prepare_intent(deps, connected, row)
            for row in await intents.take_unprepared(deps.db, self.scope, limit=LIMIT)
        ]
        return ", ".join(done) or "nothing to prepare"

    async def collects(self, actor: str, invoice: InvoiceId) -> object:
        """An operator collects one invoice."""
        end = await collect(self.deps(actor), self.scope, invoice)
        return f"{end.rule} {end.saved or 'kept'}"

    async def sweeps(self, actor: str) -> object:
        """One sweep of all stale holds."""
        swept = await sweep(self.deps(actor), self.scope)
        self.rows |= swept.rows.keys()
        return " ".join(sorted(swept.rows)) or "no stale hold"

    async def ticks(self, actor: str) -> object:
        """A tick: the flagged key, the sweep, followers and watchers."""
        ticked = await tick(self.deps(actor), self.scope)
        found = ticked.swept.rows.keys() | ticked.followed.keys() | ticked.watched.keys()
        self.rows |= found
        return " ".join(sorted(found)) or "nothing to look at"


def at_once(work: Work) -> object:
    """The end of a coroutine that nobody interrupts."""
    try:
        while isinstance(work.send(None), Turn):
            pass
    except StopIteration as done:
        return done.value
    raise AssertionError("a coroutine of a world yields turns")
