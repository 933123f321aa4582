"""The rate limit: calls leave no faster than Stripe lets an account and an endpoint.

Stripe: 25 requests a second for each endpoint and 100 for a live account (docs, "Rate limits").
A wait never outlives the call's deadline; a 429 makes the endpoint rest for that account.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from aiolimiter import AsyncLimiter

from anchorhold.domain.answer import Deadline, Refused, Result

BURST_SHARE = 0.04  # of the limit may leave at once; the rest of a second is spread out
BURST = 2.0  # but two may if they are no more than this share: of one alone, each delay is lost
BURST_SHARE_MAX = 0.08
FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0


def bucket(per_second: float) -> AsyncLimiter:
    """A bucket that lets through at most `per_second` calls in any second."""
    burst = max(per_second * BURST_SHARE, min(BURST, per_second * BURST_SHARE_MAX))
    rate = per_second - burst
    return AsyncLimiter(max(1.0, burst), max(1.0, burst) / rate)


class Queue:
    """How many calls wait, in all lanes of a process."""

    def __init__(self) -> None:
        self.waiting = 0

    @contextmanager
    def one_more(self) -> Generator[None]:
        """One waits, inside the block."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1


class Lane:
    """One endpoint of one account."""

    def __init__(
        self,
        endpoint: AsyncLimiter,
        account: AsyncLimiter,
        clock: Callable[[], float],
        queue: Queue | None = None,
    ) -> None:
        self._buckets = (endpoint, account)
        self._clock = clock
        self._queue = queue or Queue()
        self._rests_until = 0.0
        self._rest_s = 0.0

    async def enter(self, deadline: Deadline) -> bool:
        """True when it is this call's turn, False when that is not before its deadline."""
        if self._rests_until >= deadline.at:
            return False
        if self._free():
            await self._take()
            return True
        try:
            with self._queue.one_more():
                async with asyncio.timeout(deadline.at - self._clock()):
                    await self._rest()
                    await self._take()
        except TimeoutError:
            return False
        return True

    def record(self, result: Result[object]) -> None:
        """Rest after a 429, longer each time in a row; a lock on one object is no rate limit."""
        match result:
            case Refused(status=429, code="lock_timeout"):
                pass
            case Refused(status=429, retry_after=asked):
                self._back_off(asked or 0)
            case _:
                self._rest_s = 0.0

    def _free(self) -> bool:
        rested = self._rests_until <= self._clock()
        return rested and all(limiter.has_capacity() for limiter in self._buckets)

    async def _rest(self) -> None:
        while (rest := self._rests_until - self._clock()) > 0:  # noqa: ASYNC110  # may be prolonged
            await asyncio.sleep(rest)

    async def _take(self) -> None:
        for limiter in self._buckets:
            await limiter.acquire()

    def _back_off(self, asked_s: float) -> None:
        now = self._clock()
        if now >= self._rests_until:  # answers to calls sent before the rest do not prolong it
            self._rest_s = min(LONGEST_REST_S, max(FIRST_REST_S, self._rest_s * 2))
        self._rests_until = max(self._rests_until, now + max(self._rest_s, asked_s))


class Limiter:
    """The lanes of all accounts of a process; limits in calls a second."""

    def __init__(
        self,
        *,
        per_endpoint: float = 25.0,
        per_account: float = 100.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_endpoint = per_endpoint
        self._per_account = per_account
        self._clock = clock
        self._accounts: dict[str, AsyncLimiter] = {}
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._queue = Queue()

    @property
    def waiting(self) -> int:
        """How many calls wait for their turn now."""
        return self._queue.waiting

    def lane(self, account: str, endpoint: str) -> Lane:
        """The lane of this endpoint; `endpoint` is verb and path with ids left out."""
        lane = self._lanes.get((account, endpoint))
        if lane is None:
            whole = self._accounts.setdefault(account, bucket(self._per_account))
            lane = Lane(bucket(self._per_endpoint), whole, self._clock, self._queue)
            self._lanes[account, endpoint] = lane
        return lane
