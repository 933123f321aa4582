"""TABLE: what needs a person: each fact, what to do about it, and what ends it (section 8)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Ends(StrEnum):
    """What resolves a notice."""

    WORDS = "words"
    """A person says how it was dealt with."""
    REFUND = "refund"
    """Giving the payment back in full does, here or in Stripe's dashboard."""
    ITSELF = "itself"
    """It ends when the fact does; nobody has to do anything."""


class Weight(StrEnum):
    """How much it asks of a person."""

    TASK = "task"
    WARNING = "warning"
    """Something to know; what is to be done is being done."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of notice, in our own words: what happened, what we do, what a person does."""

    code: str
    weight: Weight
    happened: str
    to_do: str
    ends: frozenset[Ends]
    because: str
    """Why it is not done automatically."""


_BY_REFUND: Final = frozenset({Ends.REFUND, Ends.WORDS})
_BY_WORDS: Final = frozenset({Ends.WORDS})
_BY_ITSELF: Final = frozenset({Ends.ITSELF, Ends.WORDS})

# fmt: off
NOTICES: Final = (
    Row("payment.duplicate_charge", Weight.TASK,
        "A second payment arrived for an invoice that was paid already.",
        "Refund it, or agree with the customer on a credit.",
        _BY_REFUND, "the customer may want it as a credit"),
    Row("payment.received_on_voided_invoice", Weight.TASK,
        "Money arrived for an invoice that is void.",
        "Refund it, or write a new invoice for it.",
        _BY_REFUND, "the void may have been the mistake"),
    Row("payment.amount_mismatch", Weight.TASK,
        "Another amount or currency arrived than was due.",
        "Refund it or the part that is too much, or collect what is missing.",
        _BY_REFUND, "nobody but a person knows what was agreed"),
    Row("payment.found_refunded", Weight.TASK,
        "A payment was found that had been given back in full before we knew of it.",
        "Ask who refunded it and why, then collect the invoice again or void it.",
        _BY_WORDS, "somebody gave it back on purpose"),
    Row("payment.disputed", Weight.TASK,
        "The customer disputes a payment at his bank.",
        "Answer in Stripe's dashboard before the evidence is due; refunding is not possible.",
        _BY_ITSELF, "evidence is a person's word"),
    Row("payment.dispute_lost", Weight.TASK,
        "A dispute was lost, or a bank debit was returned: the money is gone and the invoice is "
        "owed again.",
        "Collect it again with the customer's consent, or write it off.",
        _BY_WORDS, "charging a customer who disputed is a decision"),
    Row("refund.failed", Weight.TASK,
        "A refund failed after it had been made: the customer has no money back.",
        "Give it back another way, or refund it once more.",
        _BY_WORDS, "the bank that refused it will refuse it again"),
    Row("collection.blocked", Weight.TASK,
        "Stripe refused the customer, the payment method or the amount.",
        "Change what it names, or close the invoice.",
        _BY_WORDS, "the same request would be refused again"),
    Row("close.refused", Weight.TASK,
        "Stripe would not cancel the PaymentIntent of an invoice that was to end.",
        "Connect the right Stripe account or key and close it again, or write it off.",
        _BY_WORDS, "what can still be paid must not be closed"),
    Row("charge.unidentifiable", Weight.WARNING,
        "Stripe's answer to a charge never came, and it named no PaymentIntent.",
        "Nothing: Stripe is asked until it shows the charge or a day is over; until then nothing "
        "else is charged. Tell a customer who asks not to pay again yet.",
        _BY_ITSELF, "a second charge now could be a second payment"),
    Row("payment.invoice_lost", Weight.TASK,
        "Money arrived, or is on its way, for an invoice that the database lost.",
        "Import the invoice again and record the payment on it, or refund it in Stripe's "
        "dashboard; do not collect it again before.",
        _BY_WORDS, "what the invoice was for is not at Stripe"),
    Row("renewal.behind", Weight.TASK,
        "More periods of a subscription were due at once than are billed without a word; it is "
        "paused.",
        "Bill the rest with `anchorhold subscription renew`, or leave it out with `anchorhold "
        "subscription resume`.",
        _BY_WORDS, "a wrong start date or clock would charge the customer for years"),
    Row("events.gap", Weight.TASK,
        "Stripe's events were not read for longer than Stripe keeps them.",
        "Compare refunds and disputes of that time in Stripe's dashboard; payments are found by "
        "themselves.",
        _BY_WORDS, "what Stripe does not list any more cannot be read"),
)
"""Every kind of notice that the news writes; other parts of the product add theirs below."""
# fmt: on

OF: Final = {row.code: row for row in NOTICES}
"""The row of each code."""

SETTLED_BY_REFUND: Final = tuple(row.code for row in NOTICES if Ends.REFUND in row.ends)
"""The codes that a full refund of the payment resolves."""


def about(code: str) -> Row:
    """The row of this code; one that is not in the table is told as it is stored."""
    words = code.replace(".", " ").replace("_", " ")
    unknown = Row(code, Weight.TASK, f"{words.capitalize()}.", "Look at its evidence.", _BY_WORDS,
                  "it needs a decision")  # fmt: skip
    return OF.get(code, unknown)
