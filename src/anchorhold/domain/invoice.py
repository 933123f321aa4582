"""What an invoice can be (protocol section 1)."""

from enum import StrEnum


class InvoiceStatus(StrEnum):
    """The life of an invoice, in Stripe's words."""

    DRAFT = "draft"
    OPEN = "open"
    PAID = "paid"
    VOID = "void"
    UNCOLLECTIBLE = "uncollectible"


OPEN = frozenset({InvoiceStatus.OPEN})
CLOSED = frozenset(InvoiceStatus) - OPEN
ANY = frozenset(InvoiceStatus)
"""What the tables of rules distinguish: whether an invoice can still be collected."""


class PaymentStatus(StrEnum):
    """Where collecting it stands."""

    PENDING = "pending"
    """Nothing under way."""
    PROCESSING = "processing"
    """Follows a PaymentIntent that Stripe says is processing."""
    UNKNOWN = "unknown"
    """A charge whose answer was unclear; people read "being confirmed with Stripe"."""
    FAILED = "failed"
    """The last attempt was declined, or needs a person."""
    SUCCEEDED = "succeeded"


class Collection(StrEnum):
    """Who may start a charge."""

    AUTO = "auto"
    MANUAL = "manual"
    """Only an operator's Collect or the customer's page (protocol section 8)."""


class BlockedReason(StrEnum):
    """Why no automatic charge is made although something is due."""

    SETUP = "setup"
    """Stripe refused the request itself: customer, payment method or amount must change first."""
    CUSTOMER_ACTION = "customer_action"
    """The bank wants the customer present (protocol section 4, authentication_required)."""
