"""Subscriptions as people, programs and passes read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from anchorhold.domain.ids import AccountId, CustomerId, PriceId, SubscriptionId
from anchorhold.domain.invoice import Collection
from anchorhold.domain.period import Calendar, Interval, Unit
from anchorhold.domain.price import Billing, Item, Scheme
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import Due, PauseReason, SubscriptionStatus, next_due
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class SubscriptionView:
    """A subscription; `next_number` is the first period that is not billed or left out yet."""

    id: SubscriptionId
    account_id: AccountId
    livemode: bool
    reference: str
    customer_id: CustomerId
    customer_reference: str
    status: SubscriptionStatus
    pause_reason: PauseReason | None
    currency: str
    interval_unit: Unit
    interval_count: int
    billing: Billing
    collection: Collection
    net_days: int
    anchor: datetime
    anchor_day: int
    zone_name: str
    starts_at: datetime
    ends_at: datetime | None
    next_number: int
    next_at: datetime | None
    created_at: datetime
    canceled_at: datetime | None
    items: list[dict[str, Any]]
    now: datetime

    @property
    def calendar(self) -> Calendar:
        """Which periods it has."""
        return Calendar(
            self.anchor,
            self.anchor_day,
            self.zone_name,
            Interval(self.interval_unit, self.interval_count),
            self.starts_at,
            self.ends_at,
        )

    @property
    def due(self) -> Due:
        """What comes next on it."""
        return next_due(self.calendar, self.billing, self.next_number)

    @property
    def priced(self) -> list[Item]:
        """Its items as the rules know them."""
        return [
            Item(
                PriceId(item["price_id"]),
                item["reference"],
                Scheme(item["scheme"]),
                item["unit_amount"],
                item["quantity"],
            )
            for item in self.items
        ]


COLUMNS: LiteralString = """
        SELECT s.id, s.account_id, s.livemode, s.reference, s.customer_id,
               (SELECT c.reference FROM anchorhold.customer c
                 WHERE c.account_id = s.account_id AND c.livemode = s.livemode
                   AND c.id = s.customer_id) AS customer_reference,
               s.status, s.pause_reason, s.currency, s.interval_unit, s.interval_count, s.billing,
               s.collection, s.net_days, s.anchor, s.anchor_day,
               s.zone_name, s.starts_at, s.ends_at, s.next_number, s.next_at,
               s.created_at, s.canceled_at, anchorhold.now() AS now,
               (SELECT jsonb_agg(jsonb_build_object(
                           'price_id', p.id, 'reference', p.reference, 'scheme', p.scheme,
                           'unit_amount', p.unit_amount, 'quantity', t.quantity)
                           ORDER BY p.reference)
                  FROM anchorhold.subscription_item t
                  JOIN anchorhold.price p
                    ON p.account_id = t.account_id AND p.livemode = t.livemode
                   AND p.id = t.price_id
                 WHERE t.account_id = s.account_id AND t.livemode = s.livemode
                   AND t.subscription_id = s.id) AS items
"""
"""What a `SubscriptionView` is made of, of a subscription `s`."""

_SELECT = (
    COLUMNS
    + """
          FROM anchorhold.subscription s
         WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
"""
)
_COUNT = """
        SELECT count(*)
          FROM anchorhold.subscription s
         WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
"""
_NAMED = """
   AND s.id IN (
       SELECT %(name)s
        UNION ALL
       SELECT n.id FROM anchorhold.subscription n
        WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
          AND n.reference = %(name)s)
 ORDER BY s.id = %(name)s DESC
 LIMIT 1
"""
_OF_CUSTOMER = " AND s.customer_id = %(customer_id)s"
_AFTER = " AND s.id < %(after)s"
_DUE_BY = " AND s.status = 'active' AND s.next_at <= %(due_by)s"


async def page(
    db: Db,
    scope: Scope,
    *,
    customer_id: CustomerId | None,
    due_by: datetime | None = None,
    after: str | None,
    limit: int,
) -> list[SubscriptionView]:
    """Up to `limit` subscriptions, of one customer or of all, newest first.

    With `due_by` only active ones on which something is due by then.
    """
    return await db.all(
        _SELECT
        + given((customer_id, _OF_CUSTOMER), (after, _AFTER), (due_by, _DUE_BY))
        + " ORDER BY s.id DESC LIMIT %(limit)s",
        SubscriptionView,
        **scope.params,
        customer_id=customer_id,
        due_by=due_by,
        after=after,
        limit=limit,
    )


async def count(db: Db, scope: Scope, *, customer_id: CustomerId | None) -> int:
    """How many subscriptions there are, of one customer or of all."""
    found = await db.one(
        _COUNT + given((customer_id, _OF_CUSTOMER)),
        int,
        **scope.params,
        customer_id=customer_id,
    )
    return found or 0


async def one(db: Db, scope: Scope, name: str) -> SubscriptionView | None:
    """The subscription with this id or this reference of the user's, or None."""
    return await db.one(
        _SELECT + _NAMED,
        SubscriptionView,
        **scope.params,
        name=name,
    )


@dataclass(frozen=True, slots=True)
class SubscriptionEntry:
    """One thing that happened to a subscription."""

    entry: int
    at: datetime
    actor: str
    what: str
    detail: dict[str, Any]


async def entries(db: Db, scope: Scope, subscription_id: SubscriptionId) -> list[SubscriptionEntry]:
    """What happened to the subscription, oldest first."""
    return await db.all(
        """
        SELECT entry, at, actor, what, detail
          FROM anchorhold.subscription_entry
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND subscription_id = %(subscription_id)s
         ORDER BY entry
        """,
        SubscriptionEntry,
        **scope.params,
        subscription_id=subscription_id,
    )


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """One line of an invoice; `amount` in minor units."""

    n: int
    description: str
    price_id: PriceId | None
    quantity: int
    amount: int


async def invoice_lines(db: Db, scope: Scope, invoice_id: str) -> list[InvoiceLine]:
    """The invoice's lines in order; an imported invoice has none."""
    return await db.all(
        """
        SELECT n, description, price_id, quantity, amount
          FROM anchorhold.invoice_line
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND invoice_id = %(invoice_id)s
         ORDER BY n
        """,
        InvoiceLine,
        **scope.params,
        invoice_id=invoice_id,
    )
