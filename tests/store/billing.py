"""TABLE: the writes and reads about prices, subscriptions and renewals, as the other tables are."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from anchorhold.domain.ids import CustomerId, InvoiceId, PriceId, SubscriptionId
from anchorhold.domain.invoice import Collection
from anchorhold.domain.period import Interval, Unit, calendar_of
from anchorhold.domain.price import Billing, Price, Scheme
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import next_due
from anchorhold.engine.renew import bill_of
from anchorhold.store import prices, renewals, subscriptions, views_subscriptions
from anchorhold.store.db import Db
from anchorhold.store.subscriptions import NewSubscription
from anchorhold.store.views_subscriptions import SubscriptionView
from tests.store.scene import ACTOR, OURS, Scene

BATCH = 3
MONTH = Interval(Unit.MONTH)
PRICE = Price(
    PriceId("pri_1"), "plan", "eur", 14900, Scheme.FLAT, MONTH, Billing.IN_ADVANCE
)  # fmt: skip
SUB = SubscriptionId("sub_1")
LINED = "inv_lined"
LONG_AGO = timedelta(days=40)


async def price(scene: Scene) -> Any:
    await prices.create(scene.db, scene.scope, PRICE)


def new(number: int, starts_at: datetime) -> NewSubscription:
    """A subscription by the month, of a customer of its own."""
    calendar = calendar_of(starts_at, "Europe/Berlin", MONTH)
    return NewSubscription(
        SubscriptionId(f"sub_{number}"), f"S{number}", f"subscriber {number}",
        CustomerId(f"cus_s{number}"), "s@example.com", "pm_card_visa", "eur", Billing.IN_ADVANCE,
        Collection.AUTO, 0, calendar, {PRICE.id: 1},
        next_due(calendar, Billing.IN_ADVANCE, 0),
    )  # fmt: skip


async def seen(scene: Scene, number: int = 1) -> SubscriptionView:
    found = await views_subscriptions.one(scene.db, scene.scope, f"S{number}")
    assert found is not None
    return found


async def subscribed(scene: Scene, count: int = 1, *, ago: timedelta = LONG_AGO) -> Any:
    """So many subscriptions, each with two periods due; the first as it is seen."""
    await price(scene)
    starts_at = (scene.now() - ago).replace(microsecond=0)
    for number in range(1, count + 1):
        await subscriptions.create(scene.db, scene.scope, new(number, starts_at), actor=ACTOR)
    return await seen(scene)


async def many(scene: Scene) -> Any:
    return await subscribed(scene, 2 * BATCH)


async def upcoming(scene: Scene) -> Any:
    """A subscription on which nothing is due."""
    return await subscribed(scene, ago=-LONG_AGO)


async def paused(scene: Scene) -> Any:
    await upcoming(scene)
    await subscriptions.pause(scene.db, scene.scope, SUB, reason="x", actor=ACTOR)
    return await seen(scene)


async def over(scene: Scene) -> Any:
    """A subscription whose end is reached, and all before it is billed."""
    view = await upcoming(scene)
    cut = replace(view, ends_at=view.now)
    await subscriptions.cancel(scene.db, scene.scope, cut, cut.due, reason="x", actor=ACTOR)
    return await seen(scene)


async def renew(db: Db, scope: Scope, _: object, view: SubscriptionView) -> Any:
    return await renewals.bill(db, scope, view, bill_of(OURS, view, view.due), actor=ACTOR)


async def cancel(db: Db, scope: Scope, _: object, view: SubscriptionView) -> Any:
    cut = replace(view, ends_at=view.now)
    return await subscriptions.cancel(db, scope, cut, cut.due, reason="x", actor=ACTOR)


async def everything(scene: Scene) -> None:
    """A subscription that was renewed once."""
    view = await subscribed(scene)
    bill = replace(bill_of(OURS, view, view.due), invoice_id=InvoiceId(LINED))
    assert await renewals.bill(scene.db, scene.scope, view, bill, actor=ACTOR)


ITSELF = "no invoice is touched: its own entry tells it"

# fmt: off
WRITES: tuple[dict[str, Any], ...] = (
    {"function": "prices.create", "arrange": lambda scene: scene.due(), "scoped": False,
     "untold": ITSELF,
     "run": lambda db, scope, scene, state: prices.create(db, scope, PRICE)},
    {"function": "subscriptions.create", "arrange": price, "scoped": False, "untold": ITSELF,
     "run": lambda db, scope, scene, state: subscriptions.create(
         db, scope, new(1, datetime(2026, 1, 1, tzinfo=UTC)), actor=ACTOR)},
    {"function": "subscriptions.pause", "arrange": upcoming, "untold": ITSELF,
     "run": lambda db, scope, scene, view: subscriptions.pause(
         db, scope, view.id, reason="x", actor=ACTOR)},
    {"function": "subscriptions.resume", "arrange": paused, "untold": ITSELF,
     "run": lambda db, scope, scene, view: subscriptions.resume(
         db, scope, view, view.due, actor=ACTOR)},
    {"function": "subscriptions.cancel", "arrange": paused, "untold": ITSELF, "run": cancel},
    {"function": "renewals.bill", "arrange": subscribed, "journal": "invoice.opened",
     "run": renew},
    {"function": "renewals.end", "arrange": over, "untold": ITSELF,
     "run": lambda db, scope, scene, view: renewals.end(
         db, scope, view, view.due, actor=ACTOR)},
)
"""What one caller does, and another does not."""

SHARED: tuple[dict[str, Any], ...] = (
    {"function": "renewals.take_due", "arrange": many, "untold": "a lease", "won": bool,
     "run": lambda db, scope, scene, state: renewals.take_due(db, scope, limit=BATCH)},
)
"""What several share out."""

MOVED: dict[str, str] = {
    sentence: f"UPDATE anchorhold.subscription SET {changes}"
    for sentence, changes in (
        ("it was cancelled", "status = 'canceled', canceled_at = anchorhold.now(), next_at = NULL, "
                             "look_at = NULL, pause_reason = NULL"),
        ("it was paused", "status = 'paused', pause_reason = 'operator', look_at = NULL"),
        ("it was resumed", "status = 'active', pause_reason = NULL, look_at = next_at"),
        ("another pass billed the period", "next_number = next_number + 1"),
        ("its period is due at another time", "next_at = next_at - interval '1 second'"),
        ("its period is due", "next_at = anchorhold.now() - interval '1 hour'"),
        ("its period is not due", "next_at = anchorhold.now() + interval '1 hour'"),
        ("its end was set", "ends_at = anchorhold.now()"),
        ("another pass looks at it", "look_at = anchorhold.now() + interval '1 minute'"),
    )
}
"""What happens in between."""

GUARDS: dict[str, tuple[str, ...]] = {
    "subscriptions.pause": ("it was cancelled", "it was paused", "its period is due"),
    "subscriptions.resume": (
        "it was cancelled", "it was resumed", "another pass billed the period",
    ),
    "subscriptions.cancel": ("it was cancelled", "another pass billed the period"),
    "renewals.take_due": ("it was paused", "another pass looks at it"),
    "renewals.bill": (
        "it was cancelled", "it was paused", "another pass billed the period",
        "its period is due at another time", "its period is not due", "its end was set",
    ),
    "renewals.end": (
        "it was cancelled", "it was paused", "another pass billed the period",
        "its period is not due", "its end was set",
    ),
}
"""Which of it each write notices."""

UNCONDITIONAL = {
    "prices.create": "held by the references' uniqueness",
    "subscriptions.create": "held by the references' uniqueness",
}
# fmt: on


# fmt: off
READS: tuple[tuple[Any, ...], ...] = (
    ("prices.page", lambda db, scope: prices.page(db, scope, after=None, limit=9), []),
    ("prices.count", prices.count, 0),
    ("prices.named", lambda db, scope: prices.named(db, scope, ["plan"]), []),
    ("views_subscriptions.page", lambda db, scope: views_subscriptions.page(
        db, scope, customer_id=None, after=None, limit=9), []),
    ("views_subscriptions.count", lambda db, scope: views_subscriptions.count(
        db, scope, customer_id=None), 0),
    ("views_subscriptions.one", lambda db, scope: views_subscriptions.one(db, scope, "S1")),
    ("views_subscriptions.entries", lambda db, scope: views_subscriptions.entries(
        db, scope, SUB), []),
    ("views_subscriptions.invoice_lines", lambda db, scope: views_subscriptions.invoice_lines(
        db, scope, InvoiceId(LINED)), []),
)
"""Function, how it is asked, and what a stranger is told."""
# fmt: on


# fmt: off
def cases(limit: int) -> tuple[tuple[Any, ...], ...]:
    """Function, pages, call, note, whether the million has such a row."""
    return (
        ("subscriptions.create", 100, lambda db, _: subscriptions.create(
            db, OURS, new(1, datetime(2026, 1, 1, tzinfo=UTC)), actor=ACTOR)),
        ("subscriptions.pause", 60, lambda db, _: subscriptions.pause(
            db, OURS, SubscriptionId(f"sub_{1:026}"), reason="x", actor=ACTOR)),
        ("subscriptions.resume", 100, lambda db, _: _of_many(db, _resume)),
        ("subscriptions.cancel", 100, lambda db, _: _of_many(db, _cancel)),
        ("renewals.take_due", 4000, lambda db, _: renewals.take_due(db, OURS, limit=limit)),
        ("renewals.bill", 150, lambda db, _: _of_many(db, _renew, 20)),
        ("renewals.end", 150, lambda db, _: _of_many(db, _end)),
        ("views_subscriptions.page", 1500, lambda db, _: views_subscriptions.page(
            db, OURS, customer_id=None, after=None, limit=limit)),
        ("views_subscriptions.page", 100, lambda db, _: views_subscriptions.page(
            db, OURS, customer_id=CustomerId(f"cus_{7:026}"), after=None, limit=limit),
            "of a customer"),
        ("views_subscriptions.one", 60, lambda db, _: views_subscriptions.one(
            db, OURS, f"S{7:026}")),
        ("views_subscriptions.entries", 60, lambda db, _: views_subscriptions.entries(
            db, OURS, SubscriptionId(f"sub_{7:026}"))),
        ("views_subscriptions.invoice_lines", 60, lambda db, _: views_subscriptions.invoice_lines(
            db, OURS, f"inv_{20:026}")),
    )
# fmt: on


async def _of_many(db: Db, act: Any, number: int = 1) -> Any:
    view = await views_subscriptions.one(db, OURS, f"S{number:026}")
    assert view is not None
    return await act(db, view)


async def _resume(db: Db, view: SubscriptionView) -> Any:
    await subscriptions.pause(db, OURS, view.id, reason="x", actor=ACTOR)
    return await subscriptions.resume(db, OURS, view, view.due, actor=ACTOR)


async def _cancel(db: Db, view: SubscriptionView) -> Any:
    return await cancel(db, OURS, view, view)


async def _renew(db: Db, view: SubscriptionView) -> Any:
    return await renew(db, OURS, view, view)


async def _end(db: Db, view: SubscriptionView) -> Any:
    await cancel(db, OURS, view, view)
    cut = replace(view, ends_at=view.now)
    return await renewals.end(db, OURS, cut, cut.due, actor=ACTOR)


def _another(table: str, **changes: Any) -> str:
    """The same row once more, with these changes."""
    return f"""
        INSERT INTO anchorhold.{table} OVERRIDING SYSTEM VALUE
        SELECT (jsonb_populate_record(t, '{json.dumps(changes)}')).*
          FROM anchorhold.{table} t
         WHERE t.account_id = 'acc_ours' AND NOT t.livemode LIMIT 1
    """


def _changed(table: str, *changes: str) -> tuple[str, ...]:
    return tuple(f"UPDATE anchorhold.{table} SET {change}" for change in changes)


RENEWED_TWICE = """
    INSERT INTO anchorhold.invoice
           (account_id, livemode, id, customer_id, reference, currency, amount_due, status, due_at,
            next_attempt_at, subscription_id, number, period_start, period_end)
    SELECT account_id, livemode, 'inv_2', customer_id, 'another', 'eur', 1, 'open', due_at, due_at,
           '{}', {}, {}, i.period_end
      FROM anchorhold.invoice i WHERE subscription_id IS NOT NULL
"""
RENEWAL = "UPDATE anchorhold.invoice SET {} WHERE subscription_id IS NOT NULL"
ILLEGAL: dict[str, tuple[str, ...]] = {
    "price_pkey": (_another("price", reference="another"),),
    "price_reference": (_another("price", id="pri_2"),),
    "price_currency_check": _changed("price", "currency = 'EUR'", "currency = 'euro'"),
    "price_unit_amount_check": _changed("price", "unit_amount = -1"),
    "price_scheme_check": _changed("price", "scheme = 'tiered'"),
    "price_interval_unit_check": _changed("price", "interval_unit = 'day'"),
    "price_interval_count_check": _changed("price", "interval_count = 0", "interval_count = 121"),
    "price_billing_check": _changed("price", "billing = 'never'"),
    "subscription_pkey": (_another("subscription", reference="another"),),
    "subscription_reference": (_another("subscription", id="sub_2"),),
    "subscription_currency_check": _changed("subscription", "currency = 'EUR'"),
    "subscription_interval_unit_check": _changed("subscription", "interval_unit = 'day'"),
    "subscription_interval_count_check": _changed("subscription", "interval_count = 0"),
    "subscription_billing_check": _changed("subscription", "billing = 'never'"),
    "subscription_collection_check": _changed("subscription", "collection = 'never'"),
    "subscription_net_days_check": _changed("subscription", "net_days = -1", "net_days = 366"),
    "subscription_anchor_day_check": _changed("subscription", "anchor_day = 32"),
    "subscription_status_check": _changed("subscription", "status = 'trialing', look_at = NULL"),
    "subscription_pause_reason_check": _changed(
        "subscription", "status = 'paused', look_at = NULL, pause_reason = 'mood'"
    ),
    "paused_has_a_reason": _changed(
        "subscription", "status = 'paused', look_at = NULL", "pause_reason = 'operator'"
    ),
    "canceled_has_a_time": _changed(
        "subscription",
        "status = 'canceled', look_at = NULL, next_at = NULL",
        "canceled_at = now()",
    ),
    "only_canceled_has_nothing_next": _changed(
        "subscription",
        "status = 'canceled', canceled_at = now(), look_at = NULL",
        "next_at = NULL",
    ),
    "only_active_is_looked_at": _changed(
        "subscription", "look_at = NULL", "status = 'paused', pause_reason = 'operator'"
    ),
    "subscription_item_pkey": (_another("subscription_item", quantity=2),),
    "subscription_item_quantity_check": _changed(
        "subscription_item", "quantity = 0", "quantity = 1000001"
    ),
    "subscription_entry_pkey": (_another("subscription_entry"),),
    "invoice_number_pkey": (_another("invoice_number"),),
    "renewal_has_a_period": (
        RENEWAL.format("period_start = NULL"),
        RENEWAL.format("number = NULL"),
        RENEWAL.format("period_end = period_start"),
        RENEWAL.format("subscription_id = NULL"),
    ),
    # The second invoice of a period, whatever the pass that makes it believes.
    "invoice_renewal": (RENEWED_TWICE.format("sub_1", 99, "i.period_start"),),
    "invoice_number_once": (
        RENEWED_TWICE.format("sub_1", 1, "i.period_start + interval '1 second'"),
    ),
    "invoice_line_pkey": (_another("invoice_line"),),
    "invoice_line_n_check": _changed("invoice_line", "n = 0"),
    "invoice_line_quantity_check": _changed("invoice_line", "quantity = 0"),
}
"""For each rule, the statements that it refuses."""
