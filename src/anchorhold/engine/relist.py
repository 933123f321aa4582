"""Looking once more for a charge that was presumed not to exist (protocol section 6, Audit)."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps


async def relist(
    deps: Deps, connected: Connected | None, scope: Scope, invoice_id: InvoiceId
) -> None:
    """Nothing new is known about the invoice, so the act may go on (A1, H8).

    An invoice without a `presumed_none` attempt is not asked about. Raises Refusal:
    provider_unavailable when Stripe does not answer or refuses to; a success that was found is
    settled first, and refuses the act with that news.
    """
