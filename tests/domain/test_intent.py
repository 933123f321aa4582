"""The requests that make and confirm an intent, parameter by parameter."""

from anchorhold.domain.ids import ACCOUNT, INVOICE, derive
from anchorhold.domain.intent import (
    IntentState,
    Unnamed,
    Unprepared,
    create_params,
)
from anchorhold.domain.scope import Scope

SCOPE = Scope(derive(ACCOUNT, "a"), livemode=False)
BILL = derive(INVOICE, "i")


def test_an_intent_is_created_unconfirmed_and_without_a_payment_method() -> None:
    invoice = Unprepared(SCOPE, BILL, 1000, "eur", "acct_1", "cus_1", ("card", "sepa_debit"), 3)
    assert create_params(invoice, 3) == {
        "amount": 1000,
        "currency": "eur",
        "customer": "cus_1",
        "capture_method": "automatic",
        "confirmation_method": "automatic",
        "allowed_payment_method_types": ["card", "sepa_debit"],
        "metadata": {
            "anchorhold_account_id": SCOPE.account_id,
            "anchorhold_invoice_id": BILL,
            "anchorhold_intent_number": "3",
        },
    }


def unnamed(*, is_open: bool = True, due: int = 1000, state: str = "preparing") -> Unnamed:
    return Unnamed(
        invoice_open=is_open,
        held=False,
        amount_remaining=due,
        amount=1000,
        state=IntentState(state),
        stripe_intent_id=None,
    )


def test_an_intent_is_unwanted_when_the_invoice_is_closed_or_another_amount_is_due() -> None:
    assert not unnamed().unwanted
    assert unnamed(is_open=False).unwanted
    assert unnamed(due=900).unwanted


def test_an_intent_that_is_stored_is_never_unwanted() -> None:
    assert not unnamed(is_open=False, due=900, state="live").unwanted
