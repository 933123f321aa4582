"""Workers that charge hundreds of invoices while their database goes away, and the audit of it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.ids import ACCOUNT, AccountId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.tick import tick
from anchorhold.entropy import new_id
from anchorhold.store import accounts, customers, invoices
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import PoolDb, connect
from anchorhold.store.invoices import NewInvoice
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.twin import ACCOUNT as STRIPE_ACCOUNT
from anchorhold.twin import SECRET_KEY, Request, Twin
from anchorhold.twin.clock import WallClock
from anchorhold.twin.ledger import Ledger
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.recover import doubt_all, recover_all
from anchorhold.worker.stop import Stop
from tests.engine.rig import Quiet
from tests.twin_transport import TwinTransport

WORKERS = 4
PATIENCE_S = 90
"""A machine with other work takes its time; no test waits so long."""
SHORT = Timing(
    hold_seconds=5,
    min_left_seconds=2,
    call_bound_seconds=2,
    deadline_auto_seconds=1,
    deadline_collect_seconds=1,
    deadline_dunning_seconds=1,
    deadline_margin_seconds=0.5,
    check_cut_seconds=2,
    sweep_wait_seconds=1,
    recheck_seconds=1,
)
LOST = (psycopg.Error, Refusal)
"""What a worker meets while its database is away: it comes again."""


class Heard(TwinTransport):
    """The twin; `at` is called in the middle of the request that the test chose."""

    def __init__(self, twin: Twin) -> None:
        super().__init__(twin)
        self.confirms = 0
        self.at: tuple[int, Callable[[], None]] | None = None
        inner = twin.send

        def send(request: Request) -> Any:
            answer = inner(request)
            if request.path.endswith("/confirm"):
                self.confirms += 1
                if self.at is not None and self.confirms == self.at[0]:
                    self.at[1]()
            return answer

        self._twin: Any = _Sender(send)


@dataclass
class _Sender:
    send: Callable[[Request], Any]


@dataclass
class Fleet:
    """Workers on one database, and Stripe's side of what they do."""

    db: PoolDb
    twin: Twin
    clock: WallClock
    transport: Heard
    scope: Scope
    log: Quiet = field(default_factory=Quiet)

    def deps(self, number: int = 0) -> Deps:
        """What one worker works with."""
        return Deps(self.db, _Only(self), SHORT, self.log, f"worker:test:{number}")

    async def take_in(self, count: int, name: str, *, days: int = 1) -> None:
        """So many open invoices came in, each of a customer of its own, due for so many days."""
        due = datetime.now(UTC) - timedelta(days=days)
        rows = [
            NewInvoice(f"{name}{n}", f"C{name}{n}", None, "pm_card_visa", 14900, "eur", due)
            for n in range(count)
        ]
        await invoices.take_in(self.db, self.scope, rows, actor="test")
        await customers.begin_all(self.db, self.scope)

    async def work(self, *, until: Callable[[], bool]) -> None:
        """Several workers charge what is due until the test says that it is enough."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(self._worker(n, until) for n in range(WORKERS)))

    async def _worker(self, number: int, until: Callable[[], bool]) -> None:
        deps, stop = self.deps(number), Stop()
        while not until():
            try:
                await recover_all(deps, stop)
                await collect_batch(deps, self.scope, limit=10)
            except LOST:
                await asyncio.sleep(0.02)

    async def start_again(self) -> None:
        """A worker starts on whatever database is there now."""
        await doubt_all(self.deps())
        await recover_all(self.deps(), Stop())

    async def finish(self) -> None:
        """Charges, sweeps and ticks until nothing is open and no hold is left."""
        deadline = self.db.monotonic() + PATIENCE_S
        while self.db.monotonic() < deadline:
            await collect_batch(self.deps(), self.scope, limit=200)
            await tick(self.deps(), self.scope)
            if await self.left() == 0:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{await self.left()} are left: {self.log.lines[-9:]}")

    async def left(self) -> int:
        """Invoices that are open or held."""
        return await self.value(
            "SELECT count(*) FROM anchorhold.invoice "
            "WHERE status = 'open' OR hold_until IS NOT NULL"
        )

    async def value(self, statement: Any) -> Any:
        """The only value of a statement."""
        (value,) = await self.db.all(statement, object)
        return value

    def recovered(self) -> list[dict[str, object]]:
        """What each finished recovery counted."""
        return [facts for _, event, facts in self.log.lines if event == "recover.done"]

    async def audit(self) -> None:
        """From Stripe's side: nobody paid twice, every success is recorded, no hold is left."""
        payments = Ledger(self.twin).by_metadata()
        twice = {name for name, rows in payments.items() if sum(row.net > 0 for row in rows) > 1}
        succeeded = {
            intent["id"]
            for intent in self.twin.account(STRIPE_ACCOUNT).payment_intents
            if intent["status"] == "succeeded"
        }
        recorded = set(
            await self.db.all("SELECT stripe_intent_id FROM anchorhold.payment", str)
        ) | set(
            await self.db.all(
                "SELECT subject FROM anchorhold.notice WHERE code = 'payment.invoice_lost'", str
            )
        )
        wrong = {
            "paid twice": len(twice),
            "lost": len(succeeded - recorded),
            "invented": len(recorded - succeeded),
        }
        assert not any(wrong.values()), wrong
        assert await self.left() == 0


@dataclass
class _Only:
    fleet: Fleet

    async def of(self, scope: Scope) -> Connected | None:
        provider = StripeProvider(
            SECRET_KEY,
            self.fleet.transport,
            breaker=Breaker(),
            limiter=Limiter(per_endpoint=1e6, per_account=1e6),
        )
        return Connected(provider, STRIPE_ACCOUNT, "fingerprint", ChargeMode.PREPARED)


@asynccontextmanager
async def fleet(conninfo: str) -> AsyncGenerator[Fleet]:
    """Workers on an empty database, connected to a twin of their own."""
    clock = WallClock()
    twin = Twin(clock=clock)
    async with connect(conninfo, size=8, patience_s=10) as db:
        scope = Scope(AccountId(new_id(ACCOUNT)), livemode=False)
        await accounts.create(db, scope.account_id, "default")
        await accounts.connect(
            db, scope, NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint")
        )
        yield Fleet(db, twin, clock, Heard(twin), scope)


@asynccontextmanager
async def moved(before: Fleet, conninfo: str) -> AsyncGenerator[Fleet]:
    """The same workers and the same Stripe on another database."""
    async with connect(conninfo, size=8, patience_s=10) as db:
        yield Fleet(db, before.twin, before.clock, before.transport, before.scope)
