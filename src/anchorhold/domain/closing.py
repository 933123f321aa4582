"""TABLE: what the answer to a cancel means for whoever closes an invoice (protocol section 5).

The order is always the same: take the hold, cancel the intent at Stripe, write, release. The first
row that fits decides; its id is written to the journal.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from anchorhold.domain.access import Action
from anchorhold.domain.answer import (
    PAYABLE,
    UNDER_WAY,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    intent_in,
)
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import CustomerId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.payment import Source


class Without(StrEnum):
    """Why no cancel was sent although an invoice is being closed."""

    NO_INTENT = "no_intent"
    """Nothing at Stripe stands for the invoice, so nothing can pay it."""
    ANOTHER_ACCOUNT = "another_account"
    """Its intent lives in another Stripe account than the connected one."""


class Step(StrEnum):
    """What the one who closes does next."""

    WRITE = "write"
    """Nothing can pay any more: write locally and release."""
    SETTLE = "settle"
    """Money arrived: record it; the close is refused with the news."""
    FOLLOW = "follow"
    """The bank decides later: release, the invoice follows the intent; 409."""
    KEEP = "keep"
    """Nobody can tell: the hold stays, the sweep retrieves the intent."""
    RELEASE = "release"
    """Nothing was executed: released, try again."""
    FLAG = "flag"
    """The key is not accepted: released, the account is flagged, a notice is opened."""
    REFUSE = "refuse"
    """Stripe will not cancel this: released, with a notice."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line. An empty condition fits everything of its kind; `without` fits no answer."""

    id: str
    step: Step
    because: str
    without: Without | None = None
    intent: frozenset[IntentStatus] = frozenset()
    http: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    not_sent: frozenset[NotSent] = frozenset()
    nothing_sent: bool = False


# fmt: off
CLOSING = (
    Row("C1", Step.WRITE, "nothing at Stripe can pay it", without=Without.NO_INTENT),
    Row("C2", Step.REFUSE, "its intent lives in another Stripe account",
        without=Without.ANOTHER_ACCOUNT),
    Row("C3", Step.SETTLE, "the customer paid first: money is never lost",
        intent=frozenset({IntentStatus.SUCCEEDED})),
    Row("C4", Step.WRITE, "a cancelled intent never charges",
        intent=frozenset({IntentStatus.CANCELED})),
    Row("C5", Step.FOLLOW, "the bank decides later", intent=UNDER_WAY),
    Row("C6", Step.KEEP, "it can still be paid: this cancel did not take", intent=PAYABLE),
    Row("C7", Step.KEEP, "refused for a state that was not shown",
        http=frozenset({400}), codes=frozenset({"payment_intent_unexpected_state"})),
    Row("C8", Step.FLAG, "nothing was executed: the key is not accepted",
        http=frozenset({401, 403})),
    Row("C9", Step.REFUSE, "Stripe refuses for what the request says: a person looks",
        http=frozenset({400, 402, 404})),
    Row("C10", Step.RELEASE, "limiters run before the API: nothing was executed",
        http=frozenset({429}), codes=frozenset({"rate_limit"})),
    Row("C11", Step.KEEP, "another request is at work on this intent",
        http=frozenset({409, 429})),
    Row("C12", Step.FLAG, "no byte left: the key cannot be read",
        not_sent=frozenset({NotSent.CREDENTIALS_UNREADABLE}), nothing_sent=True),
    Row("C13", Step.RELEASE, "no byte left: definite", nothing_sent=True),
    Row("C14", Step.KEEP, "a server error or no readable answer: it may have been carried out"),
)
# fmt: on

Answer = Result[IntentView] | Without
"""What became of the cancel: Stripe's answer, or why none was sent."""


def read(answer: Answer) -> Row:
    """The row that decides; the last one fits whatever no other does."""
    return next(row for row in CLOSING if _fits(row, answer))


def _fits(row: Row, answer: Answer) -> bool:
    if isinstance(answer, Without) or row.without is not None:
        return row.without is answer
    shown = intent_in(answer)
    if shown is not None:
        return shown.status in row.intent
    if row.intent:
        return False
    if isinstance(answer, NothingSent):
        return row.nothing_sent and (not row.not_sent or answer.cause in row.not_sent)
    return not row.nothing_sent and _fits_refusal(row, answer)


def _fits_refusal(row: Row, answer: Answer) -> bool:
    if not isinstance(answer, Refused):
        return not row.http
    in_codes = not row.codes or answer.code in row.codes
    return in_codes and (not row.http or answer.status in row.http)


def conditions(row: Row) -> str:
    """When the row fits, in words."""
    if row.without is not None:
        return row.without.replace("_", " ")
    named = [
        "Stripe shows it as " + " or ".join(sorted(row.intent)) if row.intent else "",
        "HTTP " + " or ".join(map(str, sorted(row.http))) if row.http else "",
        "code " + " or ".join(sorted(row.codes)) if row.codes else "",
        "nothing was sent" if row.nothing_sent else "",
        " or ".join(sorted(row.not_sent)).replace("_", " "),
    ]
    return ", ".join(part for part in named if part) or "anything else"


@dataclass(frozen=True, slots=True)
class Held:
    """An invoice that is held to be closed or changed; amounts in minor units.

    `intent_account` is where the live intent is; None without one.
    """

    token: Token
    kind: AttemptKind
    customer_id: CustomerId
    currency: str
    amount_due: int
    amount_paid: int
    intent_id: str | None
    intent_account: str | None

    @property
    def remaining(self) -> int:
        """What is still due; every final write compares it."""
        return self.amount_due - self.amount_paid


class Act(StrEnum):
    """How an invoice can end without Stripe."""

    VOID = "void"
    WRITE_OFF = "write_off"
    PAID_ELSEWHERE = "paid_elsewhere"
    CREDIT = "credit"
    """The customer's credit balance covers all of it."""
    NOTHING_DUE = "nothing_due"


@dataclass(frozen=True, slots=True)
class Ending:
    """What the final write of a close says.

    `reason` is why, in a person's or a policy's words; `reference` names an offline payment.
    """

    act: Act
    status: InvoiceStatus
    action: Action
    reason: str = ""
    source: Source | None = None
    reference: str | None = None


# fmt: off
ENDINGS = {
    Act.VOID:           Ending(Act.VOID, InvoiceStatus.VOID, Action.VOID),
    Act.WRITE_OFF:      Ending(Act.WRITE_OFF, InvoiceStatus.UNCOLLECTIBLE, Action.WRITE_OFF),
    Act.PAID_ELSEWHERE: Ending(Act.PAID_ELSEWHERE, InvoiceStatus.PAID, Action.PAID_ELSEWHERE,
                               source=Source.ELSEWHERE),
    Act.CREDIT:         Ending(Act.CREDIT, InvoiceStatus.PAID, Action.AUTO_CHARGE,
                               source=Source.CREDIT),
    Act.NOTHING_DUE:    Ending(Act.NOTHING_DUE, InvoiceStatus.PAID, Action.AUTO_CHARGE),
}
"""What each act makes of an open invoice."""
# fmt: on


def ending(act: Act, reason: str, reference: str | None = None) -> Ending:
    """The ending of this act with its words."""
    return replace(ENDINGS[act], reason=reason, reference=reference)


class FinalAction(StrEnum):
    """What a dunning policy does when its last retry was declined."""

    CANCEL = "cancel"
    MARK_UNCOLLECTIBLE = "mark_uncollectible"
    PAUSE = "pause"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Finish:
    """A final action's part on its invoice; `closes`: the intent is cancelled and it ends."""

    id: str
    action: FinalAction
    closes: bool
    manual: bool
    because: str


# fmt: off
FINAL_ACTIONS = (
    Finish("Z1", FinalAction.CANCEL, closes=True, manual=False,
           because="the subscription ends and nobody asks for its debt any more"),
    Finish("Z2", FinalAction.MARK_UNCOLLECTIBLE, closes=True, manual=False,
           because="the debt is given up"),
    Finish("Z3", FinalAction.PAUSE, closes=False, manual=True,
           because="it stays open; only a person or the customer pays it"),
    Finish("Z4", FinalAction.LEAVE, closes=False, manual=False,
           because="it stays open as it is; the customer can still pay"),
)
# fmt: on


def finish_of(action: FinalAction) -> Finish:
    """The row of this final action."""
    return next(row for row in FINAL_ACTIONS if row.action is action)
