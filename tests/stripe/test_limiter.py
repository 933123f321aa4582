"""Calls wait their turn, never beyond their deadline, and a 429 makes an endpoint rest."""

import asyncio
import math
import time

import pytest

from anchorhold.domain.answer import Deadline, Refused, Shown
from anchorhold.stripe.limiter import Limiter, bucket

CONFIRM = "post /v1/payment_intents/{}/confirm"
LIST = "get /v1/payment_intents"
RARELY = 1 / 3600
LIMITED = Refused(429, "invalid_request_error", "rate_limit")
AMPLE = 1_000_000.0


class Clock:
    """The real clock, and what the test adds to it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


def in_(seconds: float, clock: Clock) -> Deadline:
    return Deadline(clock() + seconds)


async def test_a_call_whose_turn_comes_too_late_is_told_before_anything_is_sent(
    clock: Clock,
) -> None:
    lane = Limiter(per_endpoint=RARELY, clock=clock).lane("acct_1", CONFIRM)
    assert await lane.enter(in_(9, clock))
    assert not await lane.enter(in_(0.02, clock))


@pytest.mark.parametrize("limit", [1, 5, 25, 100])
def test_no_second_holds_more_calls_than_the_limit_and_none_is_half_used(limit: int) -> None:
    full = bucket(limit)
    rate = full.max_rate / full.time_period
    assert math.floor(full.max_rate + rate) <= limit
    assert rate >= 0.9 * limit


async def test_a_call_waits_for_its_turn(clock: Clock) -> None:
    lane = Limiter(per_endpoint=200, clock=clock).lane("acct_1", CONFIRM)
    turns = await asyncio.gather(*(lane.enter(in_(9, clock)) for _ in range(30)))
    assert all(turns)


async def test_endpoints_and_accounts_do_not_wait_for_each_other(clock: Clock) -> None:
    limiter = Limiter(per_endpoint=RARELY, per_account=AMPLE, clock=clock)
    for account in ("acct_1", "acct_2"):
        for endpoint in (CONFIRM, LIST):
            assert await limiter.lane(account, endpoint).enter(in_(0.02, clock))


async def test_all_endpoints_of_an_account_share_its_limit(clock: Clock) -> None:
    limiter = Limiter(per_endpoint=AMPLE, per_account=RARELY, clock=clock)
    assert await limiter.lane("acct_1", CONFIRM).enter(in_(9, clock))
    assert not await limiter.lane("acct_1", LIST).enter(in_(0.02, clock))


async def test_a_429_makes_that_endpoint_of_that_account_rest(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    lane = limiter.lane("acct_1", CONFIRM)
    lane.record(LIMITED)
    assert not await lane.enter(in_(0.5, clock))
    assert await limiter.lane("acct_1", LIST).enter(in_(0.5, clock))
    assert await limiter.lane("acct_2", CONFIRM).enter(in_(0.5, clock))
    clock.ahead += 1
    assert await lane.enter(in_(0.5, clock))


async def test_the_rest_doubles_with_each_429_in_a_row_and_an_answer_ends_the_row(
    clock: Clock,
) -> None:
    lane = Limiter(per_endpoint=AMPLE, per_account=AMPLE, clock=clock).lane("acct_1", CONFIRM)
    for rest in (1, 2, 4, 8, 16, 30, 30):
        lane.record(LIMITED)
        lane.record(LIMITED)  # another call of the same moment is the same news
        assert not await lane.enter(in_(rest - 0.5, clock))
        clock.ahead += rest
        assert await lane.enter(in_(0.5, clock))
    lane.record(Shown("well"))
    lane.record(LIMITED)
    clock.ahead += 1
    assert await lane.enter(in_(0.5, clock))


async def test_stripe_may_ask_for_a_longer_rest(clock: Clock) -> None:
    lane = Limiter(clock=clock).lane("acct_1", CONFIRM)
    lane.record(Refused(429, retry_after=20))
    clock.ahead += 19
    assert not await lane.enter(in_(0.5, clock))


async def test_a_lock_on_one_object_is_no_rate_limit(clock: Clock) -> None:
    lane = Limiter(clock=clock).lane("acct_1", CONFIRM)
    lane.record(Refused(429, "invalid_request_error", "lock_timeout"))
    assert await lane.enter(in_(0.5, clock))


async def test_a_cancelled_wait_is_cancelled(clock: Clock) -> None:
    lane = Limiter(per_endpoint=RARELY, clock=clock).lane("acct_1", CONFIRM)
    await lane.enter(in_(9, clock))
    waiting = asyncio.ensure_future(lane.enter(in_(9, clock)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
