"""What a refusal of money or of an id tells, word for word: people act on it."""

from datetime import UTC, datetime, timedelta

import pytest

from anchorhold.domain.currencies import currency
from anchorhold.domain.ids import ATTEMPT, make
from anchorhold.domain.money import Money
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import Timing


def told(amount: str, code: str) -> dict[str, object]:
    with pytest.raises(Refusal) as no:
        Money.parse(amount, code)
    return dict(no.value.facts)


@pytest.mark.parametrize(
    ("amount", "code", "reason", "example"),
    [
        ("1e3", "eur", "it is not a plain decimal number", "10.00"),
        ("1.234", "eur", "this currency has 2 decimals", "10.00"),
        ("1.5", "jpy", "this currency has no decimals", "50"),
        ("1.001", "kwd", "Stripe needs its last decimal to be 0", "10.000"),
        ("1.2345", "kwd", "this currency has 3 decimals", "10.000"),
    ],
)
def test_a_malformed_amount_is_told_with_its_reason_and_an_example(
    amount: str, code: str, reason: str, example: str
) -> None:
    assert told(amount, code) == {
        "text": amount,
        "currency": code.upper(),
        "reason": reason,
        "example": example,
    }


def test_no_more_than_forty_characters_of_an_amount_are_told() -> None:
    assert told("x" * 41, "eur")["text"] == "x" * 40
    assert told("9" * 5000, "eur")["amount"] == "9" * 40


@pytest.mark.parametrize(
    ("code", "most"),
    [("eur", "999,999.99 EUR"), ("kwd", "99,999.990 KWD"), ("jpy", "9,999,999,999 JPY")],
)
def test_the_largest_amount_is_told(code: str, most: str) -> None:
    facts = told("9" * 5000, code)
    assert facts["maximum"] == most


def test_an_amount_that_stripe_would_not_charge_is_told_beside_the_limit() -> None:
    with pytest.raises(Refusal) as small:
        Money(1, currency("eur")).require_chargeable()
    assert small.value.facts["amount"] == "0.01 EUR"
    with pytest.raises(Refusal) as large:
        Money(10**9, currency("eur")).require_chargeable()
    assert large.value.facts["amount"] == "10,000,000.00 EUR"


def test_two_currencies_are_told_in_the_order_in_which_they_were_compared() -> None:
    with pytest.raises(Refusal) as no:
        _ = Money(100, currency("eur")) < Money(100, currency("usd"))
    assert no.value.facts == {"left": "1.00 EUR", "right": "1.00 USD"}


def test_equal_amounts_are_neither_less_nor_more() -> None:
    same = Money(100, currency("eur"))
    assert not same < Money(100, currency("eur"))
    assert not same > Money(100, currency("eur"))


def test_an_unknown_currency_is_told_shortened() -> None:
    with pytest.raises(Refusal) as no:
        currency("q" * 41)
    assert no.value.facts["currency"] == "q" * 40


def test_a_malformed_id_is_told_shortened_and_with_an_example() -> None:
    with pytest.raises(Refusal) as no:
        ATTEMPT.parse("y" * 61)
    assert no.value.code is Code.ID_MALFORMED
    assert no.value.facts == {"text": "y" * 60, "example": "att_0123456789ABCDEFGHJKMNPQR…"}


def test_an_id_is_divided_at_its_first_line() -> None:
    whole = make(ATTEMPT, 0, bytes(10))
    with pytest.raises(Refusal):
        ATTEMPT.parse(f"att_more_{whole.removeprefix('att_')}")


def test_an_id_that_cannot_be_made_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match=r"^an id needs 48 bits of milliseconds and 10 random"):
        make(ATTEMPT, -1, bytes(10))


def test_a_hold_that_was_asked_about_as_it_ended_waits_for_the_recheck() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    at = next_check_at(Timing(), now=now, hold_until=now, asked_at=now)
    assert at == now + timedelta(seconds=Timing().recheck_seconds)
