"""TABLE: what to do about a PaymentIntent after the database may have lost commits (section 11).

Each intent of ours that was made or changed since the last commit that is surely here is compared
with the rows: with its own row, and with the invoice that its metadata name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.answer import PAYABLE, UNDER_WAY, IntentStatus, IntentView
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.intent import METADATA_ACCOUNT, METADATA_INVOICE, METADATA_NUMBER
from anchorhold.domain.scope import Scope


class Phase(StrEnum):
    """How far a recovery is."""

    CREATED = "created"
    """Reads the PaymentIntents made since then."""
    CHANGED = "changed"
    """Reads the events since then: older intents may have succeeded in the lost time."""
    DONE = "done"


class Row(StrEnum):
    """What the database knows of an intent."""

    LIVE = "live"
    """The invoice's own."""
    SETTLED = "settled"
    """Its payment is recorded."""
    FOLLOWED = "followed"
    """The invoice follows it."""
    WANTED = "wanted"
    """No row has its id, and its open invoice has no other: it stands for what is due."""
    ENDED = "ended"
    """Its row says that it ended without a payment, or it is not the invoice's any more."""
    LOST = "lost"
    """No row has its id, and its invoice cannot take it."""
    UNDER_WAY = "under_way"
    """A row without an id waits for just this one: its create is repeated."""


class Bill(StrEnum):
    """What the database knows of the invoice that the metadata name."""

    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    """Lost with the tail: pushed again it would be another invoice."""


class Act(StrEnum):
    """What recovering does."""

    SETTLE = "settle"
    FOLLOW = "follow"
    ADOPT = "adopt"
    """The intent is the invoice's live one again."""
    CANCEL = "cancel"
    END = "end"
    """The intent's row ends; the next may be prepared."""
    REMEMBER = "remember"
    """Its number is used up, though the row that said so is lost."""
    REPORT = "report"
    """A notice for a person: money for an invoice that is not here."""
    NOTHING = "nothing"


ROWS = frozenset(Row)
BILLS = frozenset(Bill)
KNOWN = frozenset({Bill.OPEN, Bill.CLOSED})
SUCCEEDED = frozenset({IntentStatus.SUCCEEDED})
CANCELED = frozenset({IntentStatus.CANCELED})
UNNAMED = frozenset({Row.WANTED, Row.LOST})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table; the first that fits decides."""

    id: str
    intent: frozenset[IntentStatus]
    invoice: frozenset[Bill]
    row: frozenset[Row]
    act: Act
    because: str


# fmt: off
RECOVER = (
    Rule("V1", SUCCEEDED, frozenset({Bill.UNKNOWN}), ROWS, Act.REPORT,
         "money arrived for an invoice that was lost: a person has to say whose"),
    Rule("V2", SUCCEEDED, KNOWN, frozenset({Row.SETTLED}), Act.NOTHING,
         "the payment is recorded"),
    Rule("V3", SUCCEEDED, KNOWN, ROWS, Act.SETTLE,
         "money arrived: never lose it, and never take it again"),
    Rule("V4", UNDER_WAY, frozenset({Bill.UNKNOWN}), ROWS, Act.REPORT,
         "money may arrive for an invoice that was lost"),
    Rule("V5", UNDER_WAY, frozenset({Bill.OPEN}), frozenset({Row.FOLLOWED}), Act.NOTHING,
         "its end is looked for"),
    Rule("V6", UNDER_WAY, frozenset({Bill.OPEN}), ROWS, Act.FOLLOW,
         "the bank decides later, and nothing is charged until then"),
    Rule("V7", UNDER_WAY, frozenset({Bill.CLOSED}), ROWS, Act.NOTHING,
         "cannot be stopped; its success opens a notice when it comes"),
    Rule("V8", PAYABLE, frozenset({Bill.UNKNOWN}), ROWS, Act.CANCEL,
         "nobody knows it, and the invoice may come again"),
    Rule("V9", PAYABLE, KNOWN, frozenset({Row.UNDER_WAY}), Act.NOTHING,
         "its create is repeated under the same key and names it"),
    Rule("V10", PAYABLE, frozenset({Bill.OPEN}), frozenset({Row.LIVE, Row.FOLLOWED}), Act.NOTHING,
         "the next attempt confirms this same intent"),
    Rule("V11", PAYABLE, frozenset({Bill.OPEN}), frozenset({Row.WANTED}), Act.ADOPT,
         "the row is lost: a second intent beside it could be paid as well"),
    Rule("V12", PAYABLE, KNOWN, ROWS, Act.CANCEL,
         "not the invoice's own, or nothing is due, and it could still be paid"),
    Rule("V13", CANCELED, KNOWN, frozenset({Row.LIVE}), Act.END,
         "a cancelled intent never charges"),
    Rule("V14", CANCELED, KNOWN, UNNAMED, Act.REMEMBER,
         "its key would show it again as if it could be paid"),
    Rule("V15", CANCELED, BILLS, ROWS, Act.NOTHING,
         "a cancelled intent never charges"),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Standing:
    """What the rows say about one intent; the amount is what is due, in minor units."""

    intent_id: str
    invoice_id: InvoiceId
    known: bool
    open: bool
    seq: int
    amount: int
    currency: str
    held: bool
    free: bool
    """The invoice has no intent, follows none, and no hold is on it."""
    own: bool
    followed: bool
    paid: bool
    named: bool
    """A row has this intent's id."""
    preparing: int | None
    """The number of the invoice's row without an id."""


def bill_of(standing: Standing) -> Bill:
    """What is known of the invoice."""
    if not standing.known:
        return Bill.UNKNOWN
    return Bill.OPEN if standing.open else Bill.CLOSED


def row_of(intent: IntentView, standing: Standing) -> Row:
    """What is known of the intent."""
    if standing.paid:
        return Row.SETTLED
    if standing.followed:
        return Row.FOLLOWED
    if standing.own:
        return Row.LIVE
    if standing.named:
        return Row.ENDED
    number = number_of(intent)
    if number is not None and number == standing.preparing:
        return Row.UNDER_WAY
    fits = (intent.amount, intent.currency) == (standing.amount, standing.currency)
    wanted = number is not None and standing.free and standing.preparing is None and fits
    return Row.WANTED if wanted else Row.LOST


def decide(intent: IntentView, standing: Standing) -> Rule:
    """The first rule that fits the intent and what the rows say about it."""
    bill, row = bill_of(standing), row_of(intent, standing)
    return next(
        rule
        for rule in RECOVER
        if intent.status in rule.intent and bill in rule.invoice and row in rule.row
    )


def number_of(intent: IntentView) -> int | None:
    """Which of its invoice's intents it is; None for one of the direct mode."""
    text = intent.metadata.get(METADATA_NUMBER, "")
    return int(text) if text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 31 else None


def invoice_of(intent: IntentView) -> InvoiceId:
    """The invoice that its metadata name; call for one that `is_ours`."""
    return InvoiceId(intent.metadata[METADATA_INVOICE])


def is_ours(scope: Scope, intent: IntentView) -> bool:
    """It was made by this account for an invoice."""
    metadata: Mapping[str, str] = intent.metadata
    ours = metadata.get(METADATA_ACCOUNT) == scope.account_id
    return ours and bool(metadata.get(METADATA_INVOICE))


def half_shown(intent: IntentView) -> bool:
    """A success whose charge was only named: whether it was refunded has to be looked up."""
    return intent.status is IntentStatus.SUCCEEDED and intent.latest_charge is None


@dataclass(frozen=True, slots=True)
class Run:
    """A recovery that this process leads until `lease_until`; `after` is where it stopped."""

    id: str
    since: datetime
    lease_until: datetime
    phase: Phase
    after: str | None
    counts: dict[str, int]
    too_early: bool
    """Direct mode: a charge that left before the fail-over can still be on its way."""
