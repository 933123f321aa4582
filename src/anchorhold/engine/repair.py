"""Repair on read: whoever opens an invoice that is under way asks Stripe once (section 7)."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.engine.check import check
from anchorhold.engine.deps import Deps
from anchorhold.engine.follow import look_at
from anchorhold.store import follows, repairs


async def look_once(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> str | None:
    """One check now of an invoice that follows an intent or has a stale hold; the deciding row.

    None: there is nothing to ask about, it was asked about less than a minute ago by anybody, or
    the mode is not connected. One conditional write decides; a live hold is its owner's.
    """
    connected = await deps.providers.of(scope)
    if connected is None:
        return None
    if await repairs.take(deps.db, scope, deps.timing, invoice_id) is not None:
        return (await check(deps, connected, scope, invoice_id)).rule
    taken = await follows.take(deps.db, scope, limit=1, invoice_id=invoice_id)
    return await look_at(deps, connected, scope, taken[0]) if taken else None
