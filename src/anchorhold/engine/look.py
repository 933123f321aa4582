"""One look at an intent by its id, and what it means for its invoice (protocol section 7, F5, F9).

The follower, the watcher and the news share it: whoever looks, the same row decides.
"""

from anchorhold.domain import following, watching
from anchorhold.domain.answer import IntentStatus, IntentView, Refused, Shown
from anchorhold.domain.following import Follow
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.domain.watching import Watch
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import follows, payments, watches
from anchorhold.store.follows import Followed
from anchorhold.store.watches import Watched

UNANSWERED = {Followed: "F0", Watched: "W0"}


async def retrieve(
    deps: Deps, connected: Connected, invoice_id: InvoiceId, intent_id: str
) -> IntentView | None:
    """The intent, or None: no answer, or a refused read, which is never "nothing" and is logged."""
    answer = await connected.provider.retrieve_intent(
        intent_id, connected.provider.deadline(deps.timing.check_cut_seconds)
    )
    if isinstance(answer, Shown):
        return answer.value
    if isinstance(answer, Refused):
        deps.log.error("look.refused", invoice=invoice_id, intent=intent_id, status=answer.status)
    return None


async def look_at(
    deps: Deps, connected: Connected, scope: Scope, at: Followed | Watched, source: Source
) -> str:
    """The intent was retrieved and acted on; the id of the row, F0 or W0 without an answer."""
    intent = await retrieve(deps, connected, at.invoice_id, at.intent_id)
    if intent is None:
        return UNANSWERED[type(at)]
    return await act(deps, connected, scope, at, intent, source)


async def act(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    at: Followed | Watched,
    intent: IntentView,
    source: Source,
) -> str:
    """What Stripe shows of a followed or watched intent was acted on; the id of the row."""
    if isinstance(at, Followed):
        row = following.read(intent.status, at.status, own=at.own)
        await _follow(deps, connected, scope, at, intent, row, source)
        return row.id
    seen = watching.read(intent.status, at.status)
    await _watch(deps, connected, scope, at, intent, seen, source)
    return seen.id


async def settle(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, intent: IntentView, source: Source, rule: str
) -> None:
    """The success that the intent shows is recorded; whose attempt made it is not known here."""
    await payments.settle(
        deps.db,
        scope,
        invoice_id,
        Success.of(intent, None),
        source,
        actor=deps.actor,
        rule=rule,
    )


async def cancel(deps: Deps, connected: Connected, intent: IntentView) -> None:
    """The intent is asked to be cancelled; what came of it is seen at the next look."""
    await connected.provider.cancel_intent(
        intent.id, connected.provider.deadline(deps.timing.check_cut_seconds)
    )


async def _follow(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    at: Followed,
    intent: IntentView,
    row: following.Row,
    source: Source,
) -> None:
    match row.act:
        case Follow.SETTLE:
            await settle(deps, scope, at.invoice_id, intent, source, row.id)
        case Follow.CANCEL:
            await cancel(deps, connected, intent)
        case Follow.END:
            await follows.end(
                deps.db,
                scope,
                at,
                decline=intent.last_error,
                canceled=intent.status is IntentStatus.CANCELED,
                rule=row.id,
                actor=deps.actor,
            )
        case Follow.WAIT:
            pass


async def _watch(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    at: Watched,
    intent: IntentView,
    row: watching.Row,
    source: Source,
) -> None:
    match row.act:
        case Watch.SETTLE:
            await settle(deps, scope, at.invoice_id, intent, source, row.id)
        case Watch.FOLLOW:
            await watches.follow(deps.db, scope, at, rule=row.id, actor=deps.actor)
        case Watch.END:
            await watches.end(deps.db, scope, at, rule=row.id, actor=deps.actor)
        case Watch.CANCEL:
            await cancel(deps, connected, intent)
        case Watch.WAIT:
            pass
