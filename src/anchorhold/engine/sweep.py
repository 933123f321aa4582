"""The sweep: every stale hold of an account and mode has its check, once a run (section 6).

Checks run beside each other as far as `Deps.together` lets them. Each is taken by one conditional
write of its own, so that any number of workers may sweep at once.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.engine.check import check
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import checks

PAGE = 50
"""So many checks are taken at once by whoever makes them one after the other."""
NO_ANSWERS = 3
"""So many checks in a row without any answer end a run: Stripe cannot be reached."""


class Stopped(StrEnum):
    """Why a run ended before every hold had its check."""

    SILENCE = f"{NO_ANSWERS} checks in a row got no answer from Stripe"
    BUDGET = "the time of the run was up"


@dataclass(slots=True)
class Swept:
    """What one run did: checks, the rows that decided, why it stopped early, what a check raised.

    `failed` is the first exception; the other holds had their check all the same.
    """

    checks: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    stopped: Stopped | None = None
    failed: Exception | None = None

    def count(self, rule: str) -> None:
        """One check was decided by this row."""
        self.checks += 1
        self.rows[rule] = self.rows.get(rule, 0) + 1


@dataclass(slots=True)
class _Run:
    """One run, shared by all who check in it. `silent`: so many of the last got no answer."""

    deps: Deps
    scope: Scope
    started: datetime
    connected: Connected | None
    swept: Swept = field(default_factory=Swept)
    silent: int = 0
    reached: bool = False
    empty: bool = False

    @property
    def over(self) -> bool:
        """No check is begun any more."""
        return self.empty or self.swept.stopped is not None


async def sweep(deps: Deps, scope: Scope, *, page: int = PAGE) -> Swept:
    """`drain`, and what a check raised is raised after the others."""
    swept = await drain(deps, scope, page=page)
    if swept.failed is not None:
        raise swept.failed
    return swept


async def drain(deps: Deps, scope: Scope, *, page: int = PAGE) -> Swept:
    """Every stale hold of the account and mode was checked once, or the run stopped early.

    It stops when its budget is spent, and when the last three checks that ended all ended without
    any answer; those that run at that moment are ended, and no other is begun. Until one check was
    answered they are made one after the other, so that a dead Stripe costs three of them. Of
    several that check at once each takes one at a time, so that no check waits while its lease
    runs out; alone, `page`.
    """
    started = await checks.now(deps.db)
    run = _Run(deps, scope, started, await deps.providers.of(scope))
    many = deps.together.width > 1
    while many and not (run.reached or run.over):
        await _take_and_check(run, 1)
    if not run.over:
        await deps.together.run(partial(_check_all, run, 1 if many else page))
    return run.swept


async def _check_all(run: _Run, limit: int) -> None:
    while not run.over:
        await _take_and_check(run, limit)


async def _take_and_check(run: _Run, limit: int) -> None:
    """Up to `limit` were taken and checked; none left: the run is over for everybody in it."""
    taken = await checks.take(
        run.deps.db, run.scope, run.deps.timing, run_started=run.started, limit=limit
    )
    if not taken:
        await _ends(run)
    for row in taken:
        if run.swept.stopped is None:
            await _check(run, row.invoice_id)


async def _ends(run: _Run) -> None:
    """No hold is left to take in this run, or its budget does not let it take any more."""
    if run.over:
        return
    run.empty = True
    spent = timedelta(seconds=run.deps.timing.sweep_budget_seconds)
    if await checks.now(run.deps.db) >= run.started + spent:
        run.swept.stopped = run.swept.stopped or Stopped.BUDGET


async def _check(run: _Run, invoice_id: InvoiceId) -> None:
    try:
        checked = await check(run.deps, run.connected, run.scope, invoice_id)
    except Exception as error:  # the other holds have their check
        run.deps.log.error("check.failed", invoice=invoice_id, exc_info=True)
        run.swept.failed = run.swept.failed or error
        return
    if checked.rule is None:  # the hold was gone, which says nothing about Stripe
        return
    run.swept.count(checked.rule)
    run.silent = 0 if checked.answered else run.silent + 1
    run.reached = run.reached or checked.answered
    if run.silent >= NO_ANSWERS:
        run.swept.stopped = Stopped.SILENCE
