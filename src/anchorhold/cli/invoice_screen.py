"""The screen of one invoice: where it stands, what is known, what happens next."""

from collections.abc import Sequence

from anchorhold.cli import words
from anchorhold.cli.output import line
from anchorhold.cli.session import Session
from anchorhold.domain.hold import HoldState
from anchorhold.domain.invoice import Collection
from anchorhold.store.views_attempts import AttemptView
from anchorhold.store.views_invoices import InvoiceView
from anchorhold.store.views_payments import PaymentView
from anchorhold.store.views_subscriptions import InvoiceLine


def head(invoice: InvoiceView) -> str:
    """The line that every screen about an invoice begins with."""
    amount = words.money(invoice.amount_due, invoice.currency)
    return f"{invoice.id}  {amount}  {words.status(invoice)}"


def show_screen(
    desk: Session,
    invoice: InvoiceView,
    lines: Sequence[InvoiceLine],
    attempts: Sequence[AttemptView],
    payments: Sequence[PaymentView],
) -> None:
    """The invoice with its lines, and its last attempts and payments."""
    when = desk.when
    print(head(invoice))
    line("Reference", invoice.reference)
    line("Customer", f"{invoice.customer_id}  {invoice.customer_reference}")
    if invoice.number is not None:
        line("Number", str(invoice.number))
    if invoice.period_start and invoice.period_end:
        period = f"{words.exact(invoice.period_start)} to {words.exact(invoice.period_end)}"
        line("Period", f"{period} of {invoice.subscription_id}")
    for row in lines:
        amount = words.money(row.amount, invoice.currency)
        line("Line", f"{row.quantity} x {row.description}  {amount}")
    paid = words.money(invoice.amount_paid, invoice.currency)
    line("Due", f"{when.at(invoice.due_at)}, {paid} paid")
    if invoice.hold is not HoldState.NONE:
        line("Hold", words.hold(invoice, when))
    line("At Stripe", invoice.followed_intent_id or invoice.intent_id or _no_intent(invoice))
    for attempt in attempts:
        line("Attempt", _attempt(desk, attempt))
    for payment in payments:
        amount = words.money(payment.amount, payment.currency)
        brought = f"brought by the {payment.source.value}"
        line("Payment", f"{payment.id}  {amount}  {brought}  {when.at(payment.created_at)}")
    if invoice.last_error:
        line("Last error", words.said(invoice.last_error))
    line("Next", words.next_step(invoice, desk.timing, when))
    line("Story", f"anchorhold invoice story {invoice.id}")


def _no_intent(invoice: InvoiceView) -> str:
    had_one = invoice.paid_at or invoice.collection is Collection.MANUAL
    return "no live PaymentIntent" if had_one else "no PaymentIntent yet"


def _attempt(desk: Session, attempt: AttemptView) -> str:
    parts = [attempt.id, attempt.kind.value, words.attempt_state(attempt.state)]
    if attempt.decline:
        parts.append(words.said(attempt.decline))
    return "  ".join([*parts, desk.when.at(attempt.claimed_at)])
