"""What the hosted payment page shows of an invoice, and when its secret may leave (section 5).

The customer pays the invoice's one intent, the same that a charge confirms: whoever is first is
the only one. The secret is read from Stripe each time and kept nowhere.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.access import Access, Action, access
from anchorhold.domain.answer import Shown
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.ready import make_ready
from anchorhold.engine.relist import relist
from anchorhold.store import pages
from anchorhold.store.invoices import Standing


class PageState(StrEnum):
    """What the customer reads."""

    PAY = "pay"
    CONFIRMING = "being_confirmed"
    """Being confirmed: please do not pay again."""
    PAID = "paid"
    VOID = "void"
    """Nothing is owed any more, or nobody asks for it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page; the amount in minor units. With `PAY` comes the secret that a browser needs."""

    state: PageState
    amount: int
    currency: str
    intent_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    next_check_at: datetime | None = None


CLOSED = {
    InvoiceStatus.PAID: PageState.PAID,
    InvoiceStatus.VOID: PageState.VOID,
    InvoiceStatus.UNCOLLECTIBLE: PageState.VOID,
}


async def open_page(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Page:
    """The page of this invoice now; the secret leaves only after the claim was committed (H5).

    Raises Refusal: invoice_not_found (a draft too), stripe_account_changed, account_flagged,
    collection_blocked, provider_unavailable; paid_meanwhile by a re-list.
    """
    now = await endings.standing(deps, scope, invoice_id)
    shown = _without_secret(deps, invoice_id, now)
    if shown is not None:
        return shown
    connected = await deps.providers.of(scope)
    if connected is None or now.account_refused:
        raise Refusal(Code.ACCOUNT_FLAGGED, account=scope.account_id)
    if not now.same_stripe_account:
        raise Refusal(Code.STRIPE_ACCOUNT_CHANGED, invoice=invoice_id)
    await relist(deps, connected, scope, invoice_id)
    await make_ready(deps, connected, scope, invoice_id, page=True)
    return await _claimed(deps, connected, scope, invoice_id)


async def closed_page(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Page | None:
    """The page as it is without asking for the secret; None while it can be paid.

    Raises Refusal: invoice_not_found (a draft too).
    """
    return _without_secret(deps, invoice_id, await endings.standing(deps, scope, invoice_id))


def _without_secret(deps: Deps, invoice_id: InvoiceId, now: Standing) -> Page | None:
    """The page where nothing can be paid; None where the secret has to be asked for."""
    if now.status is InvoiceStatus.DRAFT:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice_id)
    if now.status in CLOSED:
        return Page(CLOSED[now.status], now.amount_remaining, now.currency)
    if access(Action.HOSTED_PAGE, now.hold)[1] is Access.ALLOWED:
        return None
    at = endings.next_check(deps, now)
    return Page(PageState.CONFIRMING, now.amount_remaining, now.currency, next_check_at=at)


async def _claimed(deps: Deps, connected: Connected, scope: Scope, invoice_id: InvoiceId) -> Page:
    """The second conditional write, before the secret leaves: whatever was read may have moved."""
    intent_id = await pages.open_page(deps.db, scope, invoice_id, actor=deps.actor)
    now = await endings.standing(deps, scope, invoice_id)
    if intent_id is None:
        shown = _without_secret(deps, invoice_id, now)
        if shown is not None:
            return shown
        raise _unready(invoice_id, "its PaymentIntent is not prepared yet")
    cut = connected.provider.deadline(deps.timing.check_cut_seconds)
    secret = await connected.provider.retrieve_secret(intent_id, cut)
    if not isinstance(secret, Shown):
        raise _unready(invoice_id, endings.said_of(secret))
    return Page(PageState.PAY, now.amount_remaining, now.currency, intent_id, secret.value)


def _unready(invoice_id: InvoiceId, reason: str) -> Refusal:
    return Refusal(Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=reason, sent=NOTHING_SENT)
