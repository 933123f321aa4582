"""What Stripe told is worked again, through the same door (protocol section 9).

Every effect is a conditional write, so what had its effect has none the second time; what was
missed, by a bug or a hand in the database, is made up for.
"""

from datetime import datetime

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import news
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import events, views_events


async def replay(deps: Deps, connected: Connected, scope: Scope, event_id: str) -> str:
    """The event was worked again; the id of the row that decided, N0 when it waits.

    Refuses when there is none of this id (EVENT_NOT_FOUND).
    """
    await events.again(deps.db, scope, event_id)
    rows = await events.take(deps.db, scope, limit=1, event_id=event_id)
    if not rows and await views_events.one(deps.db, scope, event_id) is None:
        raise Refusal(Code.EVENT_NOT_FOUND, id=event_id)
    return await news.act(deps, connected, scope, rows[0]) if rows else news.NOT_YET


async def replay_between(
    deps: Deps, connected: Connected, scope: Scope, since: datetime, until: datetime
) -> tuple[int, dict[str, int]]:
    """How many events Stripe made in that time, each worked again; and what decided, by row.

    The rows count whatever else was waiting, too. What raises is raised after all others.
    """
    found = await events.again_between(deps.db, scope, since=since, until=until)
    return found, await news.act_waiting(deps, connected, scope)
