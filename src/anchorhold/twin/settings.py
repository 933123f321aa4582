"""What can be chosen about a twin, and where Stripe itself is not certain."""

from dataclasses import dataclass
from enum import Enum

API_VERSION = "2026-10-28.endive"
"""The newest version that the twin knows."""


class GoneCustomer(Enum):
    """What a list of the PaymentIntents of a deleted or unknown customer answers.

    Sources disagree about Stripe here, so both are on offer.
    """

    REFUSED = "refused"
    """400 `resource_missing` on `customer`."""
    LISTED = "listed"
    """200: a deleted customer's own intents, an empty page for an unknown id."""


class ClockTime(Enum):
    """What `created` of an object shows whose customer lives on a test clock."""

    FROZEN = "frozen"
    """The test clock's frozen time."""
    REAL = "real"
    """The time at which it was made."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Behaviour of one twin; times in seconds of its clock."""

    api_version: str = API_VERSION
    """An account's own: of requests that name none, and of the events that it lists."""
    key_life_s: float = 86_400
    """How long an idempotency key is kept, from its first use."""
    gone_customer: GoneCustomer = GoneCustomer.REFUSED
    clock_time: ClockTime = ClockTime.FROZEN
    confirms_before_cancel: int | None = None
    """After this many declined confirms Stripe cancels the intent by itself; None: never."""
    debit_s: float = 20
    """How long a bank debit stays in `processing`."""
    slow_debit_s: float = 180
    """The same for test accounts that are documented as delayed."""
    dispute_s: float = 0
    """How long after the success the dispute of a disputing test card opens."""
    event_life_s: float = 30 * 86_400
    """Events older than this are not listed any more."""
    raw_card_numbers: bool = True
    """Whether card numbers are taken; Stripe takes them of accounts that it allowed to."""
    action_url: str = "https://hooks.stripe.com/redirect/authenticate"
    """Where `next_action.redirect_to_url` points; the intent's id is added."""
