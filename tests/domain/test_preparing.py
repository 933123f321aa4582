"""What the answer to a request that moves no money means (protocol section 2, Prepare)."""

import sys
from itertools import product

import pytest

from anchorhold.domain.answer import (
    CustomerView,
    Doubt,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.domain.preparing import PREPARE, Step, read
from tests.domain.tables import rows_without_a_test

STATUSES = (400, 401, 402, 403, 404, 405, 409, 424, 429, 500, 503)
REFUSALS = [
    Refused(status, type=type_)
    for status, type_ in product(STATUSES, (None, "idempotency_error", "invalid_request_error"))
]


def deciding(answer: Refused) -> str:
    return next(
        row.id
        for row in PREPARE
        if (not row.http or answer.status in row.http)
        and (not row.types or answer.type in row.types)
    )


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in PREPARE))


def test_every_refusal_has_a_row_and_every_row_a_refusal() -> None:
    assert {deciding(answer) for answer in REFUSALS} == {row.id for row in PREPARE}


def test_every_step_follows_from_some_answer() -> None:
    answers: list[Result[object]] = [Shown(CustomerView("cus_1")), *REFUSALS]
    assert {read(answer) for answer in answers} == set(Step)


def test_p1_a_key_used_with_other_parameters_is_spent() -> None:
    assert read(Refused(400, type="idempotency_error")) is Step.NEXT_NUMBER


@pytest.mark.parametrize("status", [401, 403])
def test_p2_a_refused_key_flags_the_account(status: int) -> None:
    assert read(Refused(status)) is Step.ACCOUNT


@pytest.mark.parametrize("status", [409, 429])
def test_p3_another_request_or_a_limiter_means_later(status: int) -> None:
    assert read(Refused(status)) is Step.LATER


@pytest.mark.parametrize("status", [400, 402, 404])
def test_p4_a_definite_refusal_is_somebodys_task(status: int) -> None:
    assert read(Refused(status)) is Step.REFUSED


@pytest.mark.parametrize("status", [424, 500, 503])
def test_p5_a_server_error_is_saved_under_its_key_which_is_spent(status: int) -> None:
    assert read(Refused(status)) is Step.NEXT_NUMBER


@pytest.mark.parametrize("doubt", Doubt)
def test_what_is_unclear_is_repeated_because_no_money_moves(doubt: Doubt) -> None:
    assert read(Unclear(doubt)) is Step.LATER


@pytest.mark.parametrize("cause", NotSent)
def test_what_was_not_sent_is_sent_later(cause: NotSent) -> None:
    assert read(NothingSent(cause)) is Step.LATER
