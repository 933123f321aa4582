"""Watching what may still come: live intents of superseded attempts, by their id (F9).

Without it a charge that Stripe carries out late, after its attempt was superseded, would be known
to nobody while no other attempt is made.
"""

from collections import Counter

from anchorhold.domain.answer import IntentView, Shown
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.domain.watching import Row, Watch, read
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import payments, watches
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
    answer = await connected.provider.retrieve_intent(
        watched.intent_id, connected.provider.deadline(deps.timing.check_cut_seconds)
    )
    if not isinstance(answer, Shown):
        deps.log.error("watch.unanswered", invoice=watched.invoice_id, answer=str(answer))
        return "W0"
    row = read(answer.value.status, watched.status)
    await _act(deps, connected, scope, watched, row, answer.value)
    return row.id


async def _act(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    watched: Watched,
    row: Row,
    intent: IntentView,
) -> None:
    match row.act:
        case Watch.SETTLE:
            success = Success.of(intent, None)
            await payments.settle(
                deps.db,
                scope,
                watched.invoice_id,
                success,
                Source.WATCH,
                actor=deps.actor,
                rule=row.id,
            )
        case Watch.FOLLOW:
            await watches.follow(deps.db, scope, watched, rule=row.id, actor=deps.actor)
        case Watch.END:
            await watches.end(deps.db, scope, watched, rule=row.id, actor=deps.actor)
        case Watch.CANCEL:
            await connected.provider.cancel_intent(
                intent.id, connected.provider.deadline(deps.timing.check_cut_seconds)
            )
        case Watch.WAIT:
            pass
