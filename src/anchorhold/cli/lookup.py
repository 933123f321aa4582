"""What a person means by a name on the command line: ids, and references of the user's own."""

from anchorhold.cli.session import Session
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import views_customers, views_invoices, views_notices, views_payments
from anchorhold.store.views_customers import CustomerView
from anchorhold.store.views_invoices import InvoiceView
from anchorhold.store.views_notices import NoticeView
from anchorhold.store.views_payments import PaymentView


async def the_invoice(desk: Session, name: str) -> InvoiceView:
    """The invoice with this id or reference. Refuses when there is none (INVOICE_NOT_FOUND)."""
    found = await views_invoices.one(desk.db, desk.scope, name)
    if found is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=name)
    return found


async def the_customer(desk: Session, name: str) -> CustomerView:
    """The customer with this id, reference or Stripe id. Refuses: CUSTOMER_NOT_FOUND."""
    found = await views_customers.one(desk.db, desk.scope, name)
    if found is None:
        raise Refusal(Code.CUSTOMER_NOT_FOUND, id=name)
    return found


async def the_payment(desk: Session, name: str) -> PaymentView:
    """The payment with this id or PaymentIntent. Refuses: PAYMENT_NOT_FOUND."""
    found = await views_payments.one(desk.db, desk.scope, name)
    if found is None:
        raise Refusal(Code.PAYMENT_NOT_FOUND, id=name)
    return found


async def the_notice(desk: Session, name: str) -> NoticeView:
    """The notice with this id. Refuses: NOTICE_NOT_FOUND."""
    found = await views_notices.one(desk.db, desk.scope, name)
    if found is None:
        raise Refusal(Code.NOTICE_NOT_FOUND, id=name)
    return found
