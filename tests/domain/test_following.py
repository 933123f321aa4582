"""What a followed and a watched intent's status means: each row, and every combination."""

import sys
from itertools import product

import pytest

from anchorhold.domain.answer import PAYABLE, IntentStatus
from anchorhold.domain.following import FOLLOW, Follow
from anchorhold.domain.following import read as follow
from anchorhold.domain.invoice import ANY, CLOSED, InvoiceStatus
from anchorhold.domain.watching import WATCH, Watch
from anchorhold.domain.watching import read as watch
from tests.domain.tables import rows_without_a_test

COMBINATIONS = list(product(IntentStatus, InvoiceStatus))
UNDER_WAY = (IntentStatus.PROCESSING, IntentStatus.REQUIRES_CAPTURE)
OPEN = InvoiceStatus.OPEN


def test_every_row_has_a_test() -> None:
    ids = [row.id for row in (*FOLLOW, *WATCH)]
    assert not rows_without_a_test(sys.modules[__name__], ids)


@pytest.mark.parametrize("own", [True, False])
def test_every_combination_has_exactly_one_row_in_each_table(own: bool) -> None:
    for table in (FOLLOW, WATCH):
        for intent, invoice in COMBINATIONS:
            fitting = [
                row.id
                for row in table
                if intent in row.intent
                and invoice in row.invoice
                and getattr(row, "own", None) in {None, own}
            ]
            assert len(fitting) == 1, (intent, invoice)


@pytest.mark.parametrize("invoice", sorted(ANY))
def test_f1_a_success_is_settled_whatever_became_of_the_invoice(invoice: InvoiceStatus) -> None:
    row = follow(IntentStatus.SUCCEEDED, invoice)
    assert (row.id, row.act) == ("F1", Follow.SETTLE)


@pytest.mark.parametrize("intent", UNDER_WAY)
def test_f2_what_is_under_way_is_waited_for(intent: IntentStatus) -> None:
    row = follow(intent, OPEN)
    assert (row.id, row.act) == ("F2", Follow.WAIT)


def test_f3_a_cancelled_intent_ends_the_following() -> None:
    row = follow(IntentStatus.CANCELED, OPEN)
    assert (row.id, row.act) == ("F3", Follow.END)


@pytest.mark.parametrize("intent", sorted(PAYABLE))
def test_f4_a_payable_one_ends_it_too_requires_action_included(intent: IntentStatus) -> None:
    row = follow(intent, OPEN)
    assert (row.id, row.act) == ("F4", Follow.END)


@pytest.mark.parametrize("intent", sorted(PAYABLE))
def test_f6_what_a_direct_charge_left_is_cancelled_before_the_following_ends(
    intent: IntentStatus,
) -> None:
    row = follow(intent, OPEN, own=False)
    assert (row.id, row.act) == ("F6", Follow.CANCEL)


@pytest.mark.parametrize("invoice", sorted(CLOSED))
def test_f5_on_a_closed_invoice_it_is_cancelled_first(invoice: InvoiceStatus) -> None:
    row = follow(IntentStatus.REQUIRES_PAYMENT_METHOD, invoice)
    assert (row.id, row.act) == ("F5", Follow.CANCEL)


def test_w1_a_success_that_came_late_is_settled() -> None:
    row = watch(IntentStatus.SUCCEEDED, OPEN)
    assert (row.id, row.act) == ("W1", Watch.SETTLE)


@pytest.mark.parametrize("intent", UNDER_WAY)
def test_w2_an_open_invoice_follows_what_is_under_way(intent: IntentStatus) -> None:
    row = watch(intent, OPEN)
    assert (row.id, row.act) == ("W2", Watch.FOLLOW)


def test_w3_a_closed_one_waits_for_its_end() -> None:
    row = watch(IntentStatus.PROCESSING, InvoiceStatus.UNCOLLECTIBLE)
    assert (row.id, row.act) == ("W3", Watch.WAIT)


def test_w4_a_cancelled_intent_makes_room_for_the_next() -> None:
    row = watch(IntentStatus.CANCELED, OPEN)
    assert (row.id, row.act) == ("W4", Watch.END)


@pytest.mark.parametrize("intent", sorted(PAYABLE))
def test_w5_a_payable_one_is_left_to_the_next_attempt(intent: IntentStatus) -> None:
    row = watch(intent, OPEN)
    assert (row.id, row.act) == ("W5", Watch.WAIT)


def test_w6_a_closed_invoice_must_not_stay_payable() -> None:
    row = watch(IntentStatus.REQUIRES_ACTION, InvoiceStatus.UNCOLLECTIBLE)
    assert (row.id, row.act) == ("W6", Watch.CANCEL)
