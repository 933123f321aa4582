"""Changing what is due on an invoice (protocol section 2, amounts; F2).

The intent is cancelled at Stripe and never updated; the next one is made for the new amount.
"""

from anchorhold.domain.access import Action
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.currencies import currency
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.money import Money
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.close import Closed
from anchorhold.engine.deps import Deps
from anchorhold.store import final_writes
from anchorhold.store.invoices import Standing


async def amend(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, *, amount_due: int, reason: str
) -> Closed:
    """`amount_due` is due, in minor units; paid when all of it was paid by then.

    Raises Refusal: what `ending.take` raises; amount_below_paid, amount_too_large,
    changed_meanwhile.
    """
    require(deps, invoice_id, amount_due, await endings.standing(deps, scope, invoice_id))
    held, rule = await endings.take(deps, scope, invoice_id, AttemptKind.AMEND, Action.CREDIT_NOTE)
    status = await final_writes.amend(
        deps.db, held, amount_due=amount_due, reason=reason, rule=rule, actor=deps.actor
    )
    if status is None:
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=invoice_id)
    return Closed(status, rule)


def require(deps: Deps, invoice_id: InvoiceId, amount_due: int, now: Standing) -> None:
    """The invoice can get this amount now, or the `Refusal` that says why not."""
    endings.require(deps, invoice_id, Action.CREDIT_NOTE, now)
    code = currency(now.currency)
    amount, paid = Money(amount_due, code), Money(now.amount_paid, code)
    if amount.minor < paid.minor:
        raise Refusal(
            Code.AMOUNT_BELOW_PAID, invoice=invoice_id, amount=amount.display, paid=paid.display
        )
    if amount.above_maximum:
        amount.require_chargeable()
