"""Dunning's final action, as far as the invoice goes (protocol sections 3 and 5).

What a policy also does to a subscription is its caller's, and comes after this.
"""

from anchorhold.domain.access import Access, Action, access
from anchorhold.domain.attempt import AttemptKind, Cause
from anchorhold.domain.closing import Act, FinalAction, Finish, ending, finish_of
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import OPEN, Collection, InvoiceStatus
from anchorhold.domain.scope import Scope
from anchorhold.engine import ending as endings
from anchorhold.engine.close import Closed, finish
from anchorhold.engine.deps import Deps
from anchorhold.store import closes
from anchorhold.store.closes import Release


async def final_action(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, action: FinalAction, *, reason: str
) -> Closed | None:
    """The invoice's part of the final action is done; None: skipped, and to be tried again later.

    Skipped while anything is under way, and when somebody else was first. Raises Refusal: what
    `ending.take` raises when Stripe had to be asked.
    """
    now = await endings.standing(deps, scope, invoice_id)
    skipped = access(Action.FINAL_ACTION, now.hold)[1] is not Access.ALLOWED
    if skipped or now.status is not InvoiceStatus.OPEN:
        return None
    row = finish_of(action)
    if not row.closes:
        return await _leave_open(deps, scope, invoice_id, row)
    held, _ = await endings.take(
        deps, scope, invoice_id, AttemptKind.FINAL_ACTION, Action.FINAL_ACTION
    )
    return await finish(deps, held, ending(Act.WRITE_OFF, reason), row.id)


async def _leave_open(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, row: Finish
) -> Closed | None:
    """The hold is taken and ends at once, so that nothing is done beside a charge."""
    held = await closes.claim(
        deps.db, scope, deps.timing, invoice_id, AttemptKind.FINAL_ACTION, actor=deps.actor
    )
    if held is None:
        return None
    collection = Collection.MANUAL if row.manual else None
    done = Release(row.id, Cause.DONE, collection=collection)
    status = await closes.release(deps.db, held.token, done, statuses=OPEN, actor=deps.actor)
    return Closed(status, row.id) if status else None
