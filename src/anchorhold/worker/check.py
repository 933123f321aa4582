"""Checking the stale holds of an account and mode, and waking whoever goes on from there."""

from collections.abc import Mapping
from typing import Final

from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import SWEEP, Act
from anchorhold.engine.deps import Deps
from anchorhold.engine.sweep import Stopped, Swept, drain
from anchorhold.meter import UNMETERED, Meter
from anchorhold.worker.wake import Nobody, Wake

AGAIN_S: Final = {Stopped.SILENCE: 60, Stopped.BUDGET: 1}
"""How soon a run that stopped early is followed by the next."""

ACTS: Final = {row.id: row.act for row in SWEEP}
KEEPS: Final = frozenset({Act.KEEP, Act.ALARM, Act.CANCEL, Act.FENCE, Act.PRESUME})
FREES: Final = frozenset({Act.SUPERSEDE, Act.CLEAR, Act.FENCE, Act.PRESUME})
"""A fence and a presumption end either way: as the key or one more look decides."""


async def check(
    deps: Deps, scope: Scope, *, wake: Wake | None = None, meter: Meter = UNMETERED
) -> Swept:
    """Every stale hold was checked once, and what this freed or kept has its wake-up.

    What one check raised is raised after all that.
    """
    swept = await drain(deps, scope)
    meter.swept(swept)
    await wake_after(deps, scope, wake or Nobody(), swept)
    if swept.failed is not None:
        raise swept.failed
    return swept


async def wake_after(deps: Deps, scope: Scope, wake: Wake, swept: Swept) -> None:
    """What was freed is collected now, what was kept is checked again when its time has come."""
    if did(swept.rows, FREES):
        await wake.collect(scope)
    if swept.stopped:
        await wake.check_in(scope, AGAIN_S[swept.stopped])
    elif did(swept.rows, KEEPS):
        await wake.check_in(scope, deps.timing.recheck_seconds + 1)


def did(rows: Mapping[str, int], acts: frozenset[Act]) -> bool:
    """At least one check ended by a row that acts so."""
    return any(ACTS[row] in acts for row in rows)
