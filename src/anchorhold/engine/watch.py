"""Watching what may still come: intents of superseded attempts and of opened pages, by id (F9).

Without it a charge that Stripe carries out late, after its attempt was superseded, would be known
to nobody while no other attempt is made and no event comes.
"""

from collections import Counter

from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.engine import look
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import watches
from anchorhold.store.watches import Watched

PAGE = 50


async def watch(deps: Deps, scope: Scope) -> dict[str, int]:
    """Every watched intent whose turn it is was looked at once; counts by row."""
    counts: Counter[str] = Counter()
    connected = await deps.providers.of(scope)
    if connected is None:
        return counts
    while page := await watches.take(deps.db, scope, limit=PAGE):
        for watched in page:
            counts[await look_at(deps, connected, scope, watched)] += 1
    return counts


async def look_at(deps: Deps, connected: Connected, scope: Scope, watched: Watched) -> str:
    """One watched intent was retrieved and acted on; the id of the row, W0 without an answer."""
    return await look.look_at(deps, connected, scope, watched, Source.WATCH)
