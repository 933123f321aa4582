"""What was asked for a subscription, and its way from there: read, said, asked, made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from anchorhold.cli import words
from anchorhold.cli.session import Session
from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.period import Calendar, calendar_of, zone
from anchorhold.domain.price import Item
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.subscription import Due, due_until, lines
from anchorhold.engine.renew import CATCH_UP
from anchorhold.store.prices import PriceView


def quantities_of(asked: Sequence[str]) -> dict[str, int]:
    """ "seat:5" is five of price seat, "plan" is one. Refuses: quantity_invalid."""
    found: dict[str, int] = {}
    for text in asked:
        name, colon, count = text.rpartition(":")
        name, count = (name, count) if colon else (text, "1")
        if not name or not (count.isascii() and count.isdigit()) or name in found:
            raise Refusal(BillingCode.QUANTITY_INVALID, text=text[:60])
        found[name] = int(count)
    if not found:
        raise Refusal(BillingCode.QUANTITY_INVALID, text="")
    return found


@dataclass(frozen=True, slots=True)
class Beginning:
    """When a subscription is to begin: a wall time in the zone, now without one."""

    start: datetime | None
    trial_days: int
    anchor_day: int | None
    zone_name: str


def calendar_for(rows: Sequence[PriceView], begin: Beginning, now: datetime) -> Calendar:
    """The calendar that was asked for; a trial puts its start off by so many days.

    Refuses: zone_unknown, start_unlikely, anchor_day_invalid.
    """
    there = zone(begin.zone_name)
    wall = begin.start or now.astimezone(there).replace(microsecond=0, tzinfo=None)
    starts_at = (wall + timedelta(days=begin.trial_days)).replace(tzinfo=there)
    interval = rows[0].price.interval
    return calendar_of(
        starts_at.astimezone(now.tzinfo), begin.zone_name, interval, anchor_day=begin.anchor_day
    )


def due_now(calendar: Calendar, rows: Sequence[PriceView], now: datetime) -> list[Due]:
    """What is billed at once, no more than a pass bills without a person's word."""
    number = calendar.number_at(calendar.starts_at)
    return due_until(calendar, rows[0].billing, number, now, limit=CATCH_UP)


def said(
    customer: str,
    rows: Sequence[PriceView],
    counts: Mapping[str, int],
    calendar: Calendar,
    due: Sequence[Due],
) -> str:
    """What the subscription is, and what is billed at once."""
    items = [
        Item(row.id, row.reference, row.scheme, row.unit_amount, count)
        for row, count in zip(rows, counts.values(), strict=True)
    ]
    currency = rows[0].currency
    whole = words.money(sum(item.amount for item in items), currency)
    what = f"subscribe {customer} at {whole} every {rows[0].price.interval}"
    when = f" from {words.exact(calendar.starts_at)} on"
    periods = [one.period for one in due if one.period]
    if not periods:
        return f"{what}{when}"
    at_once = sum(line.amount for period in periods for line in lines(items, period))
    return (
        f"{what}{when}; {len(periods)} periods are billed at once, {words.money(at_once, currency)}"
    )


def status(desk: Session, starts_at: datetime, state: str, ends_at: datetime | None) -> str:
    """A subscription's status for people: an active one that has not begun, or will end."""
    if state == "active" and starts_at > desk.when.now:
        return f"starts {desk.when.at(starts_at)}"
    if state == "active" and ends_at is not None:
        return f"active, ends {desk.when.at(ends_at)}"
    return state
