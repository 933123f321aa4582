"""Looking whether every account and mode is whole, as a worker does it (protocol section 11).

Nothing depends on it for safety: claims compare the lineage by themselves.
"""

from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.recover import ensure
from anchorhold.store import accounts, recoveries
from anchorhold.worker.stop import Stop


async def doubt_all(deps: Deps) -> None:
    """A mode of which no commit was seen for some minutes is to be recovered."""
    for scope in await accounts.scopes(deps.db):
        if await recoveries.doubt(deps.db, scope):
            deps.log.info("recover.due", account=scope.account_id, reason="nobody worked lately")


async def recover_all(deps: Deps, stop: Stop) -> list[Scope]:
    """The modes that were made whole now; what fails is logged and stops no other."""
    whole: list[Scope] = []
    for scope in await accounts.scopes(deps.db):
        try:
            recovered = await stop.unless(ensure(deps, scope))
        except Exception:  # the other accounts are looked at all the same
            deps.log.error("recover.failed", account=scope.account_id, exc_info=True)
            continue
        if recovered is not None and recovered.stopped is None:
            whole.append(scope)
    return whole
