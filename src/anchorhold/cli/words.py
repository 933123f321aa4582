"""How times, amounts and states are said to people: one term per thing, never "unknown"."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.currencies import Currency
from anchorhold.domain.hold import HoldState
from anchorhold.domain.invoice import BlockedReason, Collection, InvoiceStatus, PaymentStatus
from anchorhold.domain.money import Money
from anchorhold.domain.outcome import Meaning
from anchorhold.domain.refund import RefundState
from anchorhold.domain.timing import Timing
from anchorhold.objects import next_check
from anchorhold.store.views_invoices import InvoiceView

CONFIRMING = "being confirmed with Stripe"


def exact(at: datetime) -> str:
    """The time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def lasting(span: timedelta) -> str:
    """A length of time in the unit that fits: "42 s", "17 min", "5 h", "3 days"."""
    seconds = int(abs(span).total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h"
    return f"{seconds // 86400} days"


@dataclass(frozen=True, slots=True)
class When:
    """Says times as seen from `now`, or exactly when `utc` is asked for."""

    now: datetime
    utc: bool = False

    def at(self, at: datetime | None) -> str:
        """ "3 min ago", "in 17 min", "now"; "-" for no time."""
        if at is None:
            return "-"
        if self.utc:
            return exact(at)
        span = at - self.now
        if abs(span) < timedelta(seconds=1):
            return "now"
        return f"in {lasting(span)}" if at > self.now else f"{lasting(span)} ago"


def money(amount: int, currency: str) -> str:
    """ "149.00 EUR" for 14900 minor units of eur."""
    return Money(amount, Currency(currency)).display


def said(error: Mapping[str, object]) -> str:
    """What Stripe said, in its words, with the code that counts."""
    message = str(error.get("message") or "")
    return f"{code_of(error)}: {message}" if message else code_of(error)


def code_of(error: Mapping[str, object]) -> str:
    """The code that counts in what Stripe said: the bank's, else Stripe's."""
    return str(error.get("decline_code") or error.get("code") or "error")


def hold(invoice: InvoiceView, when: When) -> str:
    """What the hold says, in a few words; "-" when the invoice is free."""
    match invoice.hold:
        case HoldState.NONE:
            return "-"
        case HoldState.LIVE:
            return f"being charged, ends {when.at(invoice.hold_until)}"
        case HoldState.STALE | HoldState.FOLLOWING:
            return CONFIRMING
        case HoldState.PARKED:
            return f"{CONFIRMING} (parked)"


def status(invoice: InvoiceView) -> str:
    """Where the invoice stands: its status, and what stands in the way of collecting it."""
    return ", ".join(filter(None, (invoice.status.value, _trouble(invoice))))


def colour(invoice: InvoiceView) -> str:
    """A colour that helps the eye along a column; the words say the same."""
    if invoice.status is InvoiceStatus.PAID:
        return "green"
    return "yellow" if "," in status(invoice) else ""


def _trouble(invoice: InvoiceView) -> str:
    if invoice.status is not InvoiceStatus.OPEN:
        return ""
    if invoice.hold is not HoldState.NONE:
        return "processing" if invoice.payment_status is PaymentStatus.PROCESSING else ""
    if invoice.blocked_reason is BlockedReason.CUSTOMER_ACTION:
        return "needs the customer"
    if invoice.blocked_reason is BlockedReason.SETUP:
        return "blocked"
    if invoice.collection is Collection.MANUAL:
        return "needs a person"
    return _failure(invoice) if invoice.payment_status is PaymentStatus.FAILED else ""


def _failure(invoice: InvoiceView) -> str:
    """Two attempts without a trace at Stripe leave no error: nobody declined them."""
    return "declined" if invoice.last_error else "no charge found"


def next_step(invoice: InvoiceView, timing: Timing, when: When) -> str:
    """Who acts next on the invoice, and when."""
    if invoice.hold is HoldState.LIVE:
        return f"{invoice.hold_actor} saves the answer; else check {when.at(invoice.hold_until)}"
    if invoice.hold is not HoldState.NONE:
        return f"check with Stripe {check(invoice, timing, when)}"
    if invoice.status is not InvoiceStatus.OPEN:
        return "nothing"
    return _by_person(invoice) or _by_worker(invoice, when)


def _by_person(invoice: InvoiceView) -> str:
    """What only a person can do before it is charged again; empty when a worker goes on."""
    if invoice.blocked_reason is BlockedReason.SETUP:
        return "a person mends what Stripe refused"
    if invoice.blocked_reason is BlockedReason.CUSTOMER_ACTION:
        return "the customer authenticates"
    if invoice.collection is Collection.MANUAL and invoice.intent_id is None:
        return "a person settles what its notice says"
    if invoice.collection is Collection.MANUAL or invoice.payment_status is PaymentStatus.FAILED:
        return "an operator collects"
    return ""


def _by_worker(invoice: InvoiceView, when: When) -> str:
    if invoice.next_attempt_at > invoice.now:
        return f"a worker charges it {when.at(invoice.next_attempt_at)}"
    return "a worker charges it" if invoice.intent_id else "a worker prepares and charges it"


def check(invoice: InvoiceView, timing: Timing, when: When) -> str:
    """When Stripe is asked next: "at the next tick" when that is due, else a time."""
    at = next_check(invoice, timing)
    return "at the next tick" if at is None or at <= invoice.now else when.at(at)


ATTEMPT_STATES = {
    AttemptState.CLAIMED: "claimed",
    AttemptState.SENDING: f"sent, {CONFIRMING}",
    AttemptState.UNKNOWN: CONFIRMING,
    AttemptState.SUCCEEDED: "succeeded",
    AttemptState.FAILED: "declined",
    AttemptState.PROCESSING: "processing",
    AttemptState.NOT_SENT: "not sent",
    AttemptState.SUPERSEDED: "superseded",
    AttemptState.FENCED: "proven never to have run",
    AttemptState.PRESUMED_NONE: "presumed not to exist",
}


def attempt_state(state: AttemptState) -> str:
    """How far an attempt came; a state that we have no word for yet is said as it is stored."""
    return ATTEMPT_STATES.get(state, state.value.replace("_", " "))


MEANINGS = {
    Meaning.SETTLE: "paid",
    Meaning.FOLLOW: "processing",
    Meaning.DECLINE: "declined",
    Meaning.NEEDS_CUSTOMER: "need the customer",
    Meaning.WAIT_FOR_CUSTOMER: "wait for the customer",
    Meaning.SETUP_FAULT: "blocked",
    Meaning.ACCOUNT_REFUSED: "not sent: key refused",
    Meaning.BACK_OFF: "not sent: rate limit",
    Meaning.NOT_SENT: "not sent",
    Meaning.INTENT_CANCELED: "to be prepared again",
    Meaning.KEEP: CONFIRMING,
    Meaning.ASK: CONFIRMING,
}


def meaning(how: Meaning) -> str:
    """What came of charges, behind their number."""
    return MEANINGS.get(how, "answered by the PaymentIntent")


def refund_state(state: RefundState) -> str:
    """How far a refund is, in words that never say it is lost."""
    said = {
        RefundState.REQUESTED: "being confirmed with Stripe",
        RefundState.NOT_MADE: "not made: Stripe showed nothing for it",
        RefundState.REQUIRES_ACTION: "waits for the customer's bank details",
        RefundState.FAILED: "failed: the customer has no money back",
    }
    return said.get(state, state.value)
