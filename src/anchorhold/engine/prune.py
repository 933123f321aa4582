"""Deliveries of Stripe's events and answers of the API are kept for a while."""

from typing import Final

from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.intake import UNKNOWN
from anchorhold.store import accounts, event_deliveries, idempotency

ANSWERS_DAYS: Final = 30
"""So long a repeated POST is answered as it was at first."""


async def prune(deps: Deps, *, keep_days: int) -> int:
    """Old deliveries of every account and mode, and to accounts that do not exist, are gone.

    A bounded number of each at one go; how many in all. The events they brought stay. So are
    answers of the API that are older than 30 days.
    """
    known = {row.id for row in await accounts.all_accounts(deps.db)}
    scopes = [Scope(account, livemode) for account in sorted(known) for livemode in (False, True)]
    gone = 0
    for scope in (UNKNOWN, *scopes):
        gone += await event_deliveries.prune(deps.db, scope, keep_days=keep_days)
        gone += await idempotency.prune(deps.db, scope, keep_days=ANSWERS_DAYS)
    return gone
