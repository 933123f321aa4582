"""Following what is known: intents in `processing` or `unknown` are retrieved by id (section 7)."""

from collections import Counter

from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.engine import look
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import follows
from anchorhold.store.follows import Followed

PAGE = 50


async def follow(deps: Deps, scope: Scope) -> dict[str, int]:
    """Every followed invoice whose turn it is was looked at once; counts by row."""
    counts: Counter[str] = Counter()
    connected = await deps.providers.of(scope)
    if connected is None:
        return counts
    while page := await follows.take(deps.db, scope, limit=PAGE):
        for followed in page:
            counts[await look_at(deps, connected, scope, followed)] += 1
    return counts


async def look_at(deps: Deps, connected: Connected, scope: Scope, followed: Followed) -> str:
    """One followed intent was retrieved and acted on; the id of the row, F0 without an answer."""
    return await look.look_at(deps, connected, scope, followed, Source.FOLLOWER)
