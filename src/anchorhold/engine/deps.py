"""What every use case needs, handed in from outside."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol

from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db
from anchorhold.stripe.port import Provider


@dataclass(frozen=True, slots=True)
class Connected:
    """A mode's provider, and which Stripe account and key it speaks for."""

    provider: Provider
    stripe_account: str
    key_fingerprint: str


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


@dataclass(frozen=True, slots=True)
class Deps:
    """The database, the providers, the times, and who acts (`worker:host:pid`, `operator:name`)."""

    db: Db
    providers: Providers
    timing: Timing
    log: Log
    actor: str
    together: Together = ALONE
