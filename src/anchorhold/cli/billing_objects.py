"""Prices, subscriptions and what would be billed, as JSON has them."""

from collections.abc import Sequence
from dataclasses import fields

from anchorhold.cli import words
from anchorhold.cli.objects import Object, plain
from anchorhold.store.prices import PriceView
from anchorhold.store.renewals import Bill
from anchorhold.store.views_subscriptions import InvoiceLine, SubscriptionEntry, SubscriptionView

_INSIDE = frozenset({"items", "now", "anchor", "next_number"})
"""Columns of a subscription that are said in another way, or nobody outside needs."""


def price(view: PriceView) -> Object:
    """A price."""
    columns = {field.name: plain(getattr(view, field.name)) for field in fields(view)}
    display = {"unit_amount": words.money(view.unit_amount, view.currency)}
    return {"object": "price", **columns, "display": display}


def subscription(view: SubscriptionView) -> Object:
    """A subscription; `amount` is what a whole period of it costs."""
    columns = {
        field.name: plain(getattr(view, field.name))
        for field in fields(view)
        if field.name not in _INSIDE
    }
    amount = sum(item.amount for item in view.priced)
    return {
        "object": "subscription",
        **columns,
        "items": [
            {"price_id": item.price_id, "price": item.reference, "quantity": item.quantity}
            for item in view.priced
        ],
        "amount": amount,
        "display": {"amount": words.money(amount, view.currency)},
    }


def entry(row: SubscriptionEntry) -> Object:
    """One thing that happened to a subscription."""
    return {
        "object": "subscription_entry",
        "id": row.entry,
        "at": plain(row.at),
        "actor": row.actor,
        "what": row.what,
        "detail": plain(row.detail),
    }


def bill(view: SubscriptionView, one: Bill) -> Object:
    """An invoice that a pass would open."""
    return {
        "object": "upcoming_invoice",
        "id": one.invoice_id,
        "subscription_id": view.id,
        "subscription": view.reference,
        "customer": view.customer_reference,
        "billed_at": plain(one.at),
        "due_at": plain(one.due_at),
        "period_start": plain(one.period.start),
        "period_end": plain(one.period.end),
        "currency": view.currency,
        "amount": one.amount,
        "lines": [
            {"description": row.description, "quantity": row.quantity, "amount": row.amount}
            for row in one.lines
        ],
        "display": {"amount": words.money(one.amount, view.currency)},
    }


def invoice_line(row: InvoiceLine) -> Object:
    """One line of an invoice."""
    columns = {field.name: plain(getattr(row, field.name)) for field in fields(row)}
    return {"object": "invoice_line", **columns}


def bills(rows: Sequence[tuple[SubscriptionView, Bill]]) -> Object:
    """What a pass would open, oldest first."""
    data = [bill(view, one) for view, one in rows]
    return {"object": "list", "data": data, "has_more": False}
