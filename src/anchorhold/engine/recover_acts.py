"""What recovering does about one PaymentIntent; each act may be done again (section 11)."""

from anchorhold.domain.answer import Deadline, IntentView, Refused, Result, Shown, intent_in
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.recovering import Act, Rule, Standing
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import lost_intents, payments, watches
from anchorhold.store.lost_intents import Lost
from anchorhold.store.watches import Watched

NEVER_SHOWN = frozenset({400, 403, 404})
"""Asking again helps nobody: one PaymentIntent that cannot be read must not stop the others."""


class StoppedError(Exception):
    """Stripe did not answer: the recovery is left for later."""


async def act(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    rule: Rule,
    intent: IntentView,
    standing: Standing,
) -> IntentView | None:
    """The rule was acted on (None), or the intent as it is now, to be looked at once more.

    Raises StoppedError when Stripe did not answer.
    """
    if rule.act is Act.CANCEL:
        return await _cancel(deps, connected, intent)
    if rule.act is Act.ADOPT:
        return None if await _adopt(deps, scope, intent) else intent
    await _write(deps, scope, rule, intent, standing)
    return None


async def _write(
    deps: Deps, scope: Scope, rule: Rule, intent: IntentView, standing: Standing
) -> None:
    match rule.act:
        case Act.SETTLE:
            await _settle(deps, scope, rule, intent, standing)
        case Act.FOLLOW:
            await _adopt(deps, scope, intent)
            await lost_intents.follow(deps.db, scope, standing, rule=rule.id, actor=deps.actor)
        case Act.END:
            await watches.end(deps.db, scope, _watched(standing), rule=rule.id, actor=deps.actor)
        case Act.REMEMBER:
            await _remember(deps, scope, intent, IntentState.CANCELED)
        case Act.REPORT:
            await _report(deps, scope, intent)
        case _:
            pass


async def _adopt(deps: Deps, scope: Scope, intent: IntentView) -> bool:
    lost = Lost.of(intent)
    if lost is None:
        return False
    return await lost_intents.adopt(deps.db, scope, lost, actor=deps.actor) is not None


async def _remember(deps: Deps, scope: Scope, intent: IntentView, state: IntentState) -> None:
    lost = Lost.of(intent)
    if lost is not None:
        await lost_intents.remember(deps.db, scope, lost, state=state, actor=deps.actor)


async def _settle(
    deps: Deps, scope: Scope, rule: Rule, intent: IntentView, standing: Standing
) -> None:
    """The row first: once the payment is recorded nobody looks for it again."""
    if not standing.named:
        await _remember(deps, scope, intent, IntentState.SUCCEEDED)
    settled = await payments.settle(
        deps.db,
        scope,
        standing.invoice_id,
        Success.of(intent, None),
        Source.RECOVER,
        actor=deps.actor,
        rule=rule.id,
    )
    verdict = settled.verdict if settled else None
    deps.log.info("recover.settled", invoice=standing.invoice_id, verdict=verdict)


async def _report(deps: Deps, scope: Scope, intent: IntentView) -> None:
    if await lost_intents.report(deps.db, scope, intent):
        deps.log.error("recover.invoice_lost", intent=intent.id, amount=intent.amount)


async def _cancel(deps: Deps, connected: Connected, intent: IntentView) -> IntentView | None:
    """The intent as it is now; None: it cannot be cancelled by this key."""
    answer = await connected.provider.cancel_intent(intent.id, _deadline(deps, connected))
    shown = intent_in(answer)
    return shown if shown is not None else _unshown(deps, intent.id, answer)


async def retrieve(deps: Deps, connected: Connected, intent_id: str) -> IntentView | None:
    """The intent as it is now; None: it cannot be read by this key. Raises StoppedError."""
    answer = await connected.provider.retrieve_intent(intent_id, _deadline(deps, connected))
    return answer.value if isinstance(answer, Shown) else _unshown(deps, intent_id, answer)


def _unshown(deps: Deps, intent_id: str, answer: Result[IntentView]) -> None:
    if not isinstance(answer, Refused):
        raise StoppedError("Stripe did not answer about one PaymentIntent")
    if answer.status not in NEVER_SHOWN:
        raise StoppedError(f"Stripe answered {answer.status} {answer.message}".strip())
    deps.log.error("recover.refused", intent=intent_id, status=answer.status)


def _deadline(deps: Deps, connected: Connected) -> Deadline:
    return connected.provider.deadline(deps.timing.check_cut_seconds)


def _watched(standing: Standing) -> Watched:
    status = InvoiceStatus.OPEN if standing.open else InvoiceStatus.VOID
    return Watched(standing.invoice_id, standing.intent_id, standing.seq, status)
