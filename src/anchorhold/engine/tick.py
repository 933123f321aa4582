"""One tick of an account and mode: ask about the flagged key, sweep, follow, watch (section 6).

What is due is charged by the worker's own batches, so that all workers share it.
"""

from dataclasses import dataclass, field

from anchorhold.domain.answer import Shown
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.follow import follow
from anchorhold.engine.sweep import Swept, sweep
from anchorhold.engine.watch import watch
from anchorhold.store import accounts


@dataclass(frozen=True, slots=True)
class Ticked:
    """What one tick did."""

    swept: Swept
    followed: dict[str, int] = field(default_factory=dict)
    account_refused: bool = False
    watched: dict[str, int] = field(default_factory=dict)


async def tick(deps: Deps, scope: Scope) -> Ticked:
    """Stale holds were checked, followed and watched intents looked at, a refused key tried."""
    refused = not await account_accepted(deps, scope)
    swept = await sweep(deps, scope)
    followed = await follow(deps, scope)
    watched = await watch(deps, scope)
    return Ticked(swept, followed, refused, watched)


async def account_accepted(deps: Deps, scope: Scope) -> bool:
    """The mode's key is not flagged, or Stripe accepts it again by now and the flag is gone."""
    connection = await accounts.connection(deps.db, scope)
    if connection is None or connection.refused_at is None:
        return connection is not None
    connected = await deps.providers.of(scope)
    if connected is None:
        return False
    seen = await connected.provider.retrieve_account(
        connected.provider.deadline(deps.timing.check_cut_seconds)
    )
    if not isinstance(seen, Shown):
        return False
    await accounts.accept(deps.db, scope, key_fingerprint=connected.key_fingerprint)
    return True
