"""Wake-ups that a batch or a check leaves behind. None of them is needed: the tick comes anyway."""

from datetime import datetime
from typing import Protocol

from anchorhold.domain.scope import Scope


class Wake(Protocol):
    """Asks that somebody does something, now or later; asking twice is asking once."""

    async def collect(self, scope: Scope, *, in_s: float = 0) -> None:
        """A batch of the account and mode is collected, not before so many seconds."""
        ...

    async def check(self, scope: Scope, *, at: datetime) -> None:
        """Its stale holds are checked, not before this time of the database's clock."""
        ...

    async def check_in(self, scope: Scope, seconds: float) -> None:
        """The same, so many seconds from now."""
        ...


class Nobody:
    """Wakes nobody: whoever uses it looks for more work by itself."""

    async def collect(self, scope: Scope, *, in_s: float = 0) -> None:
        """See `Wake.collect`."""

    async def check(self, scope: Scope, *, at: datetime) -> None:
        """See `Wake.check`."""

    async def check_in(self, scope: Scope, seconds: float) -> None:
        """See `Wake.check_in`."""
