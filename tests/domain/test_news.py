"""The tables of news: total, each type once, and the ladder that only climbs."""

from itertools import pairwise

import pytest

from anchorhold.domain import disputes, refund
from anchorhold.domain.answer import Doubt, NothingSent, NotSent, Refused, Shown, Unclear
from anchorhold.domain.disputes import DISPUTES, Dispute
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import AccountId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.ladder import LADDER, wait_s
from anchorhold.domain.news import NEWS, TYPES, News, read, worth_a_look
from anchorhold.domain.notices import NOTICES, Ends
from anchorhold.domain.refund import REFUND, After, RefundState, RefundView, Standing, standing
from anchorhold.domain.scope import Scope

OURS = Scope(AccountId("acc_ours"), livemode=False)


def test_each_type_is_in_one_row_and_stripe_takes_them_in_one_request() -> None:
    assert len(TYPES) == len(set(TYPES)) <= 20
    assert {row.act for row in NEWS} == set(News)
    assert read("payment_intent.created") is None


@pytest.mark.parametrize(
    ("kind", "metadata", "foreign"),
    [
        ("payment_intent.succeeded", {"anchorhold_account_id": "acc_ours"}, False),
        ("payment_intent.succeeded", {"anchorhold_account_id": "acc_another"}, True),
        ("payment_intent.succeeded", {}, True),
        ("refund.created", {}, False),
        ("refund.created", {"anchorhold_account_id": "acc_another"}, True),
    ],
)
def test_a_foreign_event_says_so_itself(kind: str, metadata: dict[str, str], foreign: bool) -> None:
    event = StripeEvent("evt_1", kind, 1, "x", metadata=metadata)
    assert event.is_foreign(OURS) is foreign


def test_an_invoice_is_named_only_by_its_own_account() -> None:
    metadata = {"anchorhold_account_id": "acc_another", "anchorhold_invoice_id": "inv_1"}
    assert StripeEvent("evt_1", "x", 1, "x", metadata=metadata).names(OURS) is None


def test_a_look_is_made_where_it_can_change_something() -> None:
    assert worth_a_look(News.DECLINE, InvoiceStatus.OPEN, followed=True)
    assert not worth_a_look(News.DECLINE, InvoiceStatus.OPEN, followed=False)
    assert worth_a_look(News.DECLINE, InvoiceStatus.VOID, followed=False)
    assert worth_a_look(News.LOOK, InvoiceStatus.OPEN, followed=False)


def test_the_ladder_only_climbs() -> None:
    assert all(a.after_s < b.after_s and a.wait_s < b.wait_s for a, b in pairwise(LADDER))
    assert [wait_s(age) for age in (-5, 0, 599, 600, 3600, 10**9)] == [60, 60, 60, 300, 1800, 86400]


@pytest.mark.parametrize(
    ("answer", "after"),
    [
        (Shown(RefundView("re_1", RefundState.PENDING, 1, "eur")), After.LIST),
        (Refused(400, code="charge_already_refunded"), After.DONE_BEFORE),
        (Refused(400, code="charge_disputed"), After.DISPUTED),
        (Refused(401), After.NOT_SENT),
        (Refused(429, code="rate_limit"), After.NOT_SENT),
        (Refused(429, code="lock_timeout"), After.ASK),
        (Refused(400, type="idempotency_error"), After.ASK),
        (Refused(409), After.ASK),
        (Refused(500), After.ASK),
        (Refused(400, param="amount"), After.REFUSED),
        (NothingSent(NotSent.CONNECT_FAILED), After.NOT_SENT),
        (Unclear(Doubt.CONNECTION_LOST), After.ASK),
    ],
    ids=str,
)
def test_every_answer_to_a_refund_has_its_row(answer: object, after: After) -> None:
    assert refund.read(answer).after is after  # type: ignore[arg-type] - any of the four ways


def test_no_row_of_refunds_is_dead() -> None:
    assert len({row.id for row in REFUND}) == len(REFUND) == 10


def test_every_meaning_of_a_dispute_has_its_row_and_no_status_two() -> None:
    assert {row.means for row in DISPUTES} == set(Dispute)
    statuses = [status for row in DISPUTES for status in row.statuses]
    assert len(statuses) == len(set(statuses))
    assert disputes.read("newly_invented") is None


@pytest.mark.parametrize(
    ("refunded", "dispute", "word"),
    [
        (0, None, Standing.SUCCEEDED),
        (1, None, Standing.PARTLY_REFUNDED),
        (100, None, Standing.REFUNDED),
        (100, Dispute.OPEN, Standing.DISPUTED),
        (0, Dispute.INQUIRY, Standing.DISPUTED),
        (0, Dispute.LOST, Standing.CHARGED_BACK),
        (0, Dispute.WON, Standing.SUCCEEDED),
    ],
)
def test_a_payment_says_of_itself_in_one_word(
    refunded: int, dispute: Dispute | None, word: Standing
) -> None:
    assert standing(100, refunded, dispute) is word


def test_every_notice_can_be_ended_and_says_why_it_is_asked() -> None:
    assert len({row.code for row in NOTICES}) == len(NOTICES)
    for row in NOTICES:
        assert Ends.WORDS in row.ends
        assert row.happened.endswith(".")
        assert row.to_do.endswith(".")
        assert row.because
