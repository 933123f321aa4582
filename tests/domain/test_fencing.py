"""What the answers to a fence mean: each row, in its order (H14)."""

import sys

import pytest

from anchorhold.domain.answer import (
    Doubt,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.domain.fencing import FENCING, Fence, Request, read
from tests.domain.tables import rows_without_a_test
from tests.domain.views import intent

REUSED = Refused(400, type="idempotency_error")
SILENT: list[Result[IntentView]] = [
    *(NothingSent(cause) for cause in NotSent),
    *(Unclear(doubt) for doubt in Doubt),
]


def acts(request: Request, answer: Result[IntentView]) -> tuple[str, Fence]:
    row = read(request, answer)
    return row.id, row.act


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in FENCING))


def test_k1_a_probe_that_is_carried_out_proves_that_the_charge_never_ran() -> None:
    for status in IntentStatus:
        assert acts(Request.PROBE, Shown(intent(status))) == ("K1", Fence.NEVER_RAN)


def test_k2_a_key_with_other_parameters_was_used() -> None:
    assert acts(Request.PROBE, REUSED) == ("K2", Fence.REPLAY)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 429, 500, 503])
def test_k3_any_other_refusal_of_the_probe_proves_nothing(status: int) -> None:
    assert acts(Request.PROBE, Refused(status)) == ("K3", Fence.KEEP)


def test_k3_and_k7_silence_proves_nothing() -> None:
    for answer in SILENT:
        assert acts(Request.PROBE, answer) == ("K3", Fence.KEEP)
        assert acts(Request.REPLAY, answer) == ("K7", Fence.KEEP)


def test_k4_the_stored_parameters_are_not_the_keys_either() -> None:
    assert acts(Request.REPLAY, REUSED) == ("K4", Fence.OTHERS_KEY)


@pytest.mark.parametrize("status", [424, 500, 502, 503, 504])
def test_k5_a_saved_server_error_is_as_unclear_as_it_was(status: int) -> None:
    assert acts(Request.REPLAY, Refused(status, replayed=True)) == ("K5", Fence.SAVED_ERROR)


@pytest.mark.parametrize(
    "answer",
    [
        Shown(intent(IntentStatus.SUCCEEDED), replayed=True),
        Shown(intent(IntentStatus.SUCCEEDED)),
        Refused(402, type="card_error", replayed=True),
        Refused(402, type="card_error"),
        Refused(400, type="invalid_request_error", replayed=True),
    ],
    ids=str,
)
def test_k6_the_charges_own_answer_speaks(answer: Result[IntentView]) -> None:
    assert acts(Request.REPLAY, answer) == ("K6", Fence.ITS_ANSWER)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 424, 429, 500, 503])
def test_k7_a_refusal_that_is_not_marked_as_replayed_speaks_of_itself(status: int) -> None:
    assert acts(Request.REPLAY, Refused(status)) == ("K7", Fence.KEEP)
