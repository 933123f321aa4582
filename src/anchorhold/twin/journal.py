"""The request log: everything that reached the twin, and what was done with it."""

from dataclasses import dataclass
from typing import Any

from anchorhold.twin.faults import FaultKind
from anchorhold.twin.settings import API_VERSION


@dataclass(slots=True)
class Entry:
    """One request. Times are seconds of the twin's clock."""

    number: int
    at: float
    method: str
    path: str
    request_id: str
    idempotency_key: str | None = None
    account: str | None = None
    version: str = API_VERSION
    """The API version that it was answered in."""
    fault: FaultKind | None = None
    executed: bool = False
    """Whether an endpoint began to run because of this request."""
    executed_at: float | None = None
    replayed: bool = False
    status: int | None = None
    """What Stripe answered, or would have: None when it never got so far."""
    error_code: str | None = None
    delivered: bool = True
    """Whether the client got the whole answer."""

    def shown(self) -> dict[str, Any]:
        """The entry as JSON."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        shown["fault"] = self.fault.value if self.fault else None
        return shown
