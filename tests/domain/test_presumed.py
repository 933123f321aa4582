"""Whose an intent is that turns up after all."""

from dataclasses import replace
from datetime import UTC, datetime

from anchorhold.domain.attempt import reference_of
from anchorhold.domain.ids import ACCOUNT, INVOICE, AttemptId, derive
from anchorhold.domain.intent import METADATA_ATTEMPT, METADATA_FENCE
from anchorhold.domain.presumed import Presumed, maker_among
from anchorhold.domain.scope import Scope
from tests.domain.views import intent

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCOPE = Scope(derive(ACCOUNT, "a"), livemode=False)
BILL = derive(INVOICE, "i")
ROWS = [Presumed(AttemptId(f"att_{seq}"), seq, "acct_1", "cus_1", AT, (), AT) for seq in (0, 2)]


def made_by(seq: int, **more: str) -> AttemptId | None:
    metadata = {METADATA_ATTEMPT: reference_of(SCOPE, BILL, seq), **more}
    return maker_among(SCOPE, BILL, ROWS, replace(intent(), metadata=metadata))


def test_an_intent_is_of_the_attempt_that_it_names() -> None:
    assert made_by(0) == "att_0"
    assert made_by(2) == "att_2"


def test_one_that_names_none_of_them_is_nobodys() -> None:
    assert made_by(1) is None
    assert maker_among(SCOPE, BILL, ROWS, intent()) is None


def test_what_a_probe_made_is_nobodys() -> None:
    assert made_by(0, **{METADATA_FENCE: "1"}) is None
