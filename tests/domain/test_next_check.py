"""The next check is computed from the facts."""

from datetime import UTC, datetime, timedelta

import pytest

from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.timing import Timing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def ago(**delta: float) -> datetime:
    return NOW - timedelta(**delta)


def test_a_live_hold_is_looked_at_when_it_ends() -> None:
    ends = NOW + timedelta(minutes=4)
    assert next_check_at(Timing(), now=NOW, hold_until=ends, asked_at=None) == ends


def test_a_stale_hold_that_nobody_asked_about_is_due_now() -> None:
    assert next_check_at(Timing(), now=NOW, hold_until=ago(hours=1), asked_at=None) == NOW


def test_what_was_asked_before_the_hold_ended_does_not_count() -> None:
    at = next_check_at(Timing(), now=NOW, hold_until=ago(minutes=1), asked_at=ago(minutes=2))
    assert at == NOW


def test_a_kept_hold_is_looked_at_again_after_the_recheck_time() -> None:
    at = next_check_at(
        Timing(recheck_seconds=1800), now=NOW, hold_until=ago(hours=1), asked_at=ago(minutes=10)
    )
    assert at == NOW + timedelta(minutes=20)


@pytest.mark.parametrize(
    ("followed", "asked", "waits"),
    [
        (timedelta(seconds=10), None, timedelta(seconds=50)),
        (timedelta(minutes=2), timedelta(seconds=30), timedelta(seconds=30)),
        (timedelta(hours=3), timedelta(hours=1), timedelta(0)),
        (timedelta(hours=5), timedelta(hours=1), timedelta(hours=2)),
        (timedelta(days=9), timedelta(hours=1), timedelta(hours=23)),
    ],
)
def test_the_longer_it_is_followed_the_longer_until_the_next_look(
    followed: timedelta, asked: timedelta | None, waits: timedelta
) -> None:
    at = next_check_at(
        Timing(),
        now=NOW,
        hold_until=None,
        asked_at=NOW - asked if asked is not None else None,
        followed_at=NOW - followed,
    )
    assert at == NOW + waits


def test_a_hold_comes_before_a_followed_intent() -> None:
    at = next_check_at(
        Timing(), now=NOW, hold_until=ago(hours=1), asked_at=None, followed_at=ago(seconds=1)
    )
    assert at == NOW


def test_without_any_facts_it_is_due_now() -> None:
    assert next_check_at(Timing(), now=NOW, hold_until=None, asked_at=None) == NOW
