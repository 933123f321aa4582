"""One tick of an account and mode: flagged key, sweep, follow, watch, news, dunning (6, 9, 10).

What is due is charged by the worker's own batches, so that all workers share it.
"""

from dataclasses import dataclass, field

from anchorhold.domain.scope import Scope
from anchorhold.engine import accounts
from anchorhold.engine.audit import Audited, audit
from anchorhold.engine.deps import Deps
from anchorhold.engine.dunning import Dunned, dun
from anchorhold.engine.follow import follow
from anchorhold.engine.recover import Recovered, ensure
from anchorhold.engine.renew import Renewed, renew
from anchorhold.engine.sweep import Swept, sweep
from anchorhold.engine.watch import watch
from anchorhold.store import blocked

PAGE = 50


@dataclass(frozen=True, slots=True)
class Ticked:
    """What one tick did."""

    swept: Swept
    followed: dict[str, int] = field(default_factory=dict)
    account_refused: bool = False
    watched: dict[str, int] = field(default_factory=dict)
    audited: Audited = field(default_factory=Audited)
    recovered: Recovered | None = None
    """What was read first, because the database may have lost its tail."""
    dunned: Dunned = field(default_factory=Dunned)
    renewed: Renewed = field(default_factory=Renewed)


async def tick(deps: Deps, scope: Scope) -> Ticked:
    """Stale holds checked, followed and watched intents looked at, news read, a flagged key tried.

    A database that may have lost its tail is recovered before anything else.
    Invoices whose customer was refused while they came in are blocked.
    News comes behind the looks: what they settled has no effect any more, so each event costs a row
    at most. Dunning comes last: what is found out before it is not charged again.
    """
    recovered = await ensure(deps, scope)
    refused = not await accounts.is_accepted(deps, scope)
    swept = await sweep(deps, scope)
    followed = await follow(deps, scope)
    watched = await watch(deps, scope)
    audited = await audit(deps, scope)
    renewed = await renew(deps, scope)
    while await blocked.missed(deps.db, scope, limit=PAGE, actor=deps.actor):
        pass
    dunned = await dun(deps, scope)
    return Ticked(swept, followed, refused, watched, audited, recovered, dunned, renewed)
