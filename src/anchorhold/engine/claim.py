"""Claiming what is due: by its live intent, else directly where the account does so."""

from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.store import direct, holds


async def claim_due(deps: Deps, scope: Scope, *, limit: int, directly: bool) -> list[Claim]:
    """Up to `limit` due invoices are held for an automatic charge.

    `directly` only spares a statement: whether an account charges directly is compared again by
    the claim itself.
    """
    claims = await holds.claim_due(deps.db, scope, deps.timing, limit=limit, actor=deps.actor)
    if directly and len(claims) < limit:
        more = limit - len(claims)
        claims += await direct.claim_due(deps.db, scope, deps.timing, limit=more, actor=deps.actor)
    return claims


async def claim(deps: Deps, scope: Scope, invoice_id: InvoiceId, kind: AttemptKind) -> Claim | None:
    """The invoice is held for one charge of this kind, by its intent or directly; None: not won."""
    prepared = await holds.claim(deps.db, scope, deps.timing, invoice_id, kind, actor=deps.actor)
    return prepared or await direct.claim(
        deps.db, scope, deps.timing, invoice_id, kind, actor=deps.actor
    )
