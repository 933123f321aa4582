"""The demo's invoices are always the same ones, and each of them can be charged."""

from pathlib import Path

from anchorhold.demo.workload import as_csv, lines

EXAMPLE = Path(__file__).parents[2] / "examples" / "invoices.csv"


def test_the_example_file_is_the_workload() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == as_csv(1000)


def test_a_shorter_workload_is_the_beginning_of_a_longer_one() -> None:
    assert list(lines(30)) == list(lines(300))[:30]


def test_every_amount_can_be_charged_in_its_currency() -> None:
    for line in lines(1000):
        line.money.require_chargeable()


def test_it_has_currencies_without_and_with_three_decimals_and_cards_of_each_kind() -> None:
    made = list(lines(1000))
    assert {"jpy", "kwd"} <= {line.currency for line in made}
    assert {"pm_card_chargeCustomerFail", "pm_card_authenticationRequired"} <= {
        line.payment_method for line in made
    }


def test_a_customer_keeps_one_payment_method() -> None:
    pairs = {(line.customer, line.payment_method) for line in lines(1000)}
    assert len(pairs) == len({customer for customer, _ in pairs})
