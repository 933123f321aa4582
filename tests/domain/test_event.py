"""Whom an event is about, by what it says itself."""

import pytest

from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import ACCOUNT, derive
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.news import News, worth_a_look
from anchorhold.domain.scope import Scope

SCOPE = Scope(derive(ACCOUNT, "a"), livemode=False)
OURS = {"anchorhold_account_id": SCOPE.account_id, "anchorhold_invoice_id": "inv_1"}
OTHERS = {**OURS, "anchorhold_account_id": "acc_another"}


def event(type_: str, metadata: dict[str, str]) -> StripeEvent:
    return StripeEvent("evt_1", type_, 1, "pi_1", metadata=metadata)


@pytest.mark.parametrize("type_", ["payment_intent.succeeded", "refund.created"])
def test_what_names_this_account_is_not_foreign(type_: str) -> None:
    assert not event(type_, OURS).is_foreign(SCOPE)
    assert event(type_, OTHERS).is_foreign(SCOPE)


def test_an_intent_names_its_account_and_a_refund_need_not() -> None:
    assert event("payment_intent.succeeded", {}).is_foreign(SCOPE)
    assert not event("refund.created", {}).is_foreign(SCOPE)


def test_only_this_accounts_invoice_is_named() -> None:
    assert event("payment_intent.succeeded", OURS).names(SCOPE) == "inv_1"
    assert event("payment_intent.succeeded", OTHERS).names(SCOPE) is None


def test_a_type_that_is_not_in_question_asks_for_nothing() -> None:
    assert event("payment_intent.succeeded", OURS).act is News.SETTLE
    assert event("customer.created", OURS).act is None


def test_an_open_invoices_declined_intent_is_not_worth_a_look() -> None:
    assert not worth_a_look(News.DECLINE, InvoiceStatus.OPEN, followed=False)
    assert worth_a_look(News.DECLINE, InvoiceStatus.OPEN, followed=True)
    assert worth_a_look(News.DECLINE, InvoiceStatus.VOID, followed=False)
    assert worth_a_look(News.LOOK, InvoiceStatus.OPEN, followed=False)
