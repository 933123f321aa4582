"""The invoices of the demo: 1,000 of them in `examples/invoices.csv`, any number on demand."""

import csv
import io
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from random import Random

from anchorhold.domain.currencies import currency as currency_of
from anchorhold.domain.money import Money

CUSTOMERS_PER_INVOICE = 0.4
CURRENCIES = ("eur", "usd", "gbp", "jpy", "kwd", "chf", "krw", "sek")
WEIGHTS = (30, 30, 12, 10, 6, 6, 3, 3)
METHODS = (
    "pm_card_visa",
    "pm_card_mastercard",
    "pm_card_chargeCustomerFail",
    "pm_card_authenticationRequired",
)
METHOD_WEIGHTS = (72, 14, 8, 6)
LARGEST = {"jpy": 90_000, "krw": 900_000}
"""Exclusive upper bounds in minor units; every other currency stays under 900.00."""
LEAST = {"jpy": 500, "krw": 5_000, "sek": 1_000}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file, every field as text."""

    reference: str
    customer: str
    email: str
    payment_method: str
    amount: str
    currency: str
    due_date: str

    @property
    def money(self) -> Money:
        """What the invoice asks for."""
        return Money.parse(self.amount, self.currency)


def lines(count: int = 1000) -> Iterator[Line]:
    """The first `count` invoices; always the same ones."""
    random = Random(20261130)  # noqa: S311 - a fixed workload, not a secret
    known: list[tuple[str, str]] = []
    for number in range(1, count + 1):
        if len(known) < 1 + number * CUSTOMERS_PER_INVOICE:
            method = random.choices(METHODS, METHOD_WEIGHTS)[0]
            known.append((f"customer-{len(known) + 1:04}", method))
        customer, method = random.choice(known)
        currency = random.choices(CURRENCIES, WEIGHTS)[0]
        minor = random.randrange(LEAST.get(currency, 100), LARGEST.get(currency, 90_000))
        whole = minor - minor % 10 if currency == "kwd" else minor
        money = Money(whole, currency_of(currency))
        yield Line(
            reference=f"INV-{number:05}",
            customer=customer,
            email=f"{customer}@example.com",
            payment_method=method,
            amount=money.decimal,
            currency=currency,
            due_date="2026-11-01",
        )


def as_csv(count: int = 1000) -> str:
    """The invoices as the text of a file that `anchorhold invoice import` takes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Line))
    writer.writerows(astuple(line) for line in lines(count))
    return text.getvalue()
