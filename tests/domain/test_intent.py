"""The requests that make and confirm an intent, parameter by parameter."""

from datetime import UTC, datetime

from anchorhold.domain.attempt import AttemptKind, reference_of
from anchorhold.domain.hold import Claim, Token
from anchorhold.domain.ids import ACCOUNT, INVOICE, AttemptId, derive
from anchorhold.domain.intent import (
    IntentState,
    Unnamed,
    Unprepared,
    charge_params,
    confirm_params,
    create_params,
    probe_params,
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


CLAIM = Claim(
    Token(SCOPE, BILL, AttemptId("att_1"), datetime(2026, 11, 30, tzinfo=UTC), 4),
    AttemptKind.AUTO,
    None,
    1000,
    "eur",
    "pm_1",
    action_is_old=False,
    stripe_account="acct_1",
    stripe_customer_id="cus_1",
    payment_method_types=("card",),
)
CHARGE = {
    "amount": 1000,
    "currency": "eur",
    "customer": "cus_1",
    "payment_method": "pm_1",
    "confirm": True,
    "off_session": True,
    "capture_method": "automatic",
    "confirmation_method": "automatic",
    "allowed_payment_method_types": ["card"],
    "metadata": {
        "anchorhold_account_id": SCOPE.account_id,
        "anchorhold_invoice_id": BILL,
        "anchorhold_attempt_id": reference_of(SCOPE, BILL, 4),
    },
}


def test_a_confirm_names_the_payment_method_and_says_that_nobody_is_there() -> None:
    assert confirm_params(CLAIM) == {"payment_method": "pm_1", "off_session": True}


def test_a_direct_charge_creates_and_confirms_in_one_request() -> None:
    assert charge_params(CLAIM) == CHARGE


def test_a_probe_is_the_charge_without_all_that_could_take_money() -> None:
    left_out = ("confirm", "off_session", "payment_method", "metadata")
    assert probe_params(CHARGE) == {
        **{name: value for name, value in CHARGE.items() if name not in left_out},
        "confirm": False,
        "metadata": {**charge_metadata(), "anchorhold_fence": "1"},
    }


def test_a_probe_of_a_charge_without_metadata_still_says_what_it_is() -> None:
    assert probe_params({"amount": 1}) == {
        "amount": 1,
        "confirm": False,
        "metadata": {"anchorhold_fence": "1"},
    }


def charge_metadata() -> dict[str, str]:
    return {
        "anchorhold_account_id": SCOPE.account_id,
        "anchorhold_invoice_id": BILL,
        "anchorhold_attempt_id": reference_of(SCOPE, BILL, 4),
    }
