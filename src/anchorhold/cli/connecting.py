"""Connecting an account to Stripe: the key is tried, sealed, stored, and customers go on their way.

The key comes from ANCHORHOLD_STRIPE_KEY, a prompt or standard input; never from the command line,
where every user of the machine could read it.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass

import typer

from anchorhold import settings as all_settings
from anchorhold.app import App
from anchorhold.cli.asking import interruptible
from anchorhold.domain.account import PaymentMethodType
from anchorhold.domain.answer import NothingSent, Refused, Result, Shown, Unclear
from anchorhold.domain.ids import ACCOUNT, AccountId
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.entropy import new_id
from anchorhold.providers import new_connection
from anchorhold.store import accounts, customers, page_links
from anchorhold.twin import PUBLISHABLE_KEY, SECRET_KEY

KEY_SETTING = "ANCHORHOLD_STRIPE_KEY"
NAME_MAX = 80


@dataclass(frozen=True, slots=True)
class Connecting:
    """What was connected; `waiting` customers are now being set up at Stripe."""

    scope: Scope
    stripe_account: str
    key_last4: str
    waiting: int


def ask_for_key(app: App) -> str:
    """The secret key: from the setting, else from a hidden prompt, else from standard input.

    Refuses when there is none (STRIPE_KEY_MISSING) or it is no secret key (SETTINGS_INVALID).
    """
    if app.settings.stripe_key is not None:
        return app.settings.stripe_key.get_secret_value()
    with interruptible():
        given = _typed() if sys.stdin.isatty() else sys.stdin.readline()
    if not given.strip():
        raise Refusal(Code.STRIPE_KEY_MISSING)
    checked = all_settings.load({KEY_SETTING: given, "HOME": "/"}).stripe_key
    return checked.get_secret_value() if checked else ""


def _typed() -> str:
    return str(typer.prompt("Stripe secret key (sk_… or rk_…)", hide_input=True, err=True))


def is_live(secret: str) -> bool:
    """The key is of live mode; Stripe says so in its prefix (docs, "API keys")."""
    return secret.partition("_")[2].startswith("live_")


def require_fit(name: str) -> None:
    """A new account may have this name: lists can show it, and it is nobody's id.

    Raises BadParameter, which is wrong usage.
    """
    if not name.isprintable() or name != name.strip() or not 0 < len(name) <= NAME_MAX:
        reason = f"a name has 1 to {NAME_MAX} printable characters and no blanks around them"
        raise typer.BadParameter(f"{name[:NAME_MAX]!r}: {reason}.")
    with suppress(Refusal):
        ACCOUNT.parse(name)
        raise typer.BadParameter(f"{name} is the id of an account that is not here.")


async def account_named(app: App, name: str) -> AccountId:
    """The account of this name or id, made now if there is none; wrong usage: no fit name."""
    for row in await accounts.all_accounts(app.deps.db):
        if name in (row.id, row.name):
            return row.id
    require_fit(name)
    made = await accounts.create(app.deps.db, new_id(ACCOUNT), name)
    return made or await account_named(app, name)


async def connect(
    app: App, name: str, secret: str, types: tuple[PaymentMethodType, ...] | None = None
) -> Connecting:
    """The mode of the account of this name uses this key from now on; Stripe accepted it just now.

    The account is made if there is none. Its customers may pay with these `types`; None: with the
    same as before, or with cards. Refuses without changing anything when Stripe does not accept the
    key (STRIPE_KEY_REFUSED) or cannot be reached (STRIPE_UNREACHABLE).
    """
    stripe_account = await owner_of(app, secret)
    scope = Scope(await account_named(app, name), is_live(secret))
    new = new_connection(app.secret_key, scope, secret, stripe_account, types)
    await accounts.connect(app.deps.db, scope, new)
    if secret == SECRET_KEY:
        # A twin's key for browsers is known; Stripe's own is given by `account page`.
        await page_links.present(
            app.deps.db, scope, publishable_key=PUBLISHABLE_KEY, public_name=None
        )
    app.providers.forget(scope)
    waiting = await customers.begin_all(app.deps.db, scope)
    return Connecting(scope, stripe_account, new.key_last4, waiting)


async def owner_of(app: App, secret: str) -> str:
    """The Stripe account that the key belongs to, as Stripe says now."""
    provider = app.wires.provider(secret)
    deadline = provider.deadline(app.settings.timing.check_cut_seconds)
    return accepted(await provider.retrieve_account(deadline), app.wires.base)


def accepted(answer: Result[str], base: str) -> str:
    """The Stripe account that answered, or the refusal that fits the answer."""
    match answer:
        case Shown(value=account):
            return account
        case Refused(status=401 | 403 as status, message=message):
            raise Refusal(Code.STRIPE_KEY_REFUSED, status=status, reason=message)
        case Refused(status=status, message=message):
            raise Refusal(
                Code.PROVIDER_REFUSED,
                subject="the account",
                reason=f"{status} {message}",
                sent=NOTHING_SENT,
            )
        case NothingSent(detail=detail, cause=cause) | Unclear(detail=detail, cause=cause):
            reason = detail or cause.replace("_", " ")
            raise Refusal(Code.STRIPE_UNREACHABLE, url=base, reason=reason)
