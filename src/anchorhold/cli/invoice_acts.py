"""What each act that ends or changes an invoice asks, does and says."""

from anchorhold.cli import words
from anchorhold.cli.ending import Plan, Planned, remaining, requires
from anchorhold.cli.session import Session
from anchorhold.domain.access import Action
from anchorhold.domain.money import Money
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine import abandon as abandoning
from anchorhold.engine import amend as amending
from anchorhold.engine import close as closing
from anchorhold.store.views_invoices import InvoiceView


def require_words(words_: str, act: str) -> None:
    """A person said why. Raises Refusal: reason_missing."""
    if not words_.strip():
        raise Refusal(Code.REASON_MISSING, act=act)


def void(reason: str) -> Planned:
    """The invoice becomes void."""
    require_words(reason, "make an invoice void")

    def plan(desk: Session, invoice: InvoiceView) -> Plan:
        deps, scope = desk.app.deps, desk.scope
        return Plan(
            "void",
            f"make {invoice.reference} void ({remaining(invoice)} due)",
            "void",
            requires(desk, invoice, Action.VOID),
            lambda: closing.void(deps, scope, invoice.id, reason=reason),
        )

    return plan


def write_off(reason: str) -> Planned:
    """The invoice becomes uncollectible."""
    require_words(reason, "write an invoice off")

    def plan(desk: Session, invoice: InvoiceView) -> Plan:
        deps, scope = desk.app.deps, desk.scope
        return Plan(
            "write_off",
            f"write off {invoice.reference} ({remaining(invoice)} due)",
            "written off",
            requires(desk, invoice, Action.WRITE_OFF),
            lambda: closing.write_off(deps, scope, invoice.id, reason=reason),
        )

    return plan


def paid_elsewhere(reference: str) -> Planned:
    """All that is due counts as paid outside of Stripe."""
    require_words(reference, "record a payment elsewhere")

    def plan(desk: Session, invoice: InvoiceView) -> Plan:
        deps, scope = desk.app.deps, desk.scope
        return Plan(
            "paid_elsewhere",
            f"record that {remaining(invoice)} of {invoice.reference} came by {reference}",
            "paid elsewhere",
            requires(desk, invoice, Action.PAID_ELSEWHERE),
            lambda: closing.paid_elsewhere(deps, scope, invoice.id, reference=reference),
        )

    return plan


def amend(amount: str, reason: str) -> Planned:
    """The invoice's total becomes `amount`, a decimal in its currency."""
    require_words(reason, "change what is due")

    def plan(desk: Session, invoice: InvoiceView) -> Plan:
        deps, scope = desk.app.deps, desk.scope
        total = Money.parse(amount, invoice.currency)
        before = words.money(invoice.amount_due, invoice.currency)
        return Plan(
            "amend",
            f"change {invoice.reference} from {before} to {total.display}",
            f"{total.display} in all",
            lambda now: amending.require(deps, invoice.id, total.minor, now),
            lambda: amending.amend(deps, scope, invoice.id, amount_due=total.minor, reason=reason),
        )

    return plan


def abandon_intent(reason: str) -> Planned:
    """The invoice's intent in a former Stripe account is given up."""
    require_words(reason, "give up a PaymentIntent")

    def plan(desk: Session, invoice: InvoiceView) -> Plan:
        deps, scope = desk.app.deps, desk.scope
        return Plan(
            "abandon_intent",
            f"give up PaymentIntent {invoice.intent_id} of {invoice.reference}",
            f"{invoice.intent_id} is given up; the next can be prepared",
            lambda now: abandoning.require(deps, invoice.id, now),
            lambda: abandoning.abandon_intent(deps, scope, invoice.id, reason=reason),
        )

    return plan
