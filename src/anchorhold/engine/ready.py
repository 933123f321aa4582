"""Making one invoice ready because a person asks: its customer, and the intent that is paid."""

from anchorhold.domain.answer import Shown
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.store import customers, pages


async def make_ready(
    deps: Deps, connected: Connected, scope: Scope, invoice_id: InvoiceId, *, page: bool = False
) -> None:
    """Customer and intent are prepared now, as far as Stripe answers, also in manual collection.

    Raises Refusal: collection_blocked, provider_unavailable (what `_require_given_back` found).
    """
    lease_s = deps.timing.lease_seconds
    for customer in await customers.take_unready(
        deps.db, scope, limit=1, invoice_id=invoice_id, lease_s=lease_s
    ):
        await set_up_customer(deps, connected, scope, customer)
    await _require_given_back(deps, connected, scope, invoice_id)
    unprepared = await pages.take_unprepared(deps.db, scope, invoice_id, page=page, lease_s=lease_s)
    if unprepared is not None:
        await prepare_intent(deps, connected, unprepared)


async def _require_given_back(
    deps: Deps, connected: Connected, scope: Scope, invoice_id: InvoiceId
) -> None:
    """The next intent after a payment that was given back needs Stripe to say so just now.

    A refund can fail later: then the money is there after all (protocol section 2).
    """
    for intent_id in await pages.given_back(deps.db, scope, invoice_id):
        cut = connected.provider.deadline(deps.timing.check_cut_seconds)
        seen = await connected.provider.retrieve_intent(intent_id, cut)
        if not isinstance(seen, Shown):
            reason = f"whether payment {intent_id} was given back is not certain"
            raise Refusal(
                Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=reason, sent=NOTHING_SENT
            )
        if seen.value.paid:
            reason = f"Stripe shows that {intent_id} was not given back after all"
            raise Refusal(Code.COLLECTION_BLOCKED, invoice=invoice_id, reason=reason)
