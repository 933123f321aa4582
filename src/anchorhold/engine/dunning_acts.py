"""What a person does to a dunning run: pause it, and go on with it."""

from collections.abc import Awaitable

from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.ids import DunningRunId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.store import dunning, views_dunning
from anchorhold.store.views_dunning import RunView


async def pause(deps: Deps, scope: Scope, name: str, *, reason: str) -> RunView:
    """No step of the run is begun until it is resumed; one that is under way comes to its end.

    Raises Refusal: dunning_not_found, dunning_ended, dunning_paused.
    """
    run = await the_run(deps, scope, name)
    return await _done(
        deps, scope, run.id, dunning.pause(deps.db, scope, run.id, reason=reason, actor=deps.actor)
    )


async def resume(deps: Deps, scope: Scope, name: str, *, reason: str) -> RunView:
    """The run goes on: what is overdue comes with the next tick.

    Raises Refusal: dunning_not_found, dunning_ended, dunning_not_paused.
    """
    run = await the_run(deps, scope, name)
    return await _done(
        deps, scope, run.id, dunning.resume(deps.db, scope, run.id, reason=reason, actor=deps.actor)
    )


async def the_run(deps: Deps, scope: Scope, name: str) -> RunView:
    """The run of this id, or of the invoice with this id or reference.

    Raises Refusal: dunning_not_found.
    """
    found = await views_dunning.one(deps.db, scope, name)
    if found is None:
        raise Refusal(DunningCode.DUNNING_NOT_FOUND, id=name)
    return found


async def _done(
    deps: Deps, scope: Scope, run_id: DunningRunId, acting: Awaitable[str | None]
) -> RunView:
    acted = await acting
    now = await the_run(deps, scope, run_id)
    if acted is None:
        raise _why_not(now)
    return now


def _why_not(run: RunView) -> Refusal:
    name = run.invoice_reference
    if run.outcome is not None:
        outcome = run.outcome.replace("_", " ")
        return Refusal(DunningCode.DUNNING_ENDED, invoice=name, outcome=outcome)
    if run.paused_reason is not None:
        return Refusal(DunningCode.DUNNING_PAUSED, invoice=name, reason=run.paused_reason)
    return Refusal(DunningCode.DUNNING_NOT_PAUSED, invoice=name)
