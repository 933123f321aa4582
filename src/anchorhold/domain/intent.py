"""The PaymentIntent that stands for an invoice (protocol section 2, prepared)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.attempt import reference_of
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope

METADATA_ACCOUNT = "anchorhold_account_id"
METADATA_INVOICE = "anchorhold_invoice_id"
METADATA_NUMBER = "anchorhold_intent_number"
METADATA_ATTEMPT = "anchorhold_attempt_id"
METADATA_FENCE = "anchorhold_fence"
"""On what a probe made: such an intent is nobody's charge (protocol section 6, S10)."""

ONLY_WITH_CONFIRM = frozenset({"confirm", "off_session", "payment_method"})
"""What a probe leaves out of a charge: Stripe takes `off_session` with a confirm alone."""


class IntentState(StrEnum):
    """What became of an intent row; at most one of an invoice is `live`."""

    PREPARING = "preparing"
    """Committed before the create is sent; its id is not known yet."""
    LIVE = "live"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"
    USED_UP = "used_up"
    """Its number is spent: the create failed, or nothing could be stored under it."""
    ABANDONED = "abandoned"
    """In a Stripe account that is not connected any more; an operator gave it up, watched."""


@dataclass(frozen=True, slots=True)
class Unprepared:
    """An open invoice without a live intent, leased to whoever reads this; minor units."""

    scope: Scope
    invoice_id: InvoiceId
    amount: int
    currency: str
    stripe_account: str
    stripe_customer_id: str
    payment_method_types: tuple[str, ...]
    next_number: int


@dataclass(frozen=True, slots=True)
class IntentRow:
    """A committed intent row: its key and parameters are sent verbatim, however often."""

    number: int
    idempotency_key: str
    params: dict[str, object]
    amount: int
    is_old: bool
    """Older than the life of a key less a margin: List is asked before a new number is used."""


def create_params(invoice: Unprepared, number: int) -> dict[str, object]:
    """The create request of an intent: unconfirmed, without a payment method (section 2).

    The types come as `allowed_payment_method_types`: Stripe leaves out those that the currency or
    the account cannot take. Source: https://docs.stripe.com/changelog/dahlia/2026-07-29.
    """
    return {
        "amount": invoice.amount,
        "currency": invoice.currency,
        "customer": invoice.stripe_customer_id,
        "capture_method": "automatic",
        "confirmation_method": "automatic",
        "allowed_payment_method_types": list(invoice.payment_method_types),
        "metadata": {
            METADATA_ACCOUNT: invoice.scope.account_id,
            METADATA_INVOICE: invoice.invoice_id,
            METADATA_NUMBER: str(number),
        },
    }


def confirm_params(claim: Claim) -> dict[str, object]:
    """The confirm request of an attempt; the customer is not present."""
    return {"payment_method": claim.payment_method, "off_session": True}


def charge_params(claim: Claim) -> dict[str, object]:
    """The one request of a direct charge: create and confirm (protocol section 2, Direct)."""
    token = claim.token
    return {
        "amount": claim.amount,
        "currency": claim.currency,
        "customer": claim.stripe_customer_id,
        "payment_method": claim.payment_method,
        "confirm": True,
        "off_session": True,
        "capture_method": "automatic",
        "confirmation_method": "automatic",
        "allowed_payment_method_types": list(claim.payment_method_types),
        "metadata": {
            METADATA_ACCOUNT: token.scope.account_id,
            METADATA_INVOICE: token.invoice_id,
            METADATA_ATTEMPT: reference_of(token.scope, token.invoice_id, token.seq),
        },
    }


def probe_params(charge: Mapping[str, object]) -> dict[str, object]:
    """The fence's request, a fixed function of the stored charge: it can take no money (S10).

    Sent under the charge's own key. 200: that key had never run, and for a day it can only give
    this same answer. `idempotency_error`: the charge did run.
    """
    rest = {name: value for name, value in charge.items() if name not in ONLY_WITH_CONFIRM}
    metadata = rest.get("metadata")
    kept = metadata if isinstance(metadata, Mapping) else {}
    return {**rest, "confirm": False, "metadata": {**kept, METADATA_FENCE: "1"}}


@dataclass(frozen=True, slots=True)
class Unnamed:
    """What stood in the way of storing an intent's id; minor units."""

    invoice_open: bool
    held: bool
    amount_remaining: int
    amount: int
    state: IntentState
    stripe_intent_id: str | None

    @property
    def unwanted(self) -> bool:
        """The intent can serve nobody: the invoice is closed, or another amount is due."""
        waits = self.state is IntentState.PREPARING
        return waits and (not self.invoice_open or self.amount_remaining != self.amount)
