"""The table of declines: total over what Stripe documents, and strict rather than mild."""

from itertools import pairwise

import pytest

from anchorhold.domain.answer import Decline
from anchorhold.domain.declines import ADVICE, DEFAULT, TABLE, DeclineRow, Remedy, remedy_of, row_of

CARD_CODES = {
    "approve_with_id", "authentication_not_handled", "authentication_required", "call_issuer",
    "card_not_supported", "card_velocity_exceeded", "currency_not_supported", "do_not_honor",
    "do_not_try_again", "duplicate_transaction", "expired_card", "fraudulent", "generic_decline",
    "incorrect_address", "incorrect_cvc", "incorrect_number", "incorrect_pin", "incorrect_zip",
    "insufficient_funds", "invalid_account", "invalid_amount", "invalid_cvc",
    "invalid_expiry_month", "invalid_expiry_year", "invalid_number", "invalid_pin",
    "issuer_not_available", "lost_card", "merchant_blacklist",
    "mobile_device_authentication_required", "new_account_information_available",
    "no_action_taken", "not_permitted", "offline_pin_required", "online_or_offline_pin_required",
    "pickup_card", "pin_try_exceeded", "processing_error", "reenter_transaction",
    "restricted_card", "revocation_of_all_authorizations", "revocation_of_authorization",
    "security_violation", "service_not_allowed", "stolen_card", "stop_payment_order",
    "testmode_decline", "transaction_not_allowed", "try_again_later",
    "withdrawal_count_limit_exceeded",
}  # fmt: skip
"""Stripe's page "Stripe decline codes", card decline codes."""

LOCAL_CODES = {
    "compliance_violation", "currency_not_supported", "duplicate_transaction", "expired_card",
    "expired_payment_information", "insufficient_funds", "invalid_amount",
    "invalid_authorization", "invalid_billing_agreement", "invalid_business_account",
    "invalid_customer_account", "invalid_payment_information", "partner_generic_decline",
    "partner_high_risk_customer", "partner_payment_not_found", "payment_disputed",
    "payment_limit_exceeded", "processing_error",
}  # fmt: skip
"""The same page, local payment method decline codes."""

HIDDEN_FROM_CUSTOMERS = {"fraudulent", "lost_card", "merchant_blacklist", "stolen_card"}
"""Codes of which the page says not to tell the customer more than `generic_decline`."""


def card_declined(decline_code: str | None, advice: str | None = None) -> Decline:
    return Decline("card_declined", decline_code, advice)


def test_the_table_has_every_documented_code_and_no_other() -> None:
    assert set(TABLE) == CARD_CODES | LOCAL_CODES | {"card_decline_rate_limit_exceeded"}


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.code)
def test_every_row_tells_people_one_sentence(row: DeclineRow) -> None:
    assert row.sentence.endswith(".")
    assert row.for_customer.endswith(".")


def test_every_remedy_is_the_answer_to_some_code() -> None:
    assert {row.remedy for row in TABLE.values()} == set(Remedy)


def test_reasons_that_stripe_hides_from_customers_are_hidden() -> None:
    assert {code for code, row in TABLE.items() if row.private} >= HIDDEN_FROM_CUSTOMERS
    assert TABLE["stolen_card"].for_customer == DEFAULT.sentence
    assert TABLE["insufficient_funds"].for_customer == TABLE["insufficient_funds"].sentence


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("insufficient_funds", Remedy.RETRY_LATER),
        ("card_velocity_exceeded", Remedy.WAIT_A_DAY),
        ("authentication_required", Remedy.ASK_CUSTOMER),
        ("expired_card", Remedy.NEW_METHOD),
        ("stop_payment_order", Remedy.NEVER),
    ],
)
def test_a_decline_code_decides_who_acts_next(code: str, remedy: Remedy) -> None:
    assert remedy_of(card_declined(code)) is remedy


def test_a_code_that_stands_alone_is_understood_too() -> None:
    assert remedy_of(Decline("card_decline_rate_limit_exceeded")) is Remedy.WAIT_A_DAY
    assert remedy_of(Decline("authentication_required")) is Remedy.ASK_CUSTOMER


def test_the_stricter_of_two_codes_counts() -> None:
    assert row_of(Decline("expired_card", "generic_decline")).code == "expired_card"
    both = Decline("card_decline_rate_limit_exceeded", "insufficient_funds")
    assert remedy_of(both) is Remedy.WAIT_A_DAY


@pytest.mark.parametrize("code", [None, "", "a_code_of_next_year"])
def test_a_code_that_nobody_documented_is_retried_later(code: str | None) -> None:
    assert row_of(card_declined(code)) is DEFAULT
    assert remedy_of(card_declined(code)) is Remedy.RETRY_LATER


@pytest.mark.parametrize("code", sorted(TABLE))
@pytest.mark.parametrize("advice", [*ADVICE, "advice_of_next_year", None])
def test_advice_makes_a_decline_stricter_and_never_milder(code: str, advice: str | None) -> None:
    asked = ADVICE.get(advice or "", Remedy.RETRY_LATER)
    assert remedy_of(card_declined(code, advice)) is max(TABLE[code].remedy, asked)


def test_do_not_try_again_waits_for_a_new_payment_method() -> None:
    decline = card_declined("insufficient_funds", "do_not_try_again")
    assert remedy_of(decline) is Remedy.NEW_METHOD


def test_remedies_stand_in_order_from_mild_to_strict() -> None:
    assert all(mild < strict for mild, strict in pairwise(Remedy))
