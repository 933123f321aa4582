"""Amounts: Stripe's published minimums, in the units in which it publishes them."""

import re
from decimal import Decimal

import pytest

from anchorhold.twin import Clock
from anchorhold.twin.clock import WallClock
from anchorhold.twin.currencies import MINIMUM, SUPPORTED, decimals, shown
from tests.twin.client import Client

PUBLISHED = """
    USD 0.50  AED 2.00  AUD 0.50  BGN 1.00  BRL 0.50  CAD 0.50  CHF 0.50  CZK 15.00
    DKK 2.50  EUR 0.50  GBP 0.30  HKD 4.00  HUF 175.00  INR 0.50  JPY 50  MXN 10
    MYR 2  NOK 3.00  NZD 0.50  PLN 2.00  RON 2.00  SEK 3.00  SGD 0.50  THB 10
"""
ROWS = re.findall(r"([A-Z]{3}) (\S+)", PUBLISHED)


@pytest.mark.parametrize(("currency", "least"), ROWS)
def test_the_minimum_is_taken_and_one_unit_less_is_not(
    stripe: Client, currency: str, least: str
) -> None:
    code = currency.lower()
    minor = int(Decimal(least) * 10 ** decimals(code))
    path = "/v1/payment_intents"
    assert stripe.post(path, amount=minor, currency=code).status == 200
    refused = stripe.post(path, amount=minor - 1, currency=code)
    assert refused.error["code"] == "amount_too_small"
    assert refused.error["message"] == f"Amount must be at least {shown(minor, code)}"


def test_every_minimum_is_published_and_every_currency_supported() -> None:
    assert {currency.lower() for currency, _ in ROWS} == set(MINIMUM) <= SUPPORTED


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [(5, "usd", "0.05 usd"), (1230, "kwd", "1.230 kwd"), (50, "jpy", "50 jpy")],
)
def test_an_amount_is_shown_in_the_currencys_decimals(
    amount: int, currency: str, text: str
) -> None:
    assert shown(amount, currency) == text


@pytest.mark.parametrize(
    ("currency", "digits"), [("usd", 8), ("inr", 9), ("idr", 12), ("jpy", 10), ("lbp", 11)]
)
def test_the_number_of_digits_is_limited(stripe: Client, currency: str, digits: int) -> None:
    path = "/v1/payment_intents"
    assert stripe.post(path, amount=10**digits - 1, currency=currency).status == 200
    assert stripe.post(path, amount=10**digits, currency=currency).error["code"] == (
        "amount_too_large"
    )


@pytest.mark.parametrize("clock", [Clock(), WallClock()])
def test_a_clock_moves_forward_only(clock: Clock | WallClock) -> None:
    before = clock()
    assert clock.advance(3600) >= before + 3600
    assert clock() >= before + 3600
    with pytest.raises(ValueError, match="moves forward"):
        clock.advance(-1)
