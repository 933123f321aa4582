"""Disputes: retrieved by their id, and what their status means is written (section 8)."""

from anchorhold.domain.answer import Shown
from anchorhold.domain.disputes import read
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import disputes, refunds


async def refresh(deps: Deps, connected: Connected, scope: Scope, dispute_id: str) -> bool:
    """The dispute was retrieved and its payment says how it stands; False: ask again later.

    A status that Stripe has not documented is left alone and logged as an error.
    """
    deadline = connected.provider.deadline(deps.timing.check_cut_seconds)
    answer = await connected.provider.retrieve_dispute(dispute_id, deadline)
    if not isinstance(answer, Shown):
        deps.log.error("dispute.unread", dispute=dispute_id, answer=str(answer))
        return False
    dispute, row = answer.value, read(answer.value.status)
    if row is None:
        deps.log.error("dispute.unknown", dispute=dispute_id, status=dispute.status)
        return True
    payment = await refunds.by_intent(deps.db, scope, dispute.intent_id or "")
    if payment is None:
        return False
    means = await disputes.record(deps.db, scope, payment, dispute, row, actor=deps.actor)
    if means is not None:
        deps.log.info("dispute.recorded", invoice=payment.invoice_id, rule=row.id, dispute=means)
    return True
