"""The audit finds what is planted: a proof that cannot fail proves nothing."""

from dataclasses import replace

import pytest

from anchorhold.demo.audit import InvoiceRow, audit
from anchorhold.twin.ledger import Payment

PAID = InvoiceRow(
    id="inv_1",
    status="paid",
    payment_status="succeeded",
    blocked_reason=None,
    has_error=False,
    amount_due=1000,
    currency="eur",
    held=False,
    payments=1,
)
OPEN = replace(PAID, status="open", payment_status="pending", payments=0)
SUCCESS = Payment("acct_twin", "pi_1", "ch_1", 1000, 0, "eur", 1_750_000_000, disputed=False)
FAILED = replace(OPEN, payment_status="failed")
OTHER = replace(SUCCESS, intent="pi_2", charge="ch_2")


def test_an_invoice_that_is_paid_once_here_and_at_stripe_is_clean() -> None:
    findings = audit([PAID], {"inv_1": [SUCCESS]})
    assert findings.clean
    assert (findings.invoices, findings.paid, findings.open) == (1, 1, 0)


def test_nothing_paid_proves_nothing() -> None:
    assert not audit([OPEN], {}).clean


@pytest.mark.parametrize(
    ("row", "at_stripe", "finding"),
    [
        pytest.param(PAID, [SUCCESS, OTHER], "double_charges", id="two successes"),
        pytest.param(OPEN, [SUCCESS], "lost_payments", id="a success that nobody recorded"),
        pytest.param(
            replace(PAID, payments=0), [SUCCESS], "lost_payments", id="paid without a payment row"
        ),
        pytest.param(
            PAID, [replace(SUCCESS, amount=999)], "wrong_amounts", id="another amount was taken"
        ),
        pytest.param(
            PAID, [replace(SUCCESS, currency="usd")], "wrong_amounts", id="another currency"
        ),
        pytest.param(replace(PAID, held=True), [SUCCESS], "holds_left", id="a hold is left"),
        pytest.param(PAID, [], "unbacked", id="paid here and not at Stripe"),
    ],
)
def test_what_is_planted_is_found(row: InvoiceRow, at_stripe: list[Payment], finding: str) -> None:
    clean = replace(PAID, id="inv_0")
    backing = replace(SUCCESS, intent="pi_0", charge="ch_0")
    findings = audit([clean, row], {"inv_0": [backing], "inv_1": at_stripe})
    assert getattr(findings, finding) == 1
    assert not findings.clean


def test_a_success_of_an_invoice_that_nobody_knows_is_lost() -> None:
    findings = audit([PAID], {"inv_1": [SUCCESS], "inv_9": [OTHER]})
    assert findings.lost_payments == 1


def test_a_refunded_success_does_not_count_as_taken() -> None:
    refunded = replace(OTHER, refunded=1000)
    assert audit([PAID], {"inv_1": [SUCCESS, refunded]}).double_charges == 0


@pytest.mark.parametrize(
    ("row", "ending"),
    [
        (PAID, "paid"),
        (replace(FAILED, has_error=True), "declined"),
        (
            replace(OPEN, payment_status="failed", blocked_reason="customer_action"),
            "needs_customer",
        ),
        (FAILED, "open"),
        (OPEN, "open"),
    ],
)
def test_each_invoice_is_counted_once(row: InvoiceRow, ending: str) -> None:
    assert row.ending == ending
