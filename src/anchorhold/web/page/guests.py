"""How often one visitor may ask, counted in this process: guessing and hammering stay cheap."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

VISITORS: Final = 10_000
"""So many are remembered; whoever came longest ago is forgotten first."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Guests:
    """A bucket for each name: `burst` at once, and `a_minute` more as time goes by."""

    def __init__(self, monotonic: Callable[[], float], *, burst: int, a_minute: float) -> None:
        self._monotonic = monotonic
        self._burst = burst
        self._per_s = a_minute / 60
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def welcome(self, name: str) -> bool:
        """Whether one more is fine; it counts."""
        now = self._monotonic()
        bucket = self._buckets.pop(name, None) or _Bucket(self._burst, now)
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._per_s)
        bucket.at = now
        self._buckets[name] = bucket
        if len(self._buckets) > VISITORS:
            self._buckets.popitem(last=False)
        if bucket.left < 1:
            return False
        bucket.left -= 1
        return True
