"""Where a process tells what it did, so that somebody may count it.

Apart from `metrics.py`, because a command that ends at once needs no Prometheus.
"""

from typing import Final, Protocol

from anchorhold.domain.answer import Result
from anchorhold.engine.charge import Charged
from anchorhold.engine.sweep import Swept


class Meter(Protocol):
    """Counts; each method is told of one thing that happened."""

    def charged(self, charged: Charged) -> None:
        """A charge came to its end, or was left to the sweep."""
        ...

    def swept(self, swept: Swept) -> None:
        """A sweep came to its end."""
        ...

    def ticked(self, seconds: float) -> None:
        """A tick of all accounts came to its end, after so many seconds."""
        ...

    def called(self, endpoint: str, result: Result[object], seconds: float) -> None:
        """A request to Stripe ended like this, so many seconds after it left."""
        ...


class Unmetered:
    """`Meter` of a process that shows no metrics."""

    def charged(self, charged: Charged) -> None:
        """See `Meter.charged`."""

    def swept(self, swept: Swept) -> None:
        """See `Meter.swept`."""

    def ticked(self, seconds: float) -> None:
        """See `Meter.ticked`."""

    def called(self, endpoint: str, result: Result[object], seconds: float) -> None:
        """See `Meter.called`."""


UNMETERED: Final = Unmetered()
