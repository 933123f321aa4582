"""The charge path of one process: claim, re-check, save; and the bare Stripe call beside it."""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, TypeVar

from anchorhold.bench.floor import charges_per_second
from anchorhold.bench.ground import SCOPE, Ground
from anchorhold.domain.answer import IntentView
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import IdKind, key_of
from anchorhold.domain.intent import confirm_params
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.charge import charge
from anchorhold.engine.deps import Connected, Deps, Log
from anchorhold.store import holds, payments
from anchorhold.store.db import Db, PoolDb
from anchorhold.stripe.port import Provider
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)

TASKS = 32
CONNECTIONS = 8
"""What a worker process uses; as many as pgbench has clients."""
BATCH = 20
TIMING = Timing()


@dataclass(frozen=True, slots=True)
class Rate:
    """Charges a second, and this process's CPU milliseconds for each."""

    per_second: float
    cpu_ms: float


@dataclass(slots=True)
class Recorder:
    """A `Db` that notes every statement it passes on."""

    inner: Db
    statements: list[str] = field(default_factory=list)

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """Noted and passed on."""
        self.statements.append(query)
        return await self.inner.one(query, shape, **params)

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """Noted and passed on."""
        self.statements.append(query)
        return await self.inner.all(query, shape, **params)

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """Passed on."""
        return self.inner.new_ids(kind, count)

    def monotonic(self) -> float:
        """Passed on."""
        return self.inner.monotonic()


async def statements_of_a_charge(ground: Ground, db: PoolDb) -> list[str]:
    """The three statements that the product sends for a charge."""
    ground.fill(10)
    recorder = Recorder(db)
    await one_charge(recorder)
    return recorder.statements


async def one_charge(db: Db) -> bool:
    """The database part of one charge, claimed alone; False when nothing was due."""
    claims = await holds.claim_due(db, SCOPE, TIMING, limit=1, actor="bench")
    for claim in claims:
        await _recheck_and_save(db, claim)
    return bool(claims)


async def _recheck_and_save(db: Db, claim: Claim) -> None:
    sending = await holds.recheck(
        db,
        claim,
        TIMING,
        key=key_of("charge", SCOPE.account_id, claim.token.invoice_id, claim.token.seq),
        params=confirm_params(claim),
        deadline_s=30,
    )
    if sending is None:
        raise RuntimeError("the re-check refused a claim that nobody else can have touched")
    await payments.settle(
        db,
        SCOPE,
        claim.token.invoice_id,
        Success(
            claim.intent_id or "", claim.amount, 0, claim.currency, "ch_1", claim.token.attempt_id
        ),
        Source.ANSWER,
        actor="bench",
        rule="A1",
        clears=claim.token,
    )


async def _batch_of_charges(db: Db) -> int:
    claims = await holds.claim_due(db, SCOPE, TIMING, limit=BATCH, actor="bench")
    for claim in claims:
        await _recheck_and_save(db, claim)
    return len(claims)


async def rate(act: Callable[[], Awaitable[int]], seconds: float, tasks: int = TASKS) -> Rate:
    """`act` over and over in so many tasks at once; it returns how many charges it made."""
    ends = time.monotonic() + seconds
    cpu, began, done = _cpu_s(), time.monotonic(), 0

    async def work() -> None:
        nonlocal done
        while time.monotonic() < ends:
            made = await act()
            if not made:
                raise RuntimeError("nothing was left to charge: fill the ground with more invoices")
            done += made

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(work())
    took = time.monotonic() - began
    return Rate(done / took, (_cpu_s() - cpu) * 1000 / done)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True)
class DatabasePart:
    """Rates of one round; charges a second."""

    floor: float
    alone: Rate
    batched: Rate

    @property
    def ratio(self) -> float:
        """The product claiming one at a time, like the floor, over the floor."""
        return self.alone.per_second / self.floor

    @property
    def batched_ratio(self) -> float:
        """The product claiming as its workers do, over the floor."""
        return self.batched.per_second / self.floor


async def database_part(
    ground: Ground, db: PoolDb, statements: Sequence[str], seconds: int
) -> DatabasePart:
    """One round: pgbench, then the product, on freshly filled ground each."""
    room = 9000 * (seconds + 1)

    async def alone() -> int:
        return int(await one_charge(db))

    ground.fill(room)
    floor = await charges_per_second(ground, statements, CONNECTIONS, seconds)
    ground.fill(room)
    single = await rate(alone, seconds)
    ground.fill(room)
    batched = await rate(lambda: _batch_of_charges(db), seconds)
    return DatabasePart(floor, single, batched)


class Silent:
    """The log of a measurement."""

    def info(self, event: str, **facts: object) -> None:
        """Nothing is said while it is measured."""

    def error(self, event: str, **facts: object) -> None:
        """A charge that goes wrong would spoil the measurement."""
        raise RuntimeError(f"{event} {facts}")


@dataclass(frozen=True, slots=True)
class One:
    """`Providers` of the only account."""

    connected: Connected

    async def of(self, scope: Scope) -> Connected | None:
        """The only account."""
        return self.connected


async def whole_path(db: PoolDb, provider: Provider, seconds: float) -> Rate:
    """The engine's own charge, claims in batches as workers make them, against this provider."""
    log: Log = Silent()
    connected = Connected(provider, STRIPE_ACCOUNT, "fingerprint")
    deps = Deps(db, One(connected), TIMING, log, "bench")

    async def batch() -> int:
        claims = await holds.claim_due(db, SCOPE, TIMING, limit=BATCH, actor="bench")
        for claim in claims:
            charged = await charge(deps, claim)
            if charged.saved != "paid":
                raise RuntimeError(f"a charge ended as {charged}")
        return len(claims)

    return await rate(batch, seconds)


async def bare_calls(provider: Provider, intents: Sequence[IntentView], tasks: int = TASKS) -> Rate:
    """The Stripe call alone: each of these intents is confirmed once."""
    left = list(intents)
    cpu, began = _cpu_s(), time.monotonic()

    async def work() -> None:
        while left:
            intent = left.pop()
            key = key_of("bare", intent.id)
            params = {
                "payment_method": intent.payment_method or "pm_card_visa",
                "off_session": True,
            }
            await provider.confirm_intent(intent.id, params, key, provider.deadline(30))

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(work())
    count = len(intents)
    return Rate(count / (time.monotonic() - began), (_cpu_s() - cpu) * 1000 / count)
