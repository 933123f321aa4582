"""The key of an account and mode: flagged when Stripe refuses it, until Stripe accepts it again."""

from anchorhold.domain.answer import Shown
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import accounts

FORBIDDEN = 403


async def flag(
    deps: Deps, connected: Connected, scope: Scope, reason: str, *, status: int | None = None
) -> None:
    """Claims skip the mode until its key is accepted again; a newer key is never flagged.

    A 403 (`status`) says that a right is missing: then a read of the account proves nothing.
    """
    await accounts.refuse(
        deps.db,
        scope,
        key_fingerprint=connected.key_fingerprint,
        reason=reason,
        right_missing=status == FORBIDDEN,
    )
    deps.log.error("account.refused", account=scope.account_id, reason=reason)


async def is_accepted(deps: Deps, scope: Scope, *, by_hand: bool = False) -> bool:
    """The mode's key is not flagged, or Stripe accepts it again by now and the flag is gone.

    A flag for a missing right is lifted only when an operator asks (`by_hand`), who says by that
    that the right was given: a key may read its account and still be refused each charge.
    """
    connection = await accounts.connection(deps.db, scope)
    if connection is None or connection.refused_at is None:
        return connection is not None
    if connection.right_missing and not by_hand:
        return False
    connected = await deps.providers.of(scope)
    if connected is None:
        return False
    seen = await connected.provider.retrieve_account(
        connected.provider.deadline(deps.timing.check_cut_seconds)
    )
    if not isinstance(seen, Shown):
        return False
    await accounts.accept(deps.db, scope, key_fingerprint=connected.key_fingerprint)
    return True
