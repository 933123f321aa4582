"""The times of the protocol and the relations between them."""

import math
from dataclasses import fields

import pytest

from anchorhold.domain.timing import RELATIONS, Timing, setting_name

BROKEN = {
    "T1": Timing(min_left_seconds=119),
    "T2": Timing(deadline_auto_seconds=116),
    "T3": Timing(deadline_collect_seconds=116),
    "T4": Timing(deadline_dunning_seconds=116),
    "T5": Timing(hold_seconds=124),
    "T6": Timing(fence_max_seconds=86_395),
    "T7": Timing(parked_wait_seconds=86_399),
    "T8": Timing(parked_alarm_seconds=86_400),
}
"""One step beyond the edge of each relation."""

ON_THE_EDGE = Timing(
    min_left_seconds=120,
    call_bound_seconds=120,
    deadline_auto_seconds=115,
    deadline_collect_seconds=115,
    deadline_dunning_seconds=115,
    hold_seconds=125,
    fence_max_seconds=86_394,
    parked_wait_seconds=86_400,
    parked_alarm_seconds=86_401,
)


def test_the_defaults_are_safe() -> None:
    assert Timing().check() == ()


def test_the_defaults_are_those_of_the_protocol() -> None:
    assert [getattr(Timing(), field.name) for field in fields(Timing)] == [
        300, 120, 120, 30, 30, 15, 5, 600, 1800, 45, 300, 3600, 82_800, 86_400, 93_600, 7200, 3600,
    ]  # fmt: skip


def test_the_edge_of_every_relation_is_safe() -> None:
    assert ON_THE_EDGE.check() == ()


def test_every_relation_has_a_case_that_breaks_it() -> None:
    assert set(BROKEN) == {row.id for row in RELATIONS}


@pytest.mark.parametrize("id_", BROKEN)
def test_a_broken_relation_is_named_with_both_numbers(id_: str) -> None:
    (sentence,) = BROKEN[id_].check()
    assert sentence.startswith(f"{id_}: ANCHORHOLD_")
    assert sentence.count(" s)") >= 2
    assert " must be " in sentence


def test_a_hold_of_a_minute_says_what_it_lacks() -> None:
    assert Timing(hold_seconds=60).check() == (
        "T5: ANCHORHOLD_HOLD_SECONDS (60 s) must be at least ANCHORHOLD_MIN_LEFT_SECONDS (120 s)"
        " + ANCHORHOLD_DEADLINE_MARGIN_SECONDS (5 s), or no charge could ever pass its re-check",
    )


@pytest.mark.parametrize("field", [field.name for field in fields(Timing)])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_time_that_is_not_positive_is_never_safe(field: str, value: float) -> None:
    broken = Timing(**{field: value}).check()
    assert any(line.startswith(f"T0: {setting_name(field)} ") for line in broken)


def test_with_the_twin_the_life_of_its_own_keys_counts() -> None:
    quick = Timing(fence_max_seconds=30, parked_wait_seconds=60, parked_alarm_seconds=90)
    assert quick.check(key_life_seconds=60) == ()
    assert [line[:2] for line in quick.check()] == ["T7"]
    assert [line[:2] for line in quick.check(key_life_seconds=35)] == ["T6"]
    assert any("key (0 s)" in line for line in Timing().check(key_life_seconds=0))
