"""An operator's Collect: one charge now, or the reason why not (protocol sections 3 and 5)."""

from anchorhold.domain.access import Access, Action, access
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import BlockedReason, Collection, InvoiceStatus
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.charge import Charged, charge
from anchorhold.engine.deps import Deps
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.store import customers, holds, intents, invoices
from anchorhold.store.invoices import Standing


async def collect(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Charged:
    """The invoice was charged once and the answer saved, or a `Refusal` says why not.

    Raises Refusal: invoice_not_found, invoice_not_open, nothing_due, payment_in_flight,
    collection_blocked, account_flagged, stripe_account_changed, payment_method_missing,
    provider_unavailable (its customer or its intent could not be made ready; nothing was sent).
    """
    require(deps, scope, invoice_id, await _standing(deps, scope, invoice_id))
    await _make_ready(deps, scope, invoice_id)
    claim = await _claim(deps, scope, invoice_id)
    return await charge(deps, claim)


async def _standing(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Standing:
    standing = await invoices.standing(deps.db, scope, invoice_id)
    if standing is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice_id)
    return standing


def require(deps: Deps, scope: Scope, invoice_id: InvoiceId, standing: Standing) -> None:
    """The invoice can be collected now, or the `Refusal` that says why not."""
    _require_due(invoice_id, standing)
    _require_free(deps, invoice_id, standing)
    if standing.account_refused:
        raise Refusal(Code.ACCOUNT_FLAGGED, account=scope.account_id)
    if standing.blocked_reason is BlockedReason.SETUP:
        raise Refusal(
            Code.COLLECTION_BLOCKED, invoice=invoice_id, reason="Stripe refused its set-up"
        )
    if not standing.same_stripe_account:
        raise Refusal(Code.STRIPE_ACCOUNT_CHANGED, invoice=invoice_id)


def _require_due(invoice_id: InvoiceId, standing: Standing) -> None:
    if standing.status is not InvoiceStatus.OPEN:
        raise Refusal(Code.INVOICE_NOT_OPEN, invoice=invoice_id, status=standing.status)
    if standing.amount_remaining <= 0:
        raise Refusal(Code.NOTHING_DUE, invoice=invoice_id)


def _require_free(deps: Deps, invoice_id: InvoiceId, standing: Standing) -> None:
    if access(Action.COLLECT, standing.hold)[1] is not Access.ALLOWED:
        at = next_check_at(
            deps.timing,
            now=standing.now,
            hold_until=standing.hold_until,
            asked_at=standing.provider_synced_at,
        )
        raise Refusal(Code.PAYMENT_IN_FLIGHT, invoice=invoice_id, next_check_at=at)


async def _make_ready(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> None:
    """The customer and the intent are prepared now, where the tick has not done it yet."""
    connected = await deps.providers.of(scope)
    if connected is None:
        raise Refusal(Code.ACCOUNT_FLAGGED, account=scope.account_id)
    lease_s = deps.timing.lease_seconds
    for customer in await customers.take_unready(
        deps.db, scope, limit=1, invoice_id=invoice_id, lease_s=lease_s
    ):
        await set_up_customer(deps, connected, scope, customer)
    for invoice in await intents.take_unprepared(
        deps.db, scope, limit=1, invoice_id=invoice_id, lease_s=lease_s
    ):
        await prepare_intent(deps, connected, invoice)


async def _claim(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Claim:
    claim = await holds.claim(
        deps.db, scope, deps.timing, invoice_id, AttemptKind.COLLECT, actor=deps.actor
    )
    if claim is not None:
        return claim
    now = await _standing(deps, scope, invoice_id)
    require(deps, scope, invoice_id, now)
    if now.payment_method is None and not now.set_up_waits:
        raise Refusal(Code.PAYMENT_METHOD_MISSING, customer=now.customer_id, invoice=invoice_id)
    if now.collection is Collection.MANUAL and now.intent_id is None:
        reason = "a payment of it was given back or was less than due, which a person has to settle"
        raise Refusal(Code.COLLECTION_BLOCKED, invoice=invoice_id, reason=reason)
    unready = (
        "customer is not set up yet" if now.set_up_waits else "PaymentIntent is not prepared yet"
    )
    raise Refusal(
        Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=f"its {unready}", sent=NOTHING_SENT
    )
