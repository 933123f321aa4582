"""A `Wake` that keeps what was asked of it, and how many charges had reached Stripe by then."""

from collections.abc import Callable
from datetime import datetime

from anchorhold.domain.scope import Scope


class Asked:
    """The wake-ups in order: what, when, and the reading of `probe` at that moment."""

    def __init__(self, probe: Callable[[], int] = lambda: 0) -> None:
        self.list: list[tuple[str, float | datetime, int]] = []
        self._probe = probe

    async def collect(self, scope: Scope, *, in_s: float = 0) -> None:
        self.list.append(("collect", in_s, self._probe()))

    async def check(self, scope: Scope, *, at: datetime) -> None:
        self.list.append(("check at", at, self._probe()))

    async def check_in(self, scope: Scope, seconds: float) -> None:
        self.list.append(("check in", seconds, self._probe()))

    def of(self, what: str) -> list[float | datetime]:
        """When each wake-up of this kind was asked for."""
        return [when for name, when, _ in self.list if name == what]


class Broken:
    """A `Wake` whose database is gone."""

    async def collect(self, scope: Scope, *, in_s: float = 0) -> None:
        raise ConnectionError("gone")

    async def check(self, scope: Scope, *, at: datetime) -> None:
        raise ConnectionError("gone")

    async def check_in(self, scope: Scope, seconds: float) -> None:
        raise ConnectionError("gone")
