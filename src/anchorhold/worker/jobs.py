"""The jobs: Procrastinate's tables and tasks around what a worker does.

Its tables lie in the schema `anchorhold` (migration 0002), its jobs are deleted when they end.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued, UniqueViolation
from procrastinate.jobs import Job, Status

from anchorhold.domain.ids import AccountId
from anchorhold.domain.scope import Scope
from anchorhold.engine import news
from anchorhold.engine.deliver import Postman
from anchorhold.engine.deps import Deps
from anchorhold.engine.prune import prune
from anchorhold.engine.tick import tick
from anchorhold.meter import UNMETERED, Meter
from anchorhold.store import accounts
from anchorhold.stripe.breaker import Breaker
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.charges import Charges
from anchorhold.worker.check import check
from anchorhold.worker.recover import doubt_all, recover_all
from anchorhold.worker.stop import Stop
from anchorhold.worker.telling import tell

QUEUE: Final = "anchorhold"
HEARTBEAT_S: Final = 5
STALLED_S: Final = 20
"""A worker that was silent for so long is taken for dead; its jobs are run again."""
TAKE_OVER_CRON: Final = "* * * * * */15"
RECOVER_CRON: Final = "* * * * * */15"
TELL_CRON: Final = "* * * * * */2"
"""Others hear of what happened within so many seconds."""
SCOPES_AT_ONCE: Final = 4
FIRST: Final = 10
"""Checks and ticks go before batches: they free what batches wait for."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What the jobs of one process work with; `batch` is how many charges one job starts."""

    deps: Deps
    running: Charges
    breaker: Breaker
    stop: Stop
    batch: int
    postman: Postman
    meter: Meter = UNMETERED
    kept_days: int = 30


def connect_jobs(conninfo: str) -> procrastinate.App:
    """Procrastinate on this database, not opened yet."""
    connector = procrastinate.PsycopgConnector(
        conninfo=conninfo,
        kwargs={"options": "-c search_path=anchorhold -c timezone=UTC"},
        min_size=1,
        max_size=4,
    )
    return procrastinate.App(connector=connector)


class JobWake:
    """`Wake` by jobs. What this process asked for a moment ago it does not ask for again."""

    def __init__(self, jobs: procrastinate.App, deps: Deps) -> None:
        self._jobs = jobs
        self._clock = deps.db.monotonic
        self._bucket_s = max(1.0, deps.timing.hold_seconds / 60)
        self._asked: dict[tuple[str, Scope], float] = {}

    async def collect(self, scope: Scope, *, in_s: float = 0) -> None:
        """See `Wake.collect`: at once, one job waits at a time however many ask."""
        if in_s:
            await self._later("collect", scope, in_s)
        else:
            await self.defer("collect", scope, lock="now")

    async def check(self, scope: Scope, *, at: datetime) -> None:
        """See `Wake.check`: one job for all holds that end within a bucket of time."""
        bucket = ceil(at.timestamp() / self._bucket_s)
        if self._asked.get(("check at", scope)) == bucket:
            return
        self._asked["check at", scope] = bucket
        at = datetime.fromtimestamp(bucket * self._bucket_s, UTC)
        await self.defer("check", scope, lock=str(bucket), at=at)

    async def news(self, scope: Scope) -> None:
        """The events that wait for their effect have it; asking twice is asking once."""
        await self.defer("news", scope, lock="now")

    async def check_in(self, scope: Scope, seconds: float) -> None:
        """See `Wake.check_in`."""
        await self._later("check", scope, seconds)

    async def _later(self, name: str, scope: Scope, seconds: float) -> None:
        """One job for all that ask within a bucket of time; it comes after the last of them."""
        now, asking = self._clock(), (f"{name} in {seconds:g}", scope)
        if now < self._asked.get(asking, float("-inf")) + self._bucket_s:
            return
        self._asked[asking] = now
        await self.defer(name, scope, in_s=seconds + self._bucket_s)

    async def defer(
        self,
        name: str,
        scope: Scope,
        *,
        lock: str | None = None,
        at: datetime | None = None,
        in_s: float = 0,
    ) -> None:
        """A job of this name waits for the scope; with `lock` at most one that was not begun."""
        whole_lock = f"{name} {scope.account_id} {scope.mode} {lock}" if lock else None
        # A conflict is harmless, but PostgreSQL logs each one as an error: so look first.
        if whole_lock and await self._waits(whole_lock):
            return
        task = self._jobs.configure_task(
            name,
            queueing_lock=whole_lock,
            schedule_at=at,
            schedule_in={"milliseconds": ceil(in_s * 1000)} if in_s else None,
        )
        with suppress(AlreadyEnqueued):
            await task.defer_async(account_id=scope.account_id, livemode=scope.livemode)

    async def _waits(self, lock: str) -> bool:
        """A job with this lock waits to be begun."""
        jobs = await self._jobs.job_manager.list_jobs_async(queueing_lock=lock, status="todo")
        return any(jobs)


class Tasks:
    """What each kind of job does in this process."""

    def __init__(self, jobs: procrastinate.App, shift: Shift) -> None:
        self._jobs = jobs
        self._shift = shift
        self.wake = JobWake(jobs, shift.deps)

    def register(self, tick_cron: str) -> None:
        """The tasks are known to Procrastinate, and the periodic ones come due."""
        task, periodic = self._jobs.task, self._jobs.periodic
        task(name="collect", queue=QUEUE)(self.collect)
        task(name="check", queue=QUEUE, priority=FIRST)(self.check)
        ticking = task(name="tick", queue=QUEUE, priority=FIRST, queueing_lock="tick")
        periodic(cron=tick_cron, periodic_id="tick")(ticking(self.tick))
        taking_over = task(name="take_over", queue=QUEUE, queueing_lock="take_over")
        periodic(cron=TAKE_OVER_CRON, periodic_id="take_over")(taking_over(self.take_over))
        recovering = task(name="recover", queue=QUEUE, priority=FIRST, queueing_lock="recover")
        periodic(cron=RECOVER_CRON, periodic_id="recover")(recovering(self.recover))
        task(name="news", queue=QUEUE, priority=FIRST)(self.news)
        telling = task(name="tell", queue=QUEUE, queueing_lock="tell")
        periodic(cron=TELL_CRON, periodic_id="tell")(telling(self.tell))

    async def begin(self) -> None:
        """A tick waits: whoever starts looks at once what was left behind.

        After a long silence the database may be an older copy: nothing is claimed before it was
        recovered (section 11).
        """
        await doubt_all(self._shift.deps)
        for name in ("recover", "tick"):
            with suppress(AlreadyEnqueued):
                await self._jobs.configure_task(name).defer_async(timestamp=0)

    async def collect(self, *, account_id: str, livemode: bool) -> None:
        """One batch of the account and mode."""
        shift = self._shift
        scope = Scope(AccountId(account_id), livemode)
        batch = await collect_batch(
            shift.deps,
            scope,
            limit=shift.batch,
            wake=self.wake,
            charges=shift.running,
            breaker=shift.breaker,
            stop=shift.stop,
        )
        if batch.moved:
            shift.deps.log.info(
                "collect.done", account=account_id, livemode=livemode, **batch.facts()
            )

    async def check(self, *, account_id: str, livemode: bool) -> None:
        """The stale holds of the account and mode."""
        shift, scope = self._shift, Scope(AccountId(account_id), livemode)
        await shift.stop.unless(check(shift.deps, scope, wake=self.wake, meter=shift.meter))

    async def tick(self, timestamp: int) -> None:
        """Every account and mode: a batch is asked for, then holds and followed intents."""
        clock = self._shift.deps.db.monotonic
        began = clock()
        scopes = await accounts.scopes(self._shift.deps.db)
        if not scopes:
            nobody = "no account is connected to Stripe; run `anchorhold account connect`"
            self._shift.deps.log.error("worker.no_account", next_step=nobody)
        for scope in scopes:
            await self.wake.collect(scope)
        gate = asyncio.Semaphore(SCOPES_AT_ONCE)
        await asyncio.gather(*(self._tick(scope, gate) for scope in scopes))
        await self._shift.stop.unless(prune(self._shift.deps, keep_days=self._shift.kept_days))
        if not self._shift.stop.asked:
            self._shift.meter.ticked(clock() - began)

    async def _tick(self, scope: Scope, gate: asyncio.Semaphore) -> None:
        """One account and mode; whatever fails there is logged and stops no other."""
        deps, stop = self._shift.deps, self._shift.stop
        async with gate:
            checking = check(deps, scope, wake=self.wake, meter=self._shift.meter)
            for work in (checking, self._look_through(scope)):
                try:
                    await stop.unless(work)
                except Exception:  # the other accounts have their tick
                    deps.log.error("tick.failed", account=scope.account_id, exc_info=True)

    async def _look_through(self, scope: Scope) -> None:
        ticked = await tick(self._shift.deps, scope)
        self._shift.meter.swept(ticked.swept)
        if ticked.renewed.billed:  # The batch that the tick asked for may be over by now.
            await self.wake.collect(scope)

    async def news(self, *, account_id: str, livemode: bool) -> None:
        """The events of the account and mode that wait for their effect."""
        deps, scope = self._shift.deps, Scope(AccountId(account_id), livemode)
        connected = await deps.providers.of(scope)
        if connected is not None:
            await self._shift.stop.unless(news.act_waiting(deps, connected, scope))

    async def tell(self, timestamp: int) -> None:
        """Every account and mode: endpoints hear of what happened."""
        shift = self._shift
        for scope in await accounts.scopes(shift.deps.db):
            await tell(shift.deps, shift.postman, scope, shift.stop)

    async def recover(self, timestamp: int) -> None:
        """Every account and mode is whole, or is recovered; then its batches go on."""
        for scope in await recover_all(self._shift.deps, self._shift.stop):
            await self.wake.collect(scope)

    async def take_over(self, timestamp: int) -> None:
        """The jobs of workers that died are run again by somebody."""
        manager = self._jobs.job_manager
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_S):
            try:
                await manager.retry_job(job)
            except UniqueViolation:
                await self._drop(job)

    async def _drop(self, job: Job) -> None:
        """Another job for the same work waits already."""
        await self._jobs.job_manager.finish_job(job, Status.FAILED, delete_job=True)
