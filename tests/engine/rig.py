"""A real database, the twin in memory behind the real provider, and gates to break things at.

Every statement and every call to Stripe passes a `Gate`; a test counts the passages, and makes one
of them crash before it, after it, or lose its answer.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, LiteralString, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from typing_extensions import override

from anchorhold.domain.account import AfterPresumedNone, ChargeMode, Modes, SweepMode
from anchorhold.domain.answer import Deadline
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import ACCOUNT, AccountId, IdKind, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.accounts import is_accepted
from anchorhold.engine.charge import Charged, charge
from anchorhold.engine.claim import claim_due
from anchorhold.engine.collect import collect
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.engine.tick import Ticked, tick
from anchorhold.entropy import new_id
from anchorhold.store import accounts, customers, intents, invoices
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import Db, PoolDb, connect
from anchorhold.store.invoices import NewInvoice
from anchorhold.stripe.api import API_BASE, StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Answer, Transport
from anchorhold.twin import Broken, Request, Response
from anchorhold.twin.clock import WallClock
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.settings import Settings
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT
from anchorhold.twin.world import SECRET_KEY, Twin
from tests.twin_transport import TwinTransport

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)


class CrashError(BaseException):
    """The process died here."""


class When(StrEnum):
    """Where around one passage the process dies."""

    BEFORE = "dies before"
    AFTER = "dies after"
    LOST = "loses the answer of"


@dataclass
class Gate:
    """Counts passages by name and dies at the one that a test chose."""

    passed: list[str] = field(default_factory=list)
    dies_at: tuple[str, int, When] | None = None

    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """`act` runs, unless the process dies first; or it runs and the process dies then."""
        self.passed.append(name)
        point = (name, self.passed.count(name))
        dies = self.dies_at is not None and self.dies_at[:2] == point
        if dies and self.dies_at and self.dies_at[2] is When.BEFORE:
            raise CrashError
        result = await act()
        if dies:
            if self.dies_at and self.dies_at[2] is When.LOST:
                raise (
                    psycopg.OperationalError("the connection was lost")
                    if name.startswith("db ")
                    else CrashError
                )
            raise CrashError
        return result

    def points(self) -> list[tuple[str, int]]:
        """Every passage so far: its name and the how-manieth of that name it was."""
        return [(name, self.passed[: n + 1].count(name)) for n, name in enumerate(self.passed)]


def _caller() -> str:
    """The store function whose statement this is: `holds.claim_due`."""
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("anchorhold.store.") and module != "anchorhold.store.db":
            return f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "test"


@dataclass
class GatedDb:
    """`Db` whose statements pass the gate, named after the store function."""

    inner: PoolDb
    gate: Gate

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        return await self.gate.through(
            f"db {_caller()}", lambda: self.inner.one(query, shape, **params)
        )

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        return await self.gate.through(
            f"db {_caller()}", lambda: self.inner.all(query, shape, **params)
        )

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        return self.inner.new_ids(kind, count)

    def monotonic(self) -> float:
        return self.inner.monotonic()


class GatedProvider:
    """The provider whose calls pass the gate, named after the verb."""

    def __init__(self, inner: StripeProvider, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def deadline(self, seconds: float) -> Deadline:
        return self._inner.deadline(seconds)

    def __getattr__(self, verb: str) -> Any:
        call = getattr(self._inner, verb)

        def passing(*args: Any) -> Awaitable[Any]:
            return self._gate.through(f"stripe {verb}", lambda: call(*args))

        return passing


SET_SHIFT = "SELECT set_config('anchorhold.clock_shift', %s, false)"


class ShiftedDb(PoolDb):
    """`PoolDb` whose clock is `shift` ahead of the server's, on every connection."""

    def __init__(self, db: PoolDb) -> None:
        super().__init__(db._pool)
        self.shift = timedelta()
        self._shifted: WeakKeyDictionary[AsyncConnection[Any], timedelta] = WeakKeyDictionary()

    @override
    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[AsyncConnection[tuple[Any, ...]]]:
        async with super()._connection() as conn:
            if self._shifted.get(conn) != self.shift:
                await conn.execute(SET_SHIFT, [str(self.shift)])
                self._shifted[conn] = self.shift
            yield conn


class RigTransport(TwinTransport):
    """The twin in memory, or who stands before it; notes a request sent within a transaction."""

    def __init__(self, twin: Twin, watcher: psycopg.Connection[tuple[Any, ...]]) -> None:
        super().__init__(twin)
        self.sent_in_transaction: list[str] = []
        self.listeners: list[Callable[[Request], object]] = []
        self._watcher = watcher
        self.send_to(twin)

    def send_to(self, twin: Any) -> None:
        """Requests go there from now on."""
        self._twin: Any = _Heard(twin, self.listeners)

    @override
    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> Answer:
        """See `TwinTransport.request_async`."""
        if self._watcher.execute(IDLE_IN_TRANSACTION).fetchall():
            self.sent_in_transaction.append(f"{method} {url}")
        return await super().request_async(method, url, headers, post_data)


@dataclass
class _Heard:
    """A twin whose requests are heard by others too."""

    inner: Any
    listeners: list[Callable[[Request], object]]

    def send(self, request: Request) -> Response | Broken:
        """See `Twin.send`."""
        for listener in self.listeners:
            listener(request)
        answer: Response | Broken = self.inner.send(request)
        return answer


IDLE_IN_TRANSACTION = """
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND state LIKE 'idle in transaction%'
"""


class Quiet:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, object]]] = []

    def info(self, event: str, **facts: object) -> None:
        self.lines.append(("info", event, facts))

    def error(self, event: str, **facts: object) -> None:
        self.lines.append(("error", event, facts))


@dataclass
class Rig:
    """One account in test mode with everything around it."""

    conninfo: str
    by_hand: psycopg.Connection[tuple[Any, ...]]
    pool: ShiftedDb
    twin: Twin
    clock: WallClock
    transport: RigTransport
    scope: Scope
    timing: Timing = field(default_factory=Timing)
    log: Quiet = field(default_factory=Quiet)
    stripe_account: str = STRIPE_ACCOUNT
    secret_key: str = SECRET_KEY
    base: str = API_BASE
    over_http: Transport | None = None
    connected: bool = True
    charge_mode: ChargeMode = ChargeMode.PREPARED

    def deps(self, gate: Gate | None = None) -> Deps:
        """A process of its own: what it does passes `gate`."""
        gate = gate or Gate()
        db: Db = GatedDb(self.pool, gate)
        return Deps(db, _Only(self, gate), self.timing, self.log, "worker:test")

    async def charges(
        self,
        mode: ChargeMode,
        sweep: SweepMode = SweepMode.FENCE,
        after: AfterPresumedNone = AfterPresumedNone.RECHARGE,
    ) -> None:
        """The account chose so."""
        modes = Modes(mode, sweep, after)
        assert await accounts.set_modes(self.pool, self.scope.account_id, modes)
        self.charge_mode = mode

    def provider(self) -> StripeProvider:
        """The real client, on the twin in memory."""
        return StripeProvider(
            self.secret_key,
            self.over_http or self.transport,
            breaker=Breaker(),
            limiter=Limiter(per_endpoint=1e6, per_account=1e6),
            base=self.base,
        )

    def sql(self, statement: str, *values: object) -> list[Any]:
        """Rows of any statement; a rig may look at and change everything."""
        self.by_hand.execute(SET_SHIFT, [str(self.pool.shift)])
        cursor = self.by_hand.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []

    async def invoice(
        self,
        amount: int = 14900,
        currency: str = "eur",
        method: str | None = "pm_card_visa",
        reference: str | None = None,
        customer: str | None = None,
    ) -> InvoiceId:
        """An open invoice of a customer that has this payment method."""
        reference = reference or f"R{len(self.sql('SELECT 1 FROM anchorhold.invoice')) + 1}"
        new = NewInvoice(
            reference,
            customer or f"customer of {reference}",
            "customer@example.com",
            method,
            amount,
            currency,
            datetime.now(UTC) - timedelta(days=1),
        )
        (taken,) = await invoices.take_in(self.pool, self.scope, [new], actor="test")
        await customers.begin(
            self.pool,
            self.scope,
            taken.customer_id,
            params={"email": "customer@example.com"},
            stripe_customer_id=None,
            payment_method=method,
        )
        return taken.id

    async def prepare(self, deps: Deps | None = None) -> None:
        """Every customer is set up and every open invoice has its intent, as far as they can."""
        deps = deps or self.deps()
        connected = await deps.providers.of(self.scope)
        assert connected is not None
        for customer in await customers.take_unready(deps.db, self.scope, limit=100):
            await set_up_customer(deps, connected, self.scope, customer)
        for unprepared in await intents.take_unprepared(deps.db, self.scope, limit=100):
            await prepare_intent(deps, connected, unprepared)

    async def charge_due(self, deps: Deps | None = None) -> list[Charged]:
        """Everything due was prepared, claimed and charged, one after the other."""
        deps = deps or self.deps()
        await self.prepare(deps)
        return await self.charge_all(await self.claim_due(deps), deps)

    async def claim_due(self, deps: Deps | None = None) -> list[Claim]:
        """Everything that is due is held for a charge."""
        direct = self.charge_mode is ChargeMode.DIRECT
        return await claim_due(deps or self.deps(), self.scope, limit=100, directly=direct)

    async def charge_all(self, claims: list[Claim], deps: Deps | None = None) -> list[Charged]:
        """Each claim was charged, one after the other."""
        return [await charge(deps or self.deps(), claim) for claim in claims]

    async def collect(self, invoice: InvoiceId, deps: Deps | None = None) -> Charged:
        """An operator collects the invoice."""
        return await collect(deps or self.deps(), self.scope, invoice)

    async def tick(self, deps: Deps | None = None) -> Ticked:
        """A worker looks through everything."""
        return await tick(deps or self.deps(), self.scope)

    def later(self, **delta: float) -> None:
        """It is so much later, for every session of the database and at Stripe."""
        self.pool.shift += timedelta(**delta)
        self.clock.advance(timedelta(**delta).total_seconds())
        self.twin.run_due()

    async def recover(self, rounds: int = 4) -> None:
        """A missing right is given, and workers come until nothing is left to do."""
        await is_accepted(self.deps(), self.scope, by_hand=True)
        for _ in range(rounds):
            self.later(minutes=31)
            await tick(self.deps(), self.scope)
            await self.charge_due()

    def paid_at_stripe(self) -> dict[str, int]:
        """Successes net of refunds at Stripe, by invoice."""
        payments = Ledger(self.twin).by_metadata("anchorhold_invoice_id")
        return {
            invoice: sum(1 for payment in rows if payment.net > 0)
            for invoice, rows in payments.items()
        }

    def row(self, invoice_id: InvoiceId) -> dict[str, Any]:
        """The invoice as it stands."""
        (row,) = self.sql("SELECT to_jsonb(i) FROM anchorhold.invoice i WHERE id = %s", invoice_id)
        return dict(row[0])

    def attempts(self, invoice_id: InvoiceId) -> list[tuple[str, str | None]]:
        """State and cause of each attempt, oldest first."""
        rows = self.sql(
            "SELECT state, cause FROM anchorhold.attempt WHERE invoice_id = %s ORDER BY id",
            invoice_id,
        )
        return [(state, cause) for state, cause in rows]


@dataclass
class _Only:
    rig: Rig
    gate: Gate

    async def of(self, scope: Scope) -> Connected | None:
        """The rig's only account."""
        if not self.rig.connected:
            return None
        provider: Any = GatedProvider(self.rig.provider(), self.gate)
        return Connected(provider, self.rig.stripe_account, "fingerprint", self.rig.charge_mode)


@asynccontextmanager
async def rig(conninfo: str, seed: int = 0) -> AsyncGenerator[Rig]:
    """An account that is connected to a twin of its own."""
    twin, clock = make_twin(seed)
    with psycopg.connect(conninfo, autocommit=True) as by_hand:
        async with connect(conninfo, size=4) as pool:
            account_id = new_id(ACCOUNT)
            await accounts.create(pool, account_id, "default")
            scope = Scope(AccountId(account_id), livemode=False)
            new = NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint")
            await accounts.connect(pool, scope, new)
            transport = RigTransport(twin, by_hand)
            yield Rig(conninfo, by_hand, ShiftedDb(pool), twin, clock, transport, scope)


def make_twin(seed: int) -> tuple[Twin, WallClock]:
    """A twin with the wall clock, which can be moved ahead; debits take days."""
    clock = WallClock()
    return Twin(seed=seed, clock=clock, settings=Settings(debit_s=DEBIT_S)), clock


DEBIT_S = 4 * 86_400
