"""One tick of an account and mode: ask about the flagged key, sweep, follow, watch (section 6).

What is due is charged by the worker's own batches, so that all workers share it.
"""

from dataclasses import dataclass, field

from anchorhold.domain.scope import Scope
from anchorhold.engine import accounts
from anchorhold.engine.deps import Deps
from anchorhold.engine.follow import follow
from anchorhold.engine.sweep import Swept, sweep
from anchorhold.engine.watch import watch


@dataclass(frozen=True, slots=True)
class Ticked:
    """What one tick did."""

    swept: Swept
    followed: dict[str, int] = field(default_factory=dict)
    account_refused: bool = False
    watched: dict[str, int] = field(default_factory=dict)


async def tick(deps: Deps, scope: Scope) -> Ticked:
    """Stale holds were checked, followed and watched intents looked at, a refused key tried."""
    refused = not await accounts.is_accepted(deps, scope)
    swept = await sweep(deps, scope)
    followed = await follow(deps, scope)
    watched = await watch(deps, scope)
    return Ticked(swept, followed, refused, watched)
