"""What customers, banks and testers do: no calls of Stripe's API.

Each takes the twin and returns the object afterwards; `StripeError` says why not.
"""

from anchorhold.twin import confirmation, debits, disputes, payment_methods
from anchorhold.twin.wire import Obj
from anchorhold.twin.world import Twin


def authenticate(
    twin: Twin, intent: str, *, passed: bool = True, account: str | None = None
) -> Obj:
    """The customer comes back from the bank's page: the intent succeeds or is payable again."""
    return confirmation.authenticate(twin.act(account), intent, passed=passed)


def end_debit(twin: Twin, intent: str, *, account: str | None = None) -> Obj:
    """The bank speaks now: the debit succeeds or fails as its test account is documented to."""
    return debits.end(twin.act(account), intent)


def renew_card(twin: Twin, method: str, *, account: str | None = None) -> Obj:
    """The bank gives out the customer's next card, and Stripe hears of it from the network."""
    return payment_methods.renew(twin.act(account), method)


def open_dispute(
    twin: Twin, charge: str, *, reason: str = "fraudulent", account: str | None = None
) -> Obj:
    """The customer disputes a charge."""
    return disputes.open_(twin.act(account), charge, reason)


def close_dispute(twin: Twin, dispute: str, *, won: bool, account: str | None = None) -> Obj:
    """The bank decides a dispute."""
    return disputes.close(twin.act(account), dispute, won=won)
