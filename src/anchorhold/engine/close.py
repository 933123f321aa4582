"""Ending an invoice: void, write-off, payment elsewhere, credit, nothing due (protocol section 5).

All of them take the hold, cancel the intent at Stripe, write and release.
"""

from dataclasses import dataclass

from anchorhold.domain.access import Access
from anchorhold.domain.attempt import AttemptKind, Cause
from anchorhold.domain.closing import Act, Ending, Held, ending
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import OPEN, InvoiceStatus
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.deps import Deps
from anchorhold.store import closes, final_writes
from anchorhold.store.closes import Release


@dataclass(frozen=True, slots=True)
class Closed:
    """How the invoice ended, by which row; `keeps_hold`: a charge under way is still looked for."""

    status: InvoiceStatus
    rule: str
    keeps_hold: bool = False


async def close(deps: Deps, scope: Scope, invoice_id: InvoiceId, how: Ending) -> Closed:
    """The invoice has ended as `how` says, or a `Refusal` says why not.

    Raises Refusal: what `ending.take` raises; credit_too_small; changed_meanwhile.
    """
    if how.act is Act.WRITE_OFF:
        now = await endings.standing(deps, scope, invoice_id)
        allowed = endings.require(deps, invoice_id, how.action, now)
        if allowed is Access.ALLOWED_KEEPING_HOLD or now.followed_intent_id is not None:
            return await _write_off_under_way(deps, scope, invoice_id, how)
    held, rule = await endings.take(deps, scope, invoice_id, AttemptKind.CLOSE, how.action)
    return await finish(deps, held, how, rule)


async def finish(deps: Deps, held: Held, how: Ending, rule: str) -> Closed:
    """The held invoice, whose intent is cancelled, has ended.

    Raises Refusal: credit_too_small (released), changed_meanwhile (whatever moved has the hold).
    """
    status = await final_writes.finish(deps.db, held, how, rule=rule, actor=deps.actor)
    if status is not None:
        return Closed(status, rule)
    if how.act is Act.CREDIT:
        nothing = Release(rule, Cause.REFUSED, canceled=held.intent_id is not None)
        await closes.release(deps.db, held.token, nothing, statuses=OPEN, actor=deps.actor)
        raise Refusal(
            Code.CREDIT_TOO_SMALL, customer=held.customer_id, invoice=held.token.invoice_id
        )
    raise Refusal(Code.CHANGED_MEANWHILE, invoice=held.token.invoice_id)


async def _write_off_under_way(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, how: Ending
) -> Closed:
    """Given up although a charge may have been sent: what is under way is looked for as before."""
    status = await closes.write_off_under_way(
        deps.db, scope, invoice_id, reason=how.reason, actor=deps.actor
    )
    if status is None:
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=invoice_id)
    return Closed(status, "G9", keeps_hold=True)


async def void(deps: Deps, scope: Scope, invoice_id: InvoiceId, *, reason: str) -> Closed:
    """The invoice is void: it was never owed. Raises as `close`."""
    return await close(deps, scope, invoice_id, ending(Act.VOID, reason))


async def write_off(deps: Deps, scope: Scope, invoice_id: InvoiceId, *, reason: str) -> Closed:
    """The invoice is uncollectible; on a stale or parked hold it stays looked for (G9)."""
    return await close(deps, scope, invoice_id, ending(Act.WRITE_OFF, reason))


async def paid_elsewhere(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, *, reference: str
) -> Closed:
    """All that is due was paid outside of Stripe; `reference` says how, for people."""
    how = ending(Act.PAID_ELSEWHERE, "paid elsewhere", reference)
    return await close(deps, scope, invoice_id, how)
