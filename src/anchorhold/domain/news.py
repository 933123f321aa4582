"""TABLE: what an event of Stripe's may do here (protocol section 9).

Success is monotone, so it is applied from the event's own object; everything else is a hint to
retrieve the object by its id and to act on that. So order does not matter.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from anchorhold.domain.invoice import CLOSED, InvoiceStatus


class News(StrEnum):
    """What an event asks for."""

    SETTLE = "settle"
    DECLINE = "decline"
    """The attempt with the event's idempotency key is declined, if it was taken for not sent or
    superseded; then as `look`."""
    LOOK = "look"
    """The intent is retrieved, if the invoice follows it, has it, or is closed."""
    REFUND = "refund"
    """The refunds of the payment's intent are listed."""
    DISPUTE = "dispute"
    """The dispute is retrieved."""
    METHOD = "method"
    """Invoices that wait for their customer may be charged again."""
    GONE = "gone"
    """The customer is flagged, and its open invoices are blocked."""


class EventState(StrEnum):
    """How far an event came."""

    WAITING = "waiting"
    UNMATCHED = "unmatched"
    """About nothing that is known here yet: tried again for 30 days."""
    DONE = "done"
    GIVEN_UP = "given_up"


class EventSource(StrEnum):
    """How an event came in."""

    CATCH_UP = "catch_up"
    """Read from Stripe's list of events by a tick."""
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the types that it is about."""

    id: str
    types: tuple[str, ...]
    act: News
    because: str


# fmt: off
NEWS: Final = (
    Row("N1", ("payment_intent.succeeded",), News.SETTLE,
        "money arrived: never lose it"),
    Row("N2", ("payment_intent.payment_failed",), News.DECLINE,
        "a try that was taken for none counts as one"),
    Row("N3", ("payment_intent.processing", "payment_intent.amount_capturable_updated"), News.LOOK,
        "the bank decides later: the invoice follows it"),
    Row("N4", ("payment_intent.canceled",), News.LOOK,
        "a cancelled intent never charges: the next may be prepared"),
    Row("N5", ("refund.created", "refund.updated", "refund.failed", "charge.refunded",
               "charge.refund.updated"), News.REFUND,
        "all refunds are read: one that failed later is undone"),
    Row("N6", ("charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed",
               "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated"), News.DISPUTE,
        "only a lost dispute takes the payment back"),
    Row("N7", ("payment_method.updated", "payment_method.automatically_updated",
               "customer.updated"), News.METHOD,
        "another card, or one that was mended, may be charged where the last one could not"),
    Row("N8", ("customer.deleted",), News.GONE,
        "nobody can charge a deleted customer: a person is told"),
)
# fmt: on

TYPES: Final = tuple(name for row in NEWS for name in row.types)
"""The types in question; Stripe lists up to 20 at once."""

ABOUT_CUSTOMERS: Final = frozenset({News.METHOD, News.GONE})
"""About no invoice, but about all open ones of a customer."""

CHOICE_OF_METHOD: Final = frozenset({"invoice_settings", "default_source"})
"""What of a customer says how it pays; no other change of one matters here."""

WATCH_DAYS: Final = 30
"""So long Stripe lists an event; so long an unmatched one is tried and an intent is watched."""

OVERLAP_S: Final = 3600
"""Reading begins so long before the cursor: events can be listed later than they were made."""


def read(event_type: str) -> Row | None:
    """The row of this type of event; None for one that is not in question."""
    return next((row for row in NEWS if event_type in row.types), None)


def chooses_method(event_type: str, changed: object) -> bool:
    """Whether the event can mean another way to pay; `changed`: the fields that it says changed."""
    if event_type != "customer.updated":
        return True
    return isinstance(changed, list) and not CHOICE_OF_METHOD.isdisjoint(changed)


def worth_a_look(act: News, status: InvoiceStatus, *, followed: bool) -> bool:
    """Whether retrieving the invoice's own intent can change anything.

    `followed`: the invoice follows it. Each tick reads every event once, so most are not worth a
    call: an open invoice's declined intent stays as it is.
    """
    return followed or act is News.LOOK or status in CLOSED
