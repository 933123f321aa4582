"""Money: Stripe's minor units, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from iso4217 import Currency as Iso

from anchorhold.domain.currencies import TABLE, Currency, Rule, currency
from anchorhold.domain.money import Money
from anchorhold.domain.refusal_kinds import Coded
from anchorhold.domain.refusals import Code, Refusal

WITHDRAWN_BY_ISO = {"ang", "bgn", "std"}
"""Still on Stripe's page; ISO 4217 replaced them by XCG, EUR and STN."""

STRIPE_COUNTS_OTHERWISE = {"isk": (0, 2), "ugx": (0, 2), "mga": (2, 0)}
"""Currency: decimals of ISO 4217, decimals of Stripe."""

rules = st.sampled_from([TABLE[code] for code in sorted(TABLE)])


def money(text: str) -> Money:
    amount, code = text.split(" ")
    return Money.parse(amount, code)


def refused(amount: str, code: str) -> Coded:
    with pytest.raises(Refusal) as no:
        Money.parse(amount, code)
    return no.value.code


@pytest.mark.parametrize("code", sorted(set(TABLE) - WITHDRAWN_BY_ISO))
def test_decimals_are_those_of_iso_4217_with_the_exceptions_written_out(code: str) -> None:
    iso, ours = STRIPE_COUNTS_OTHERWISE.get(code) or (TABLE[currency(code)].decimals,) * 2
    assert Iso(code.upper()).exponent == iso
    assert TABLE[currency(code)].decimals == ours


def test_the_withdrawn_currencies_are_really_not_in_iso_4217() -> None:
    assert not WITHDRAWN_BY_ISO & {iso.code.lower() for iso in Iso}


def test_every_row_of_the_table_can_hold_its_own_minimum() -> None:
    for rule in TABLE.values():
        assert rule.code.isascii()
        assert rule.code.islower()
        assert len(rule.code) == 3
        assert rule.minimum < 10**rule.digits
        assert rule.minimum == 1 or rule.minimum % rule.step == 0


def test_the_table_has_each_currency_once() -> None:
    assert len(TABLE) == 139


def test_case_g1_yen_have_no_minor_unit() -> None:
    assert money("5000 jpy") == Money(5000, Currency("jpy"))


def test_case_g2_a_third_decimal_of_the_dinar_must_be_zero() -> None:
    assert refused("1.234", "kwd") is Code.AMOUNT_MALFORMED
    assert money("1.230 kwd") == money("1.23 kwd") == Money(1230, Currency("kwd"))


def test_kronur_and_ugandan_shillings_are_sent_with_two_zeros() -> None:
    assert money("5 isk").minor == 500
    assert money("5 ugx").minor == 500
    assert refused("5.50", "isk") is Code.AMOUNT_MALFORMED
    assert refused("5.00", "isk") is Code.AMOUNT_MALFORMED
    assert money("5 isk").display == "5 ISK"


def test_forint_and_taiwan_dollars_are_charged_with_two_decimals() -> None:
    assert money("800.45 twd").minor == 80045
    assert money("10.45 huf").minor == 1045


@given(st.integers(min_value=1, max_value=99_999))
def test_case_g3_every_cent_up_to_a_thousand_survives_the_round_trip(cents: int) -> None:
    text = f"{cents // 100}.{cents % 100:02d}"
    assert Money.parse(text, "eur").minor == cents
    assert Money(cents, Currency("eur")).decimal == text


def test_nineteen_ninety_nine_is_1999_cents() -> None:
    assert money("19.99 usd").minor == 1999


@given(rules, st.integers(min_value=0, max_value=10**9))
def test_what_is_written_is_read_back_in_every_currency(rule: Rule, steps: int) -> None:
    amount = Money(steps * rule.step, rule.code)
    assert Money.parse(amount.decimal, amount.currency) == amount


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "1e3", "1E3", "1,000.00", "1.000,00", "1 000", "+1", "-1", "-0", "NaN", "inf",
        "1.", ".5", "1.2.3", "0x10", "1_000", "١٢", "\N{FULLWIDTH DIGIT ONE}2", "1.٢", "$1",
        "1.00\n", " 1.00", "1.001", "007", "00", "1.00 EUR", "½",
    ],
)  # fmt: skip
def test_anything_but_plain_digits_is_refused(text: str) -> None:
    assert refused(text, "eur") is Code.AMOUNT_MALFORMED


@given(st.text(max_size=12))
def test_parse_reads_or_refuses_and_never_breaks(text: str) -> None:
    try:
        amount = Money.parse(text, "eur")
    except Refusal:
        return
    assert amount.minor >= 0


def test_an_endless_number_is_too_large_and_its_refusal_stays_short() -> None:
    with pytest.raises(Refusal) as no:
        Money.parse("9" * 100_000, "eur")
    assert no.value.code is Code.AMOUNT_TOO_LARGE
    assert len(str(no.value)) < 250


def test_the_refusal_of_a_long_text_stays_short() -> None:
    with pytest.raises(Refusal) as no:
        Money.parse("x" * 100_000, "eur")
    assert len(str(no.value)) < 250


@pytest.mark.parametrize("code", ["", "eu", "EURO", "xxx", "btc", "\N{KELVIN SIGN}wd", "eur "])
def test_a_currency_that_stripe_does_not_charge_is_refused(code: str) -> None:
    assert refused("1", code) is Code.CURRENCY_UNKNOWN


def test_a_currency_is_known_in_either_case() -> None:
    assert currency("EUR") == currency("eur") == "eur"


def test_amounts_are_shown_as_people_write_them() -> None:
    assert money("149 eur").display == "149.00 EUR"
    assert money("5000 jpy").display == "5,000 JPY"
    assert money("1234567.8 idr").display == "1,234,567.80 IDR"
    assert money("1.23 kwd").display == "1.230 KWD"
    assert Money(0, Currency("eur")).display == "0.00 EUR"


def test_money_that_stripe_reports_is_shown_even_where_the_table_would_refuse_it() -> None:
    assert Money(12345, Currency("xcg")).display == "12,345 minor units of XCG"
    assert Money(550, Currency("isk")).display == "5.50 ISK"


@pytest.mark.parametrize(
    ("least", "less"),
    [
        ("0.50 usd", "0.49 usd"),
        ("0.30 gbp", "0.29 gbp"),
        ("50 jpy", "49 jpy"),
        ("175.00 huf", "174.99 huf"),
        ("2.00 aed", "1.99 aed"),
        ("1 isk", "0 isk"),
        ("0.010 kwd", "0.000 kwd"),
        ("0.01 afn", "0.00 afn"),
    ],
)
def test_less_than_the_minimum_is_not_charged(least: str, less: str) -> None:
    money(least).require_chargeable()
    with pytest.raises(Refusal) as no:
        money(less).require_chargeable()
    assert no.value.code is Code.AMOUNT_TOO_SMALL
    assert f" the {money(least).display} that" in no.value.sentence


def test_a_part_of_a_krona_is_less_than_any_charge() -> None:
    assert Money(50, Currency("isk")).below_minimum


def test_case_g5_thirty_cents_are_not_sent_to_stripe() -> None:
    assert money("0.30 usd").below_minimum


@pytest.mark.parametrize(
    ("code", "digits"),
    [("usd", 8), ("inr", 9), ("idr", 12), ("jpy", 10), ("huf", 10), ("cop", 10), ("lbp", 11)],
)
def test_more_digits_than_stripe_takes_are_not_charged(code: str, digits: int) -> None:
    Money(10**digits - 1, Currency(code)).require_chargeable()
    most = Money(10**digits, Currency(code))
    assert most.above_maximum
    with pytest.raises(Refusal) as no:
        most.require_chargeable()
    assert no.value.code is Code.AMOUNT_TOO_LARGE


def test_amounts_are_ordered_within_a_currency() -> None:
    small, large = money("1 eur"), money("2 eur")
    assert small < large <= large
    assert large > small >= small
    assert not large < small
    assert sorted([large, small]) == [small, large]


def test_amounts_of_two_currencies_are_unequal_and_cannot_be_ordered() -> None:
    eur, usd = money("1 eur"), money("1 usd")
    assert eur != usd
    for compare in (Money.__lt__, Money.__le__, Money.__gt__, Money.__ge__):
        with pytest.raises(Refusal) as no:
            compare(eur, usd)
        assert no.value.code is Code.CURRENCY_MISMATCH


@pytest.mark.parametrize("minor", [1.0, True, -1, "1", None])
def test_money_is_made_of_whole_units_only(minor: object) -> None:
    with pytest.raises(ValueError, match="minor units"):
        Money(minor, Currency("eur"))  # pyrefly: ignore[bad-argument-type] - that is the point
