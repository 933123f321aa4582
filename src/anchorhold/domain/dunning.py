"""TABLE: what a dunning run does next, from its policy and what the rows say (protocol section 10).

Nothing is counted in the run itself: tries are attempts that a bank declined, whoever found that
out, so that an unclear answer, a 429 or a lost result never counts. The first row that fits
decides; its id stays with the run.
"""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from anchorhold.domain.answer import Decline
from anchorhold.domain.closing import FinalAction
from anchorhold.domain.declines import Remedy, remedy_of

TRIES_MAX: Final = 8
"""So often a bank is asked about one invoice, whoever asks (protocol section 10)."""

CARD_TRIES_MAX: Final = 14
"""So many declines one payment method may have in `CARD_WINDOW`, over all invoices."""

CARD_WINDOW: Final = timedelta(days=30)

FINAL_AGAIN: Final = timedelta(hours=24)
"""A final action that failed is tried again after so long."""

PAUSE: Final = timedelta(minutes=5)
"""After a step that the bank did not decide the next look comes no sooner."""

WAITS_MAX: Final = 7
"""The first charge and so many retries are the tries of an invoice."""

WAIT_HOURS_MAX: Final = 24 * 90


@dataclass(frozen=True, slots=True)
class Policy:
    """How a failed invoice is tried again, and how it ends.

    `waits_hours[n]` is the least wait after the n-th decline; a retry then comes at the time of
    day `at` in `zone`, or at once when `at` is None. After the last one comes `final_action`.
    """

    waits_hours: tuple[int, ...]
    at: time | None
    zone: str
    final_action: FinalAction


class StepKind(StrEnum):
    """What a step of a run does."""

    RETRY = "retry"
    FINAL = "final"


class StepState(StrEnum):
    """What became of a step."""

    CLAIMED = "claimed"
    """Somebody is at it, or died at it; the attempts say what became of the charge."""
    PAID = "paid"
    DECLINED = "declined"
    UNCLEAR = "unclear"
    """Being confirmed with Stripe; it does not count as a try."""
    NOT_SENT = "not_sent"
    SKIPPED = "skipped"
    """Something was under way on the invoice, or there was nothing to confirm."""
    DONE = "done"
    """The final action is done."""
    REFUSED = "refused"
    """The final action could not be done; it is tried again."""


class Outcome(StrEnum):
    """How a run ended."""

    RECOVERED = "recovered"
    VOIDED = "voided"
    WRITTEN_OFF = "written_off"
    SET_ASIDE = "set_aside"
    """The final action was `pause`: open, for a person or the customer to pay."""
    LEFT = "left"
    """The final action was `leave`: open, as it was."""


LEAVES_OPEN: Final = {
    FinalAction.PAUSE: Outcome.SET_ASIDE,
    FinalAction.LEAVE: Outcome.LEFT,
}
"""How a run ends whose final action leaves the invoice open; the others close it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rows say about a run's invoice. Times are the database's clock.

    `retries`: retries of the run that were declined. `tries`: charges of the invoice that a bank
    answered. `method` is charged now; `declined_method` was charged last. `card_declines` are
    those of `method` within `CARD_WINDOW`; at `card_free_at` it has fewer than the limit again.
    """

    now: datetime
    opened_at: datetime
    retries: int
    tries: int
    declined_at: datetime | None
    decline: Decline | None
    declined_method: str | None
    method: str | None
    card_declines: int
    card_free_at: datetime | None

    @property
    def since(self) -> datetime:
        """From here the waits count: the last decline, or the run's begin if none is known."""
        return self.declined_at or self.opened_at

    @property
    def remedy(self) -> Remedy:
        """What the last decline asks for."""
        return remedy_of(self.decline) if self.decline else Remedy.RETRY_LATER


class Fact(StrEnum):
    """What a row of the table can ask."""

    STOPPED = "the decline says that nothing more may be asked of any card"
    TRIES_SPENT = f"a bank was asked {TRIES_MAX} times about the invoice"
    WAITS_SPENT = "every retry of the policy was declined"
    NEW_METHOD = "the customer has a payment method that was not declined for it"
    NO_METHOD = "nothing can be charged"
    METHOD_USELESS = "the decline wants the customer to act, or another payment method"
    CARD_SPENT = f"the payment method was declined {CARD_TRIES_MAX} times in 30 days"
    WAIT_A_DAY = "the decline wants 24 hours"


class When(StrEnum):
    """When the next step of a run comes."""

    AT_ONCE = "at once"
    IN_TURN = "after the policy's next wait"
    IN_TURN_NOT_TODAY = "after the policy's next wait, and no sooner than 24 hours"
    CARD_FREE = "after the policy's next wait, once the payment method may be charged again"
    AT_THE_END = "when all waits of the policy are over"


@dataclass(frozen=True, slots=True)
class Row:
    """One line: if all of `facts` hold and none of `without`, this step comes then."""

    id: str
    facts: frozenset[Fact]
    step: StepKind
    when: When
    because: str
    without: frozenset[Fact] = frozenset()


_RETRY, _FINAL = StepKind.RETRY, StepKind.FINAL

# fmt: off
NEXT_STEP: Final = (
    Row("Y1", frozenset({Fact.STOPPED}), _FINAL, When.AT_THE_END,
        "only a person decides whether anything is charged again"),
    Row("Y2", frozenset({Fact.TRIES_SPENT}), _FINAL, When.AT_THE_END,
        "card networks fine a further try; the customer can still pay"),
    Row("Y3", frozenset({Fact.NO_METHOD}), _FINAL, When.AT_THE_END,
        "there is nothing to charge; a new payment method is tried at once"),
    Row("Y4", frozenset({Fact.WAITS_SPENT}), _FINAL, When.AT_ONCE,
        "the last retry was declined", without=frozenset({Fact.NEW_METHOD})),
    Row("Y5", frozenset({Fact.CARD_SPENT}), _RETRY, When.CARD_FREE,
        "card networks fine a further try with it"),
    Row("Y6", frozenset({Fact.NEW_METHOD}), _RETRY, When.AT_ONCE,
        "what was declined is not charged any more"),
    Row("Y7", frozenset({Fact.METHOD_USELESS}), _FINAL, When.AT_THE_END,
        "a retry would be declined again; a new payment method is tried at once"),
    Row("Y8", frozenset({Fact.WAIT_A_DAY}), _RETRY, When.IN_TURN_NOT_TODAY,
        "the bank wants a day"),
    Row("Y9", frozenset(), _RETRY, When.IN_TURN, "it may succeed later"),
)
"""What a run does next; the last row fits whatever no other does."""
# fmt: on


def conditions(row: Row) -> str:
    """When the row fits, in words."""
    holding = [fact.value for fact in Fact if fact in row.facts]
    missing = [f"not: {fact.value}" for fact in Fact if fact in row.without]
    return "; ".join((*holding, *missing)) or "anything else"


@dataclass(frozen=True, slots=True)
class Next:
    """The next step of a run, when it comes, and the row that says so."""

    step: StepKind
    at: datetime
    rule: str

    def is_due(self, now: datetime) -> bool:
        """Its time has come."""
        return self.at <= now


def next_step(policy: Policy, facts: Facts) -> Next:
    """What the run does next, and when; the same rows always give the same answer."""
    row = row_of(policy, facts)
    return Next(row.step, _time_of(row.when, policy, facts), row.id)


def row_of(policy: Policy, facts: Facts) -> Row:
    """The row that decides."""
    holding = facts_of(policy, facts)
    return next(row for row in NEXT_STEP if row.facts <= holding and not row.without & holding)


def facts_of(policy: Policy, facts: Facts) -> frozenset[Fact]:
    """Which of the table's facts hold."""
    remedy = facts.remedy
    fresh = facts.method is not None and facts.method != facts.declined_method
    known = facts.declined_method is not None
    holding = {
        Fact.STOPPED: remedy is Remedy.NEVER,
        Fact.TRIES_SPENT: facts.tries >= TRIES_MAX,
        Fact.WAITS_SPENT: facts.retries >= len(policy.waits_hours),
        Fact.NEW_METHOD: fresh and known,
        Fact.NO_METHOD: facts.method is None,
        Fact.METHOD_USELESS: remedy in {Remedy.ASK_CUSTOMER, Remedy.NEW_METHOD},
        Fact.CARD_SPENT: facts.card_declines >= CARD_TRIES_MAX,
        Fact.WAIT_A_DAY: remedy is Remedy.WAIT_A_DAY,
    }
    return frozenset(fact for fact, holds in holding.items() if holds)


def _time_of(when: When, policy: Policy, facts: Facts) -> datetime:
    left = policy.waits_hours[facts.retries :]
    turn = at_time_of_day(facts.since + timedelta(hours=left[0] if left else 0), policy)
    match when:
        case When.AT_ONCE:
            return facts.now
        case When.IN_TURN:
            return turn
        case When.IN_TURN_NOT_TODAY:
            return max(turn, facts.since + timedelta(hours=24))
        case When.CARD_FREE:
            return max(turn, facts.card_free_at or facts.now)
        case When.AT_THE_END:
            return at_time_of_day(facts.since + timedelta(hours=sum(left)), policy)


def at_time_of_day(earliest: datetime, policy: Policy) -> datetime:
    """The first moment from `earliest` on at which it is the policy's time of day, in UTC.

    An hour that the clocks skip is taken an hour later, one that comes twice is taken once.
    """
    if policy.at is None:
        return earliest
    zone = ZoneInfo(policy.zone)
    day = earliest.astimezone(zone).date()
    for later in range(3):
        local = datetime.combine(day + timedelta(days=later), policy.at, zone)
        if (moment := local.astimezone(earliest.tzinfo)) >= earliest:
            return moment
    raise AssertionError("a time of day comes every day")
