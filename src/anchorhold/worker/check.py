"""Checking the stale holds of an account and mode, several sweeps at once."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Final

from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import SWEEP, Act
from anchorhold.engine.deps import Deps
from anchorhold.engine.sweep import sweep
from anchorhold.worker.wake import Nobody, Wake

SWEEPS: Final = 8
"""So many checks run at once; 25 a second need 8 when Stripe takes a third of a second."""
PAGE: Final = 5
"""Each sweep takes few checks at once, so that all have some."""
SOON_S: Final = 60

ACTS: Final = {row.id: row.act for row in SWEEP}
KEEPS: Final = frozenset({Act.KEEP, Act.ALARM, Act.CANCEL})
FREES: Final = frozenset({Act.SUPERSEDE, Act.CLEAR})


@dataclass(frozen=True, slots=True)
class Checked:
    """What the sweeps did together: checks by deciding row, and why one stopped early."""

    rows: Counter[str]
    stopped: str | None

    def did(self, acts: frozenset[Act]) -> bool:
        """At least one check ended by a row that acts so."""
        return any(ACTS[row] in acts for row in self.rows)


async def check(
    deps: Deps, scope: Scope, *, wake: Wake | None = None, sweeps: int = SWEEPS
) -> Checked:
    """Every stale hold was checked once, and what this freed or kept has its wake-up.

    An exception of one sweep is raised after the others have ended.
    """
    wake = wake or Nobody()
    runs = await asyncio.gather(
        *(sweep(deps, scope, page=PAGE) for _ in range(sweeps)), return_exceptions=True
    )
    checked = Checked(Counter(), None)
    failed: BaseException | None = None
    for run in runs:
        if isinstance(run, BaseException):
            failed = run
            continue
        checked.rows.update(run.rows)
        checked = Checked(checked.rows, checked.stopped or run.stopped)
    await _wake(deps, scope, wake, checked)
    if failed is not None:
        raise failed
    return checked


async def _wake(deps: Deps, scope: Scope, wake: Wake, checked: Checked) -> None:
    if checked.did(FREES):
        await wake.collect(scope)
    if checked.stopped:
        await wake.check_in(scope, SOON_S)
    elif checked.did(KEEPS):
        await wake.check_in(scope, deps.timing.recheck_seconds + 1)
