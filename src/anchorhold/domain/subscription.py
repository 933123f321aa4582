"""What a subscription can be, and what comes next on it (protocol section 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.ids import PriceId
from anchorhold.domain.period import Calendar, Period
from anchorhold.domain.price import Billing, Item


class SubscriptionStatus(StrEnum):
    """The life of a subscription."""

    ACTIVE = "active"
    PAUSED = "paused"
    """Nothing is billed; what comes due meanwhile is left out when it is resumed."""
    CANCELED = "canceled"


class PauseReason(StrEnum):
    """Why a subscription is paused."""

    OPERATOR = "operator"
    BEHIND = "behind"
    """More periods were due at once than are billed without a person's word."""


@dataclass(frozen=True, slots=True)
class Due:
    """What comes next: period `number` is billed at `at`; without a period, it ends then."""

    number: int
    at: datetime
    period: Period | None


def next_due(calendar: Calendar, billing: Billing, number: int) -> Due:
    """What comes next when the periods before `number` are billed."""
    period = calendar.period(number)
    if period is None:
        if calendar.ends_at is None:
            raise ValueError(f"period {number} is before the start of the subscription")
        return Due(number, calendar.ends_at, None)
    in_advance = billing is Billing.IN_ADVANCE
    return Due(number, period.start if in_advance else period.end, period)


def due_until(
    calendar: Calendar, billing: Billing, number: int, until: datetime, *, limit: int
) -> list[Due]:
    """What comes due from period `number` on up to `until`, oldest first, at most `limit`.

    The end of the subscription is the last of them.
    """
    found: list[Due] = []
    while len(found) < limit:
        due = next_due(calendar, billing, number)
        if due.at > until:
            break
        found.append(due)
        if due.period is None:
            break
        number += 1
    return found


def first_after(calendar: Calendar, billing: Billing, number: int, instant: datetime) -> Due:
    """What is the first to come due after this instant, from period `number` on."""
    due = next_due(calendar, billing, max(number, calendar.number_at(instant) - 1))
    while due.at <= instant and due.period is not None:
        due = next_due(calendar, billing, due.number + 1)
    return due


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an invoice; `amount` in minor units."""

    price_id: PriceId
    description: str
    quantity: int
    amount: int


def lines(items: Sequence[Item], period: Period) -> list[Line]:
    """What the period costs, a line for each item; a part of a period costs its share."""
    return [
        Line(item.price_id, item.reference, item.quantity, period.share(item.amount))
        for item in items
    ]
