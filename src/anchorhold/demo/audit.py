"""The audit: each invoice's rows held against Stripe's own ledger, and nobody's word taken."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import LiteralString

import psycopg

from anchorhold.twin.ledger import Payment

INVOICES: LiteralString = """
    SELECT i.id, i.status, i.payment_status, i.blocked_reason, i.last_error IS NOT NULL,
           i.amount_due, i.currency, i.hold_until IS NOT NULL,
           (SELECT count(*) FROM anchorhold.payment p
             WHERE p.account_id = i.account_id AND p.livemode = i.livemode
               AND p.invoice_id = i.id)
      FROM anchorhold.invoice i
     ORDER BY i.reference
"""


@dataclass(frozen=True, slots=True)
class InvoiceRow:
    """An invoice as our rows tell it; minor units."""

    id: str
    status: str
    payment_status: str
    blocked_reason: str | None
    has_error: bool
    amount_due: int
    currency: str
    held: bool
    payments: int

    @property
    def ending(self) -> str:
        """Where it is counted, once: paid, declined, needs_customer or open."""
        if self.status == "paid":
            return "paid"
        if self.blocked_reason == "customer_action":
            return "needs_customer"
        declined = self.payment_status == "failed" and self.has_error
        return "declined" if declined else "open"


@dataclass(frozen=True, slots=True)
class Findings:
    """What the audit counted; everything after `open` must be 0."""

    invoices: int
    paid: int
    declined: int
    needs_customer: int
    open: int
    double_charges: int
    lost_payments: int
    wrong_amounts: int
    holds_left: int
    unbacked: int = 0
    """Paid here, and no success at Stripe."""
    named: tuple[str, ...] = field(default=())
    """The invoices behind the findings, at most ten."""

    @property
    def clean(self) -> bool:
        """Something was paid, and nothing was doubled, lost, wrong or left behind."""
        return self.paid > 0 and not (
            self.double_charges
            or self.lost_payments
            or self.wrong_amounts
            or self.holds_left
            or self.unbacked
        )


def read_rows(conninfo: str) -> list[InvoiceRow]:
    """Every invoice of the database."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return [InvoiceRow(*row) for row in conn.execute(INVOICES).fetchall()]


def audit(rows: Sequence[InvoiceRow], at_stripe: Mapping[str, Sequence[Payment]]) -> Findings:
    """Each invoice counted once, and each success at Stripe looked for in the rows."""
    endings = Counter(row.ending for row in rows)
    standing = {row.id: [p for p in at_stripe.get(row.id, ()) if p.net > 0] for row in rows}
    double = [row.id for row in rows if len(standing[row.id]) > 1]
    lost = [row.id for row in rows if standing[row.id] and not _recorded(row)]
    wrong = [row.id for row in rows if any(_wrong(row, p) for p in standing[row.id])]
    unbacked = [row.id for row in rows if row.status == "paid" and not standing[row.id]]
    strangers = sum(len(found) for id_, found in at_stripe.items() if id_ not in standing)
    return Findings(
        invoices=len(rows),
        paid=endings["paid"],
        declined=endings["declined"],
        needs_customer=endings["needs_customer"],
        open=endings["open"],
        double_charges=len(double),
        lost_payments=len(lost) + strangers,
        wrong_amounts=len(wrong),
        holds_left=sum(row.held for row in rows),
        unbacked=len(unbacked),
        named=tuple((*double, *lost, *wrong, *unbacked)[:10]),
    )


def _recorded(row: InvoiceRow) -> bool:
    return row.status == "paid" and row.payments > 0


def _wrong(row: InvoiceRow, payment: Payment) -> bool:
    return (payment.amount, payment.currency) != (row.amount_due, row.currency)
