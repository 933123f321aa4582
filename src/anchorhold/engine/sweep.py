"""The sweep: every stale hold of an account and mode has its check, once a run (section 6)."""

from dataclasses import dataclass, field

from anchorhold.domain.scope import Scope
from anchorhold.engine.check import check
from anchorhold.engine.deps import Deps
from anchorhold.store import checks

PAGE = 50
NO_ANSWERS = 3
"""So many checks in a row without any answer end a run: Stripe cannot be reached."""


@dataclass(slots=True)
class Swept:
    """What one run did: checks, the rows that decided, and why it stopped early."""

    checks: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    stopped: str | None = None

    def count(self, rule: str) -> None:
        """One check was decided by this row."""
        self.checks += 1
        self.rows[rule] = self.rows.get(rule, 0) + 1


async def sweep(deps: Deps, scope: Scope, *, page: int = PAGE) -> Swept:
    """Every stale hold of the account and mode was checked once, or the run stopped early.

    Several workers may run this at once: each check is taken by one conditional write. They share
    the better the fewer checks each takes at once (`page`). What one check raises is raised again
    after the others.
    """
    swept, silent = Swept(), 0
    failed: Exception | None = None
    started = await checks.now(deps.db)
    connected = await deps.providers.of(scope)
    while rows := await checks.take(deps.db, scope, deps.timing, run_started=started, limit=page):
        for taken in rows:
            try:
                checked = await check(deps, connected, scope, taken.invoice_id)
            except Exception as error:  # the other holds have their check
                deps.log.error("check.failed", invoice=taken.invoice_id, exc_info=True)
                failed = failed or error
                continue
            silent = 0 if checked.answered else silent + 1
            if checked.rule is not None:
                swept.count(checked.rule)
            if silent >= NO_ANSWERS:
                swept.stopped = f"{NO_ANSWERS} checks in a row got no answer from Stripe"
                return _done(swept, failed)
    return _done(swept, failed)


def _done(swept: Swept, failed: Exception | None) -> Swept:
    if failed is not None:
        raise failed
    return swept
