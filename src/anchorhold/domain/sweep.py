"""TABLE: what one check of a stale hold decides (protocol section 6).

`find` turns what Stripe showed into findings; `decide` picks the rows, by the trace that the hold's
own attempt left (`domain/trace.py`). Rows that `go_on` act and the check goes on; the first other
row that fits ends the check.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from anchorhold.domain.account import AfterPresumedNone, SweepMode
from anchorhold.domain.answer import (
    UNDER_WAY,
    ChargeView,
    Deadline,
    Decline,
    IntentStatus,
    IntentView,
)
from anchorhold.domain.attempt import (
    CHARGES,
    UNPROVEN,
    AttemptFacts,
    AttemptState,
    reference_of,
)
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.intent import METADATA_ATTEMPT, METADATA_FENCE
from anchorhold.domain.invoice import ANY, CLOSED, OPEN, InvoiceStatus, PaymentStatus


class Found(StrEnum):
    """What Stripe shows for an invoice."""

    REFUSED = "refused for good"
    LATER = "no answer, or one that says later"
    NO_CUSTOMER = "no Stripe customer on file"
    PAID = "succeeded, not refunded in full"
    REFUNDED = "succeeded, refunded in full"
    PROCESSING = "processing"
    FOLLOWED = "processing, and the invoice follows it"
    SECOND = "processing, and not the direct attempt's own"
    STRAY = "payable, off-session, not the invoice's own"
    DECLINED = "the own attempt's decline"
    PAYABLE = "the own intent is payable"
    NOTHING = "nothing that can pay"


class Act(StrEnum):
    """What the check does."""

    SETTLE = "settle every one, oldest first"
    RECORD_REFUNDED = "record it as refunded; a person decides"
    FOLLOW = "put the newest on the invoice; clear"
    CLEAR = "clear"
    KEEP = "keep; look again in 30 minutes"
    ALARM = "keep; error on every check"
    CANCEL = "cancel it at Stripe; keep for the next check"
    DECLINE = "save the decline; clear"
    SUPERSEDE = "clear; the counter moves"
    FENCE = "take the hold over and send a probe under the same key"
    PRESUME = "list once more; presumed none; clear; the counter moves"


class Trace(StrEnum):
    """What the hold's own attempt left, as far as it decides what "nothing" means."""

    INTENT = "prepared, or no charge"
    UNSENT = "direct, never sent"
    PROVEN = "direct, its end is known"
    FENCEABLE = "direct, its key can still tell"
    WAITS = "direct, less than a day ago"
    DAY_OVER = "direct, a day ago or more"
    LOST = "direct without a fence, nothing saved after the send"


ANY_TRACE = frozenset(Trace)
ENDED = frozenset({Trace.INTENT, Trace.UNSENT, Trace.PROVEN, Trace.LOST})
"""Traces with which "nothing" ends the hold at once."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    id: str
    found: frozenset[Found]
    invoice: frozenset[InvoiceStatus]
    act: Act
    because: str
    goes_on: bool = False
    trace: frozenset[Trace] = ANY_TRACE


# fmt: off
SWEEP = (
    Row("S15", frozenset({Found.REFUSED}), ANY, Act.ALARM,
        "Stripe refuses to tell: only a person can end this"),
    Row("S14", frozenset({Found.LATER}), ANY, Act.KEEP,
        "no answer proves nothing"),
    Row("S13", frozenset({Found.NO_CUSTOMER}), ANY, Act.SUPERSEDE,
        "without a customer and an intent no charge can have been sent"),
    Row("S2", frozenset({Found.REFUNDED}), ANY, Act.RECORD_REFUNDED,
        "the money was given back: it counts as not paid", goes_on=True),
    Row("S1", frozenset({Found.PAID}), ANY, Act.SETTLE,
        "money arrived: never lose it", goes_on=True),
    Row("S4", frozenset({Found.FOLLOWED}), ANY, Act.CLEAR,
        "the follower looks at it by its id"),
    Row("S3", frozenset({Found.PROCESSING}), OPEN, Act.FOLLOW,
        "the bank decides later; the follower looks at it by its id"),
    Row("S5", frozenset({Found.PROCESSING, Found.SECOND}), ANY, Act.KEEP,
        "cleared, nothing would record it; another attempt's news ends no hold (H7)"),
    Row("S7", frozenset({Found.DECLINED}), OPEN, Act.DECLINE,
        "the bank said no to this very attempt"),
    Row("S6", frozenset({Found.STRAY}), ANY, Act.CANCEL,
        "it would stay payable beside the invoice's own"),
    Row("S6b", frozenset({Found.PAYABLE}), CLOSED, Act.CANCEL,
        "a closed invoice must not stay payable"),
    Row("S8", frozenset({Found.PAYABLE, Found.NOTHING}), OPEN, Act.SUPERSEDE,
        "a late charge can only be this same intent, which succeeds once",
        trace=ENDED),
    Row("S9", frozenset({Found.NOTHING, Found.DECLINED}), CLOSED, Act.CLEAR,
        "nothing can pay and nothing is due", trace=ENDED),
    Row("S10", frozenset({Found.PAYABLE, Found.NOTHING}), ANY, Act.FENCE,
        "the key proves within a day whether the charge ever ran",
        trace=frozenset({Trace.FENCEABLE})),
    Row("S11", frozenset({Found.PAYABLE, Found.NOTHING}), ANY, Act.KEEP,
        "Stripe may still carry it out", trace=frozenset({Trace.WAITS})),
    Row("S12", frozenset({Found.PAYABLE, Found.NOTHING}), ANY, Act.PRESUME,
        "Stripe showed nothing for a day: nobody will ever know more",
        trace=frozenset({Trace.DAY_OVER})),
)
# fmt: on


NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HoldFacts:
    """What a check knows from the rows; the database's clock."""

    token: Token
    status: InvoiceStatus
    payment_status: PaymentStatus
    intent_id: str | None
    followed_intent_id: str | None
    stripe_customer_id: str | None
    stripe_account: str
    own: AttemptFacts
    others: tuple[AttemptFacts, ...]
    live: bool = False
    """The hold has not ended: its owner is working, and a check leaves it alone."""
    sweep_mode: SweepMode = SweepMode.FENCE
    after_presumed_none: AfterPresumedNone = AfterPresumedNone.RECHARGE
    now: datetime = NEVER

    @property
    def own_intent(self) -> str | None:
        """The intent that the hold's own attempt could have confirmed or is known to have made."""
        return self.own.intent_id or (None if self.own.direct else self.intent_id)

    @property
    def nothing_to_ask(self) -> bool:
        """A close or the like of an invoice without an intent did nothing at Stripe."""
        return self.own.kind not in CHARGES and self.own_intent is None

    @property
    def customer(self) -> str | None:
        """The Stripe customer whose list shows what the own attempt did."""
        return self.own.stripe_customer_id if self.own.direct else self.stripe_customer_id

    def maker(self, intent: IntentView) -> AttemptId | None:
        """The direct attempt that the intent names as its own; None for what a probe made."""
        if METADATA_FENCE in intent.metadata:
            return None
        for row in (self.own, *self.others):
            if row.direct and row.state is not AttemptState.NOT_SENT and self._named(row, intent):
                return row.id
        return None

    def _named(self, row: AttemptFacts, intent: IntentView) -> bool:
        named = intent.metadata.get(METADATA_ATTEMPT)
        reference = reference_of(self.token.scope, self.token.invoice_id, row.seq)
        return row.intent_id == intent.id or named == reference

    @property
    def oldest_unproven(self) -> datetime:
        """When the oldest attempt whose end is not certain was claimed."""
        rows = (self.own, *self.others)
        return min(row.claimed_at for row in rows if row.state in UNPROVEN or row is self.own)


class Unread(StrEnum):
    """Why nothing could be read."""

    REFUSED = "refused"
    LATER = "later"
    NO_CUSTOMER = "no_customer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What Stripe showed: the invoice's intents, or why none could be read.

    `own_decline` is set only when it is proven to be the own attempt's (S7).
    """

    intents: tuple[IntentView, ...] = ()
    unread: Unread | None = None
    own_decline: Decline | None = None
    error: str = ""
    answered: bool = True
    """Stripe said something, if only a 5xx or 429."""
    until: Deadline | None = None
    """When the whole check is cut, cancelling included."""


def find(facts: HoldFacts, evidence: Evidence) -> frozenset[Found]:
    """Every finding that the evidence supports."""
    if evidence.unread is not None:
        return frozenset({_UNREAD[evidence.unread]})
    found = {_found_in(facts, intent) for intent in evidence.intents}
    if evidence.own_decline is not None:
        found.add(Found.DECLINED)
    return frozenset(found or {Found.NOTHING})


_UNREAD = {
    Unread.REFUSED: Found.REFUSED,
    Unread.LATER: Found.LATER,
    Unread.NO_CUSTOMER: Found.NO_CUSTOMER,
}


def _found_in(facts: HoldFacts, intent: IntentView) -> Found:
    if intent.status is IntentStatus.SUCCEEDED:
        return Found.PAID if intent.paid else Found.REFUNDED
    if intent.status in UNDER_WAY:
        if facts.own.direct and facts.maker(intent) != facts.own.id:
            return Found.SECOND
        followed = intent.id == facts.followed_intent_id
        return Found.FOLLOWED if followed else Found.PROCESSING
    if intent.payable:
        return Found.PAYABLE if intent.id in _own(facts) else Found.STRAY
    return Found.NOTHING


def _own(facts: HoldFacts) -> frozenset[str | None]:
    """The intents that may stay payable: none that a direct attempt made."""
    if facts.own.direct:
        return frozenset({facts.intent_id})
    return frozenset({facts.intent_id, facts.own.intent_id, facts.followed_intent_id})


def decide(
    found: frozenset[Found], status: InvoiceStatus, trace: Trace = Trace.INTENT
) -> tuple[Row, ...]:
    """The rows to act on, in order; the last one ends the check unless it goes on."""
    rows: list[Row] = []
    for row in SWEEP:
        if row.found & found and status in row.invoice and trace in row.trace:
            rows.append(row)
            if not row.goes_on:
                break
    return tuple(rows)


def made_by_own_attempt(facts: HoldFacts, charge: ChargeView | None) -> bool:
    """A charge that only the hold's own attempt can have made (S7, without the event's key).

    Created at or after the send, with the attempt's payment method, not credited to another
    attempt, while no other attempt on the same intent is unproven (F4).
    """
    own = facts.own
    if charge is None or own.sent_at is None:
        return False
    credited = {row.charge_id for row in facts.others}
    rivals = [row for row in facts.others if row.intent_id == own.intent_id]
    unproven = any(row.state in UNPROVEN for row in rivals)
    after = charge.created >= int(own.sent_at.timestamp())
    same_method = charge.payment_method == own.payment_method
    return after and same_method and not unproven and charge.id not in credited


def made_by_own(facts: HoldFacts, intent: IntentView) -> bool:
    """The hold's own attempt made what the intent shows: by its name, or by its charge (S7)."""
    if facts.own.direct:
        return facts.maker(intent) == facts.own.id
    return made_by_own_attempt(facts, intent.latest_charge)


def declined_direct(facts: HoldFacts, intents: Sequence[IntentView]) -> Decline | None:
    """The decline of a direct attempt: its intent is its own, so the error is too."""
    for intent in intents:
        failed = intent.payable or intent.status is IntentStatus.CANCELED
        if failed and facts.maker(intent) == facts.own.id and intent.last_error is not None:
            return intent.last_error
    return None


def own_decline(facts: HoldFacts, charges: Sequence[ChargeView]) -> Decline | None:
    """The decline of the own attempt among an intent's charges, when it is proven to be its own."""
    for charge in charges:
        if charge.status == "failed" and made_by_own_attempt(facts, charge):
            return charge.failure or Decline("card_declined")
    return None


def state_of_followed(facts: HoldFacts, intent: IntentView) -> AttemptState:
    """What the own attempt becomes when its intent is processing (S3)."""
    own = made_by_own(facts, intent)
    return AttemptState.PROCESSING if own else AttemptState.SUPERSEDED
