"""Bank debits of three schemes: days of `processing`, then the end that the test account says."""

from typing import Any

import pytest

from anchorhold.twin import Clock
from tests.twin.client import Client

MANDATE = {"customer_acceptance": {"type": "offline"}}
NOW, LATER = 20, 180

# fmt: off
ENDS = [
    # payment method, currency, after so many seconds, the intent, failure code, disputed
    ("pm_usBankAccount_success",            "usd", NOW,   "succeeded", None, False),
    ("pm_usBankAccount_insufficientFunds",  "usd", NOW,   "requires_payment_method",
     "insufficient_funds", False),
    ("pm_usBankAccount_dispute",            "usd", NOW,   "succeeded", None, True),
    ("pm_success_de",                       "eur", NOW,   "succeeded", None, False),
    ("pm_failedDelayed_at",                 "eur", LATER, "requires_payment_method",
     "incorrect_account_holder_name", False),
    ("pm_disputed_at",                      "eur", NOW,   "succeeded", None, True),
    ("pm_bacsDebit_success",                "gbp", NOW,   "succeeded", None, False),
    ("pm_bacsDebit_successDelayed",         "gbp", LATER, "succeeded", None, False),
    ("pm_bacsDebit_insufficientFundsDelayed", "gbp", LATER, "requires_payment_method",
     "insufficient_funds", False),
    ("pm_bacsDebit_exceedsWeeklyLimit",     "gbp", NOW,   "requires_payment_method",
     "charge_exceeds_source_limit", False),
    ("pm_bacsDebit_dispute",                "gbp", LATER, "succeeded", None, True),
]
# fmt: on


def debit(stripe: Client, method: str, currency: str) -> dict[str, Any]:
    """A debit that is under way."""
    return stripe.intent(
        currency=currency, confirm=True, off_session=True, payment_method=method,
        mandate_data=MANDATE,
    )  # fmt: skip


@pytest.mark.parametrize(("method", "currency", "after", "status", "failure", "disputed"), ENDS)
def test_a_debit_ends_as_its_account_is_documented_to(
    stripe: Client, clock: Clock, method: str, currency: str, after: int, status: str,
    failure: str | None, disputed: bool,
) -> None:  # fmt: skip
    intent = debit(stripe, method, currency)
    assert intent["status"] == "processing"
    clock.advance(after - 1)
    path = f"/v1/payment_intents/{intent['id']}"
    assert stripe.get(path).body["status"] == "processing"
    clock.advance(1)
    ended = stripe.get(path, expand=["latest_charge"]).body
    assert (ended["status"], ended["latest_charge"]["failure_code"]) == (status, failure)
    assert ended["latest_charge"]["disputed"] is disputed
    assert len(stripe.get("/v1/disputes").body["data"]) == disputed


@pytest.mark.parametrize(
    ("method", "currency"), [("pm_bacsDebit_success", "eur"), ("pm_success_de", "gbp")]
)
def test_a_debit_is_taken_in_its_own_currency_only(
    stripe: Client, method: str, currency: str
) -> None:
    refused = stripe.post(
        "/v1/payment_intents", amount=500, currency=currency, confirm=True, off_session=True,
        payment_method=method, mandate_data=MANDATE,
    )  # fmt: skip
    assert refused.status == 400


def test_a_bacs_account_whose_bank_knows_of_no_mandate_is_not_debited_again(
    stripe: Client, clock: Clock
) -> None:
    customer = stripe.customer("pm_bacsDebit_debitNotAuthorized")
    intent = stripe.intent(currency="gbp", customer=customer["id"])
    under_way = stripe.confirm(
        intent["id"], payment_method=customer["method"], mandate_data=MANDATE
    )
    assert under_way.body["status"] == "processing"
    clock.advance(NOW)
    again = stripe.confirm(intent["id"], payment_method=customer["method"])
    assert "may not be used again" in again.error["message"]


def test_a_bacs_account_is_named_by_its_number_and_sort_code(stripe: Client) -> None:
    account = {"account_number": "00012345", "sort_code": "108800"}
    made = stripe.done("/v1/payment_methods", type="bacs_debit", bacs_debit=account)
    assert (made["bacs_debit"]["last4"], made["bacs_debit"]["sort_code"]) == ("2345", "108800")
    strange = {**account, "account_number": "00044444"}
    refused = stripe.post("/v1/payment_methods", type="bacs_debit", bacs_debit=strange)
    assert refused.error["param"] == "bacs_debit[account_number]"
