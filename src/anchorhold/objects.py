"""Every object as JSON has it: the API answers with them, and the command line prints the same.

Amounts are whole minor units; `display` has each of them for people. Times are UTC with `Z`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.alarms import Overdue, overdue
from anchorhold.domain.currencies import Currency
from anchorhold.domain.hold import HoldState
from anchorhold.domain.money import Money
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.notices import about
from anchorhold.domain.refund import standing
from anchorhold.domain.timing import Timing
from anchorhold.store.accounts import Account
from anchorhold.store.api_keys import KeyRow
from anchorhold.store.endpoints import Endpoint
from anchorhold.store.views_attempts import AttemptView
from anchorhold.store.views_customers import CustomerView
from anchorhold.store.views_events import EventDeliveryRow, EventRow
from anchorhold.store.views_invoices import InvoiceView
from anchorhold.store.views_journal import JournalEntry
from anchorhold.store.views_notices import NoticeView
from anchorhold.store.views_payments import PaymentView
from anchorhold.store.views_refunds import RefundRowView
from anchorhold.store.views_webhooks import DeliveryView

Object = dict[str, object]

HELD: Final = frozenset(
    {
        "hold", "hold_until", "hold_attempt", "hold_attempt_kind", "hold_attempt_state",
        "hold_charge_mode",
        "hold_actor", "held_since", "provider_synced_at", "followed_at", "now",
    }
)  # fmt: skip
"""Columns that an invoice shows inside `hold`."""


def invoice(view: InvoiceView, timing: Timing) -> Object:
    """An invoice."""
    return {
        "object": "invoice",
        **columns(view, without=HELD),
        "amount_remaining": view.amount_due - view.amount_paid,
        "hold": _hold(view, timing),
        "display": display(
            view.currency,
            amount_due=view.amount_due,
            amount_paid=view.amount_paid,
            amount_remaining=view.amount_due - view.amount_paid,
        ),
    }


def hold(view: InvoiceView, timing: Timing) -> Object:
    """The hold of an invoice as an object of its own; its id is the invoice's."""
    return {
        "object": "hold",
        "id": view.id,
        "account_id": view.account_id,
        "livemode": view.livemode,
        "invoice_id": view.id,
        "status": view.status.value,
        "payment_status": view.payment_status.value,
        "currency": view.currency,
        "amount_remaining": view.amount_due - view.amount_paid,
        **_hold(view, timing),
        "intent_id": view.followed_intent_id or view.intent_id,
        "display": display(view.currency, amount_remaining=view.amount_due - view.amount_paid),
    }


def _hold(view: InvoiceView, timing: Timing) -> Object:
    return {
        "state": view.hold.value,
        "since": plain(view.held_since or view.followed_at),
        "until": plain(view.hold_until),
        "next_check_at": plain(next_check(view, timing)),
        "asked_at": plain(view.provider_synced_at),
        "attempt_id": view.hold_attempt,
        "attempt_state": plain(view.hold_attempt_state),
        "kind": plain(view.hold_attempt_kind),
        "actor": view.hold_actor,
        "overdue": plain(alarm(view, timing)),
    }


def next_check(view: InvoiceView, timing: Timing) -> datetime | None:
    """When a check of the invoice may ask Stripe; None when nothing is under way."""
    if view.hold is HoldState.NONE:
        return None
    return next_check_at(
        timing,
        now=view.now,
        hold_until=view.hold_until,
        asked_at=view.provider_synced_at,
        followed_at=view.followed_at,
        directly=view.hold_charge_mode is ChargeMode.DIRECT,
    )


def alarm(view: InvoiceView, timing: Timing) -> Overdue | None:
    """Which alarm the invoice's hold raises, or None."""
    if view.hold_until is None:
        return None
    return overdue(view.hold, (view.now - view.hold_until).total_seconds(), timing)


def attempt(view: AttemptView) -> Object:
    """An attempt."""
    shown = display(view.currency, amount=view.amount)
    return {"object": "attempt", **columns(view), "display": shown}


def payment(view: PaymentView) -> Object:
    """A payment."""
    shown = display(view.currency, amount=view.amount, amount_refunded=view.amount_refunded)
    status = standing(view.amount, view.amount_refunded, view.dispute).value
    return {"object": "payment", **columns(view), "status": status, "display": shown}


def refund(view: RefundRowView) -> Object:
    """A refund."""
    shown = display(view.currency, amount=view.amount)
    return {"object": "refund", **columns(view), "display": shown}


def event(view: EventRow) -> Object:
    """An event of Stripe's."""
    return {"object": "event", **columns(view)}


def event_delivery(view: EventDeliveryRow) -> Object:
    """A delivery of an event of Stripe's, as it came in."""
    return {"object": "event_delivery", **columns(view)}


def endpoint(view: Endpoint) -> Object:
    """An endpoint of somebody's; its secret is shown once, elsewhere."""
    return {"object": "webhook_endpoint", **columns(view)}


def delivery(view: DeliveryView) -> Object:
    """One message on its way to one endpoint."""
    return {"object": "webhook_delivery", **columns(view)}


def customer(view: CustomerView) -> Object:
    """A customer."""
    return {"object": "customer", **columns(view)}


def notice(view: NoticeView) -> Object:
    """A notice, in our own words."""
    row = about(view.code)
    told = {"weight": row.weight.value, "happened": row.happened, "to_do": row.to_do}
    return {"object": "notice", **columns(view), **told}


def key(view: KeyRow) -> Object:
    """A key of the API; the key itself is shown once, elsewhere."""
    return {"object": "api_key", **columns(view)}


def account(view: Account) -> Object:
    """An account in one mode."""
    return {"object": "account", **columns(view)}


def entry(row: JournalEntry, sentence: str) -> Object:
    """One line of a story: the row of the journal, and what people read."""
    return {"object": "journal_entry", "id": row.entry, **columns(row), "sentence": sentence}


def plain(value: object) -> Any:
    """A value as JSON has it."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Enum():
            return value.value
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case str() | int() | None:
            return value
        case Iterable():
            return [plain(item) for item in value]
        case _:
            return value


def columns(view: object, *, without: frozenset[str] = frozenset()) -> Object:
    """The fields of a row, as JSON has them."""
    if not is_dataclass(view):
        raise TypeError("a row of a view is a dataclass")
    names = [field.name for field in fields(view) if field.name not in without]
    return {name: plain(getattr(view, name)) for name in names}


def display(currency: str, **amounts: int) -> dict[str, str]:
    """Each amount of minor units as people write it."""
    return {name: Money(amount, Currency(currency)).display for name, amount in amounts.items()}
