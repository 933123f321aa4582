"""The tick's period as a cron line."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from croniter import croniter

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.worker.schedule import cron_of

START = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "seconds", [1, 2, 5, 30, 60, 120, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400]
)
def test_a_period_that_divides_evenly_comes_due_that_often_also_over_midnight(seconds: int) -> None:
    times = croniter(cron_of(seconds), START, ret_type=datetime)
    ticks = [times.get_next() for _ in range(100)]
    gaps = {later - earlier for earlier, later in pairwise(ticks)}
    assert gaps == {timedelta(seconds=seconds)}


@pytest.mark.parametrize("seconds", [0.5, 7, 45, 61, 90, 2.5, 2700, 5400, 50_000, 172_800])
def test_any_other_period_is_refused_with_an_example(seconds: float) -> None:
    with pytest.raises(Refusal) as refused:
        cron_of(seconds)
    assert refused.value.code is Code.SETTINGS_INVALID
    assert "ANCHORHOLD_TICK_SECONDS" in refused.value.sentence
    assert f"{seconds:g} seconds" in refused.value.sentence
