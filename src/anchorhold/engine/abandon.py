"""Giving up an intent in a Stripe account which is not connected any more (section 2)."""

from anchorhold.domain.access import Action
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.deps import Deps
from anchorhold.store import pages
from anchorhold.store.invoices import Standing


async def abandon_intent(deps: Deps, scope: Scope, invoice_id: InvoiceId, *, reason: str) -> str:
    """The old intent's id: it stands for the invoice no more, and is watched for 30 days.

    Only an operator may: whoever has its secret can still pay it there, and that would be a second
    payment. Raises Refusal: invoice_not_found, invoice_not_open, payment_in_flight,
    nothing_to_abandon, changed_meanwhile.
    """
    require(deps, invoice_id, await endings.standing(deps, scope, invoice_id))
    intent = await pages.abandon_intent(deps.db, scope, invoice_id, reason=reason, actor=deps.actor)
    if intent is None:
        require(deps, invoice_id, await endings.standing(deps, scope, invoice_id))
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=invoice_id)
    deps.log.error("intent.abandoned", invoice=invoice_id, intent=intent, reason=reason)
    return intent


def require(deps: Deps, invoice_id: InvoiceId, now: Standing) -> None:
    """The invoice has an intent to abandon and is free, or the `Refusal` that says why not."""
    endings.require(deps, invoice_id, Action.CREDIT_NOTE, now)
    if now.same_stripe_account:
        raise Refusal(Code.NOTHING_TO_ABANDON, invoice=invoice_id)
