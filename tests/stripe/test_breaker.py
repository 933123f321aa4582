"""The breaker opens on an unreachable Stripe, and on nothing else."""

import pytest

from anchorhold.domain.answer import Doubt, NothingSent, NotSent, Refused, Result, Shown, Unclear
from anchorhold.stripe.breaker import Breaker, BreakerState, BreakerView

UNREACHED = (
    NothingSent(NotSent.CONNECT_FAILED),
    Unclear(Doubt.CONNECTION_LOST),
    Unclear(Doubt.DEADLINE),
    Refused(500),
    Refused(503),
)
REACHED = (
    Shown("anything"),
    Refused(400, "invalid_request_error"),
    Refused(401),
    Refused(402, "card_error", "card_declined"),
    Refused(403),
    Refused(409, code="idempotency_key_in_use"),
    Refused(424),
    Refused(429, code="rate_limit"),
    Refused(429, code="lock_timeout"),
)
SILENT = (
    NothingSent(NotSent.DEADLINE_PASSED),
    NothingSent(NotSent.BREAKER_OPEN),
    NothingSent(NotSent.CREDENTIALS_UNREADABLE),
    Unclear(Doubt.UNREADABLE_ANSWER),
)


class Clock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures=3, rest_s=30, clock=clock)


def end(breaker: Breaker, *results: Result[object]) -> None:
    """Calls that were let through, one after the other, and how each ended."""
    for result in results:
        permit = breaker.admit()
        assert permit is not None
        breaker.record(permit, result)


@pytest.mark.parametrize("result", UNREACHED, ids=str)
def test_three_unreached_calls_in_a_row_open_it(breaker: Breaker, result: Result[object]) -> None:
    end(breaker, result, result)
    assert breaker.view() == BreakerView(BreakerState.CLOSED, 2, 0.0)
    end(breaker, result)
    assert breaker.view() == BreakerView(BreakerState.OPEN, 3, 30.0)
    assert breaker.admit() is None


@pytest.mark.parametrize("result", REACHED, ids=str)
def test_an_answer_never_opens_it_and_ends_the_row(
    breaker: Breaker, result: Result[object]
) -> None:
    end(breaker, Refused(500), Refused(500), result, Refused(500), Refused(500))
    end(breaker, *[result] * 9)
    assert breaker.view() == BreakerView(BreakerState.CLOSED, 0, 0.0)


@pytest.mark.parametrize("result", SILENT, ids=str)
def test_what_says_nothing_about_the_road_changes_nothing(
    breaker: Breaker, result: Result[object]
) -> None:
    end(breaker, Refused(500), result, result, result, Refused(500))
    assert breaker.view() == BreakerView(BreakerState.CLOSED, 2, 0.0)


def test_a_rested_breaker_lets_exactly_one_probe_through(breaker: Breaker, clock: Clock) -> None:
    end(breaker, *[Refused(500)] * 3)
    clock.now += 29.9
    assert breaker.admit() is None
    clock.now += 0.1
    assert breaker.view().state is BreakerState.HALF_OPEN
    assert breaker.admit() is not None
    assert [breaker.admit() for _ in range(9)] == [None] * 9


def test_a_probe_that_arrives_closes_it(breaker: Breaker, clock: Clock) -> None:
    end(breaker, *[Refused(500)] * 3)
    clock.now += 30
    end(breaker, Refused(402, "card_error"))
    assert breaker.view() == BreakerView(BreakerState.CLOSED, 0, 0.0)


def test_a_probe_that_does_not_arrive_opens_it_for_another_rest(
    breaker: Breaker, clock: Clock
) -> None:
    end(breaker, *[Refused(500)] * 3)
    clock.now += 30
    end(breaker, Unclear(Doubt.DEADLINE))
    assert breaker.view() == BreakerView(BreakerState.OPEN, 4, 30.0)


def test_a_cancelled_probe_leaves_the_turn_to_another(breaker: Breaker, clock: Clock) -> None:
    end(breaker, *[Refused(500)] * 3)
    clock.now += 30
    probe = breaker.admit()
    assert probe is not None
    breaker.forget(probe)
    assert breaker.admit() is not None


def test_calls_from_before_the_opening_neither_close_it_nor_take_the_probe(
    breaker: Breaker, clock: Clock
) -> None:
    early, also_early = breaker.admit(), breaker.admit()
    assert early is not None
    assert also_early is not None
    end(breaker, *[Refused(500)] * 3)
    breaker.record(early, Shown("at last"))
    assert breaker.view().state is BreakerState.OPEN
    clock.now += 30
    assert breaker.admit() is not None
    breaker.forget(also_early)
    assert breaker.admit() is None
