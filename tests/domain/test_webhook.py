"""What others are told, when it is tried again, and what their answers mean, row by row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhold.domain.webhook import (
    ANSWERS,
    JITTER,
    RETRY_AFTER_MAX_S,
    TYPES,
    WAITS_S,
    Act,
    Outcome,
    read,
    types_of,
    wait_s,
)

SAID = [
    (200, "O1"), (204, "O1"), (299, "O1"), (301, "O2"), (307, "O2"), (410, "O3"), (429, "O4"),
    (502, "O4"), (503, "O4"), (504, "O4"), (400, "O5"), (401, "O5"), (404, "O5"), (500, "O5"),
    (501, "O5"), (100, "O5"), (999, "O5"), (Outcome.NO_ANSWER, "O6"), (Outcome.NO_CONNECTION, "O7"),
    (Outcome.PRIVATE_ADDRESS, "O8"), (Outcome.NO_SECRET, "O9"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "row"), SAID, ids=str)
def test_an_answer_means(said: int | Outcome, row: str) -> None:
    assert read(said).id == row


def test_every_row_decides_something() -> None:
    assert {row for _, row in SAID} == {row.id for row in ANSWERS}


def test_a_payment_of_too_much_tells_of_both() -> None:
    assert types_of("payment.overpaid") == ("invoice.paid", "payment.amount_mismatch")


def test_what_nobody_is_told_makes_no_message() -> None:
    assert types_of("attempt.claimed") == ()


def test_every_type_has_a_name_of_its_own() -> None:
    assert len({row.name for row in TYPES}) == len(TYPES)


def test_the_tries_end_after_the_last_wait() -> None:
    waits = [wait_s(read(500), n, chance=0, retry_after_s=None) for n in range(1, 12)]
    assert waits == [*map(float, WAITS_S), None, None]


@pytest.mark.parametrize("said", [200, 410])
def test_nothing_is_tried_again_after(said: int) -> None:
    assert wait_s(read(said), 1, chance=0, retry_after_s=5) is None
    assert read(said).act in {Act.DELIVERED, Act.SWITCH_OFF}


@given(
    tries=st.integers(1, len(WAITS_S)),
    chance=st.floats(0, 1),
    asked=st.none() | st.floats(0, 1e9),
)
def test_a_wait_is_the_longer_of_ours_and_theirs(
    tries: int, chance: float, asked: float | None
) -> None:
    wait = wait_s(read(503), tries, chance=chance, retry_after_s=asked)
    assert wait is not None
    assert wait >= WAITS_S[tries - 1]
    assert wait >= min(asked or 0, RETRY_AFTER_MAX_S)
    assert wait <= max(WAITS_S[tries - 1] * (1 + JITTER), RETRY_AFTER_MAX_S)
