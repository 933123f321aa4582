"""A mode's provider comes from its row, opens with the secret key, and is kept for a while."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import pytest_asyncio

from anchorhold.app import App, open_app
from anchorhold.domain.ids import ACCOUNT, IdKind
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected
from anchorhold.entropy import new_id
from anchorhold.providers import FRESH_S, StripeProviders, new_connection
from anchorhold.settings import load
from anchorhold.store import accounts
from anchorhold.store.db import Db
from tests.worker.world import SECRET, url_of

KEY = "sk_" + "test_" + "abcdefghijklmnopqrstuvwx"
OTHER_KEY = "sk_" + "test_" + "zyxwvutsrqponmlkjihgfedc"

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)


@dataclass
class Watched:
    """A `Db` that counts its statements, on a clock that a test moves."""

    inner: Db
    statements: int = 0
    now: float = 100.0

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        self.statements += 1
        return await self.inner.one(query, shape, **params)

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        self.statements += 1
        return await self.inner.all(query, shape, **params)

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        return self.inner.new_ids(kind, count)

    def monotonic(self) -> float:
        return self.now


class Told:
    """A log that keeps its errors."""

    def __init__(self) -> None:
        self.errors: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **facts: object) -> None:
        """Not of interest here."""

    def error(self, event: str, **facts: object) -> None:
        self.errors.append((event, facts))


@dataclass
class Desk:
    """A process's providers with everything that they look at."""

    app: App
    db: Watched
    log: Told
    providers: StripeProviders

    def with_key(self, secret_key: bytes) -> StripeProviders:
        """The providers of a process that has another secret key."""
        return StripeProviders(self.db, secret_key, self.app.wires, self.log)

    async def connect(self, scope: Scope, key: str = KEY, stripe_account: str = "acct_1") -> None:
        """The mode has this Stripe key now."""
        new = new_connection(self.app.secret_key, scope, key, stripe_account)
        await accounts.connect(self.app.deps.db, scope, new)

    async def of(self, scope: Scope) -> Connected:
        """The provider, which is there."""
        connected = await self.providers.of(scope)
        assert connected is not None
        return connected


@pytest_asyncio.fixture
async def desk(database: str, tmp_path: Path) -> AsyncGenerator[Desk]:
    """An open app, and providers that a test can watch."""
    env = {
        "ANCHORHOLD_DATABASE_URL": url_of(database),
        "ANCHORHOLD_DATA_DIR": str(tmp_path),
        "ANCHORHOLD_SECRET_KEY": SECRET,
    }
    async with open_app(load(env), actor="test") as app:
        db, log = Watched(app.deps.db), Told()
        yield Desk(app, db, log, StripeProviders(db, app.secret_key, app.wires, log))


async def an_account(desk: Desk, *, livemode: bool = False) -> Scope:
    """A new account's test mode, not connected yet."""
    account_id = new_id(ACCOUNT)
    await accounts.create(desk.app.deps.db, account_id, account_id)
    return Scope(account_id, livemode)


async def test_a_mode_that_was_never_connected_has_no_provider(desk: Desk) -> None:
    assert await desk.providers.of(await an_account(desk)) is None


async def test_many_charges_read_the_row_once(desk: Desk) -> None:
    scope = await an_account(desk)
    await desk.connect(scope)
    all_of_them = await asyncio.gather(*(desk.providers.of(scope) for _ in range(50)))
    assert desk.db.statements == 1
    assert len(set(map(id, all_of_them))) == 1


async def test_the_same_key_keeps_its_provider_when_the_row_is_read_again(desk: Desk) -> None:
    scope = await an_account(desk)
    await desk.connect(scope)
    first = await desk.of(scope)
    desk.db.now += FRESH_S
    assert await desk.of(scope) is first
    assert desk.db.statements == 2


async def test_another_key_is_used_when_the_row_is_read_again(desk: Desk) -> None:
    scope = await an_account(desk)
    await desk.connect(scope)
    first = await desk.of(scope)
    await desk.connect(scope, OTHER_KEY, "acct_2")
    assert await desk.of(scope) is first
    desk.db.now += FRESH_S
    second = await desk.of(scope)
    assert (second.stripe_account, second.key_fingerprint != first.key_fingerprint) == (
        "acct_2",
        True,
    )


async def test_what_was_forgotten_is_read_at_once(desk: Desk) -> None:
    scope = await an_account(desk)
    await desk.connect(scope)
    await desk.of(scope)
    await desk.connect(scope, OTHER_KEY, "acct_2")
    desk.providers.forget(scope)
    assert (await desk.of(scope)).stripe_account == "acct_2"


async def test_a_key_that_cannot_be_opened_gives_no_provider_and_says_so(desk: Desk) -> None:
    scope = await an_account(desk)
    await desk.connect(scope)
    assert await desk.with_key(bytes(32)).of(scope) is None
    ((event, facts),) = desk.log.errors
    assert event == "account.key_unreadable"
    assert facts["account"] == scope.account_id


async def test_a_key_copied_to_another_mode_cannot_be_opened_there(desk: Desk) -> None:
    test_mode = await an_account(desk)
    live_mode = Scope(test_mode.account_id, livemode=True)
    of_test_mode = new_connection(desk.app.secret_key, test_mode, KEY, "acct_1")
    await accounts.connect(desk.app.deps.db, live_mode, of_test_mode)
    assert await desk.providers.of(live_mode) is None


async def test_the_stored_connection_shows_only_the_last_four(desk: Desk) -> None:
    scope = await an_account(desk)
    new = new_connection(desk.app.secret_key, scope, KEY, "acct_1")
    assert new.key_last4 == KEY[-4:]
    assert KEY not in repr(new)
