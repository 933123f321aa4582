"""What every use case needs, handed in from outside."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db
from anchorhold.stripe.port import Provider

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connected:
    """A mode's provider, and which Stripe account and key it speaks for."""

    provider: Provider
    stripe_account: str
    key_fingerprint: str
    charge_mode: ChargeMode = ChargeMode.PREPARED
    """As it was read a moment ago; a claim compares the account's own."""


class Providers(Protocol):
    """Where the provider of an account and mode comes from."""

    async def of(self, scope: Scope) -> Connected | None:
        """The provider, or None: never connected, or its credentials cannot be read."""
        ...


class Log(Protocol):
    """Where what a person should know goes; structlog fits."""

    def info(self, event: str, **facts: object) -> object:
        """Something happened."""
        ...

    def error(self, event: str, **facts: object) -> object:
        """A person has to look."""
        ...


class Together(Protocol):
    """How work runs beside itself: the engine has no event loop of its own."""

    @property
    def width(self) -> int:
        """How many run at once."""
        ...

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """`work` was run `width` times, all have ended; then what one of them raised is raised."""
        ...


class Alone:
    """`Together` of one: one thing after the other."""

    width = 1

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """See `Together.run`."""
        await work()


ALONE: Final = Alone()


class Apart(Protocol):
    """How what must come to its end is kept from the end of whoever began it (section 3, step 5).

    The engine has no event loop of its own, so that this is handed in.
    """

    async def save(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` returns; it comes to its end although the caller is cancelled meanwhile."""
        ...

    async def release(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """As `save`, bounded by 10 s, and tried once more when it fails."""
        ...

    async def send(
        self,
        call: Callable[[], Coroutine[Any, Any, T]],
        interrupted: Callable[[], Coroutine[Any, Any, object]],
    ) -> T:
        """What `call` returns. When the caller is cancelled meanwhile, `interrupted` is run.

        Best effort: a process that is killed notes nothing, which is how the two are told apart.
        """
        ...


class Inline:
    """`Apart` without tasks: whoever drives the engine by hand cancels nothing."""

    async def save(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `Apart.save`."""
        return await work()

    async def release(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `Apart.release`."""
        return await work()

    async def send(
        self,
        call: Callable[[], Coroutine[Any, Any, T]],
        interrupted: Callable[[], Coroutine[Any, Any, object]],
    ) -> T:
        """See `Apart.send`."""
        return await call()


INLINE: Final = Inline()


@dataclass(frozen=True, slots=True)
class Deps:
    """The database, the providers, the times, and who acts (`worker:host:pid`, `operator:name`)."""

    db: Db
    providers: Providers
    timing: Timing
    log: Log
    actor: str
    together: Together = ALONE
    apart: Apart = INLINE
