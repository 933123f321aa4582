"""An operator's Collect: one charge now, or the reason why not (protocol sections 3 and 5)."""

from dataclasses import replace

from anchorhold.domain.access import Access, Action, access
from anchorhold.domain.attempt import RUNNING, AttemptKind, Cause
from anchorhold.domain.dunning import CARD_TRIES_MAX, TRIES_MAX
from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import OPEN, BlockedReason, InvoiceStatus
from anchorhold.domain.outcome import ENDS, Meaning
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.charge import CARD_SPENT, Charged, charge
from anchorhold.engine.claim import claim as claim_one
from anchorhold.engine.credit import settle_by_credit
from anchorhold.engine.deps import Deps
from anchorhold.engine.ready import make_ready
from anchorhold.engine.relist import relist
from anchorhold.store import holds
from anchorhold.store.invoices import Standing


async def collect(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Charged:
    """The invoice was charged once and the answer saved, or a `Refusal` says why not.

    Raises Refusal: invoice_not_found, invoice_not_open, nothing_due, payment_in_flight,
    collection_blocked, account_flagged, stripe_account_changed, payment_method_missing,
    recovery_due, too_many_tries, card_declined_too_often, provider_unavailable (its customer or
    its intent could not be made ready; nothing was sent); what `close` raises, where credit covers
    it.
    """
    require(deps, scope, invoice_id, await endings.standing(deps, scope, invoice_id))
    closed = await settle_by_credit(deps, scope, invoice_id)
    if closed is not None:
        return Charged(closed.rule, Meaning.SETTLE, closed.status)
    connected = await deps.providers.of(scope)
    if connected is None:
        raise Refusal(Code.ACCOUNT_FLAGGED, account=scope.account_id)
    await relist(deps, connected, scope, invoice_id)
    await make_ready(deps, connected, scope, invoice_id)
    claimed = await _claim(deps, scope, invoice_id)
    await _require_tries_under_hold(deps, claimed)
    charged = await charge(deps, claimed)
    if charged.rule == CARD_SPENT.rule:
        raise Refusal(DunningCode.CARD_DECLINED_TOO_OFTEN, invoice=invoice_id, times=CARD_TRIES_MAX)
    return charged


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
    _require_tries(invoice_id, standing)


def _require_tries(invoice_id: InvoiceId, standing: Standing) -> None:
    if standing.tries >= TRIES_MAX:
        raise Refusal(Code.TOO_MANY_TRIES, invoice=invoice_id, tries=standing.tries)


async def _require_tries_under_hold(deps: Deps, claimed: Claim) -> None:
    """Nobody else makes a try while the hold is ours, so this count is the true one."""
    token = claimed.token
    now = await endings.standing(deps, token.scope, token.invoice_id)
    if now.tries >= TRIES_MAX:
        nothing = replace(ENDS[Meaning.NOT_SENT], rule="J2", cause=Cause.REFUSED)
        await holds.end(deps.db, token, nothing, states=RUNNING, statuses=OPEN, actor=deps.actor)
        _require_tries(token.invoice_id, now)


def _require_due(invoice_id: InvoiceId, standing: Standing) -> None:
    if standing.status is not InvoiceStatus.OPEN:
        raise Refusal(Code.INVOICE_NOT_OPEN, invoice=invoice_id, status=standing.status)
    if standing.amount_remaining <= 0:
        raise Refusal(Code.NOTHING_DUE, invoice=invoice_id)


def _require_free(deps: Deps, invoice_id: InvoiceId, standing: Standing) -> None:
    if access(Action.COLLECT, standing.hold)[1] is not Access.ALLOWED:
        raise endings.in_flight(deps, invoice_id, standing)


async def _claim(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Claim:
    claim = await claim_one(deps, scope, invoice_id, AttemptKind.COLLECT)
    if claim is not None:
        return claim
    now = await endings.standing(deps, scope, invoice_id)
    require(deps, scope, invoice_id, now)
    endings.require_whole(scope, now)
    if now.payment_method is None and not now.set_up_waits:
        raise Refusal(Code.PAYMENT_METHOD_MISSING, customer=now.customer_id, invoice=invoice_id)
    unready = (
        "customer is not set up yet" if now.set_up_waits else "PaymentIntent is not prepared yet"
    )
    raise Refusal(
        Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=f"its {unready}", sent=NOTHING_SENT
    )
