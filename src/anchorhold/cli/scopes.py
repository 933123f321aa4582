"""Which accounts and modes a command works on: all that are connected, or the chosen one."""

from anchorhold.app import App
from anchorhold.cli.session import choose_account
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.store import accounts


async def chosen(app: App, account: str | None) -> list[Scope]:
    """Every connected mode, of this account if one is named.

    Refuses when nothing is connected (STRIPE_KEY_MISSING), or no such account (ACCOUNT_NOT_FOUND).
    """
    scopes = await accounts.scopes(app.deps.db)
    if account is not None:
        id_ = await choose_account(app.deps.db, account)
        scopes = [scope for scope in scopes if scope.account_id == id_]
    if not scopes:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    return scopes


def shown(scope: Scope) -> dict[str, object]:
    """The two columns that say whose rows something is about."""
    return {"account_id": scope.account_id, "livemode": scope.livemode}


def named(scope: Scope) -> str:
    """The account and mode for people."""
    return f"{scope.account_id} ({scope.mode} mode)"
