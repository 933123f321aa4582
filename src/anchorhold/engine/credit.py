"""Settling without Stripe: where credit covers all that is due, or nothing is (section 3, step 2).

It is a close: the intent is cancelled first, and had it succeeded no credit is spent.
"""

from collections import Counter

from anchorhold.domain.closing import Act, ending
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.close import Closed, close
from anchorhold.engine.deps import Deps
from anchorhold.store import credits as balances

WORDS = {Act.CREDIT: "covered by credit", Act.NOTHING_DUE: "nothing was due"}
"""Why it ended, as its story tells it."""


async def settle_without_stripe(deps: Deps, scope: Scope, *, limit: int) -> Counter[str]:
    """Up to `limit` due invoices that need no charge were closed; how many, by what was said.

    One that is refused is left for the next time: its refusal is logged, and it says why.
    """
    counts: Counter[str] = Counter()
    for row in await balances.without_stripe(deps.db, scope, limit=limit):
        act = Act.NOTHING_DUE if row.nothing_due else Act.CREDIT
        try:
            await close(deps, scope, row.invoice_id, ending(act, WORDS[act]))
        except Refusal as refusal:
            deps.log.info("credit.refused", invoice=row.invoice_id, code=refusal.code.code)
            counts[refusal.code.code] += 1
        else:
            counts[act] += 1
    return counts


async def settle_by_credit(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Closed | None:
    """The invoice was paid with its customer's credit; None when that does not cover it.

    Raises Refusal as `close`.
    """
    if not await balances.covers(deps.db, scope, invoice_id):
        return None
    return await close(deps, scope, invoice_id, ending(Act.CREDIT, WORDS[Act.CREDIT]))
