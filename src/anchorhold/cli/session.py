"""One command's way to the database: opened, checked, and for one account and mode."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anchorhold import settings as all_settings
from anchorhold.app import App, open_app, operator_actor
from anchorhold.cli.call import Call
from anchorhold.cli.words import When
from anchorhold.domain.ids import AccountId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.deps import Connected
from anchorhold.settings import Settings
from anchorhold.store import accounts, checks
from anchorhold.store.accounts import Account
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with: the process's things, and whose rows it may see."""

    app: App
    scope: Scope
    when: When

    @property
    def db(self) -> Db:
        """The database."""
        return self.app.deps.db

    @property
    def timing(self) -> Timing:
        """The times of the protocol."""
        return self.app.settings.timing

    async def connected(self) -> Connected:
        """The provider of the chosen account and mode.

        Refuses when there is no usable key (STRIPE_KEY_MISSING).
        """
        connected = await self.app.providers.of(self.scope)
        if connected is None:
            raise Refusal(Code.STRIPE_KEY_MISSING)
        return connected


def load_settings() -> Settings:
    """The settings of this process's environment."""
    return all_settings.load(os.environ)


@asynccontextmanager
async def opened() -> AsyncGenerator[App]:
    """The process's things, signed by the person at the terminal."""
    async with open_app(load_settings(), actor=operator_actor()) as app:
        yield app


@asynccontextmanager
async def session(call: Call) -> AsyncGenerator[Session]:
    """A session for the account and mode that the call chose."""
    async with opened() as app:
        account = await choose_account(app.deps.db, call.account)
        now = await checks.now(app.deps.db)
        yield Session(app, Scope(account, call.livemode), When(now, call.utc))


async def choose_account(db: Db, asked: str | None) -> AccountId:
    """The account with this id or name; without one the only account there is.

    Refuses when there is none (ACCOUNT_MISSING), none of that name (ACCOUNT_NOT_FOUND), or more
    than one to choose from (ACCOUNT_AMBIGUOUS, naming them).
    """
    rows = await accounts.all_accounts(db)
    if asked is not None:
        return _named(rows, asked)
    names = sorted({row.name for row in rows})
    if not names:
        raise Refusal(Code.ACCOUNT_MISSING)
    if len(names) > 1:
        raise Refusal(Code.ACCOUNT_AMBIGUOUS, names=", ".join(names))
    return rows[0].id


def _named(rows: list[Account], asked: str) -> AccountId:
    for row in rows:
        if asked in (row.id, row.name):
            return row.id
    raise Refusal(Code.ACCOUNT_NOT_FOUND, id=asked)
