"""Following what is known: intents in `processing` are retrieved by their id (section 7)."""

from collections import Counter

from anchorhold.domain.answer import IntentStatus, IntentView, Refused, Shown
from anchorhold.domain.following import Follow, Row, read
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import follows, payments
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
    answer = await connected.provider.retrieve_intent(
        followed.intent_id, connected.provider.deadline(deps.timing.check_cut_seconds)
    )
    if not isinstance(answer, Shown):
        if isinstance(answer, Refused):
            deps.log.error("follow.refused", invoice=followed.invoice_id, status=answer.status)
        return "F0"
    row = read(answer.value.status, followed.status)
    await _act(deps, connected, scope, followed, row, answer.value)
    return row.id


async def _act(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    followed: Followed,
    row: Row,
    intent: IntentView,
) -> None:
    match row.act:
        case Follow.SETTLE:
            await payments.settle(
                deps.db,
                scope,
                followed.invoice_id,
                Success.of(intent, None),
                Source.FOLLOWER,
                actor=deps.actor,
                rule=row.id,
            )
        case Follow.CANCEL:
            await connected.provider.cancel_intent(
                intent.id, connected.provider.deadline(deps.timing.check_cut_seconds)
            )
        case Follow.END:
            await follows.end(
                deps.db,
                scope,
                followed,
                decline=intent.last_error,
                canceled=intent.status is IntentStatus.CANCELED,
                actor=deps.actor,
            )
        case Follow.WAIT:
            pass
