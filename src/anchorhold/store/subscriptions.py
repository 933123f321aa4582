"""Subscriptions are made, paused, resumed and ended, each by one conditional write."""

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from anchorhold.domain.ids import CustomerId, PriceId, SubscriptionId
from anchorhold.domain.invoice import Collection
from anchorhold.domain.period import Calendar
from anchorhold.domain.price import Billing
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import Due
from anchorhold.store.db import Db
from anchorhold.store.views_subscriptions import SubscriptionView


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """What a subscription is made of; `first` is what comes first on it.

    A customer of this reference that is not there yet is made, with e-mail and payment method.
    """

    id: SubscriptionId
    reference: str
    customer: str
    new_customer_id: CustomerId
    email: str | None
    payment_method: str | None
    currency: str
    billing: Billing
    collection: Collection
    net_days: int
    calendar: Calendar
    quantities: Mapping[PriceId, int]
    first: Due


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The subscription that was made, and whose it is."""

    id: SubscriptionId
    customer_id: CustomerId


_CREATE = """
WITH made AS (
    INSERT INTO anchorhold.customer
           (account_id, livemode, id, reference, email, payment_method)
    SELECT %(account_id)s, %(livemode)s, %(new_customer_id)s, %(customer)s, %(email)s,
           %(payment_method)s
     WHERE NOT EXISTS (SELECT FROM anchorhold.subscription s
                        WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
                          AND s.reference = %(reference)s)
    ON CONFLICT (account_id, livemode, reference) DO NOTHING
    RETURNING id
), whose AS (
    SELECT id FROM made
     UNION ALL
    SELECT c.id FROM anchorhold.customer c
     WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
       AND c.reference = %(customer)s
), subscribed AS (
    INSERT INTO anchorhold.subscription
           (account_id, livemode, id, reference, customer_id, currency, interval_unit,
            interval_count, billing, collection, net_days, anchor, anchor_day, zone_name,
            starts_at, ends_at, next_number, next_at, look_at)
    SELECT %(account_id)s, %(livemode)s, %(id)s, %(reference)s, w.id, %(currency)s, %(unit)s,
           %(count)s, %(billing)s, %(collection)s, %(net_days)s, %(anchor)s, %(anchor_day)s,
           %(zone_name)s, %(starts_at)s, %(ends_at)s, %(next_number)s, %(next_at)s, %(next_at)s
      FROM whose w
    ON CONFLICT (account_id, livemode, reference) DO NOTHING
    RETURNING account_id, livemode, id, customer_id
), priced AS (
    INSERT INTO anchorhold.subscription_item
           (account_id, livemode, subscription_id, price_id, quantity)
    SELECT s.account_id, s.livemode, s.id, item.price_id, item.quantity
      FROM subscribed s
     CROSS JOIN unnest(%(price_ids)s::text[], %(quantities)s::int[]) AS item (price_id, quantity)
), entered AS (
    INSERT INTO anchorhold.subscription_entry
           (account_id, livemode, subscription_id, actor, what, detail)
    SELECT account_id, livemode, id, %(actor)s, 'subscription.created', %(detail)s
      FROM subscribed
)
SELECT id, customer_id FROM subscribed
"""


async def create(db: Db, scope: Scope, new: NewSubscription, *, actor: str) -> Subscribed | None:
    """The subscription and its items are there, and its customer.

    None: the reference is taken, or another made the customer at this moment; then once more.
    """
    calendar = new.calendar
    return await db.one(
        _CREATE,
        Subscribed,
        **scope.params,
        id=new.id,
        reference=new.reference,
        customer=new.customer,
        new_customer_id=new.new_customer_id,
        email=new.email,
        payment_method=new.payment_method,
        currency=new.currency,
        unit=calendar.interval.unit,
        count=calendar.interval.count,
        billing=new.billing,
        collection=new.collection,
        net_days=new.net_days,
        anchor=calendar.anchor,
        anchor_day=calendar.anchor_day,
        zone_name=calendar.zone_name,
        starts_at=calendar.starts_at,
        ends_at=calendar.ends_at,
        next_number=new.first.number,
        next_at=new.first.at,
        price_ids=list(new.quantities),
        quantities=list(new.quantities.values()),
        actor=actor,
        detail=Jsonb({"starts_at": calendar.starts_at.isoformat()}),
    )


async def pause(
    db: Db, scope: Scope, subscription_id: SubscriptionId, *, reason: str, actor: str
) -> str | None:
    """Nothing more is billed until it is resumed. None: it is not active, or a period is due."""
    return await db.one(
        """
        WITH paused AS (
            UPDATE anchorhold.subscription s
               SET status = 'paused', pause_reason = 'operator', look_at = NULL
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.id = %(subscription_id)s AND s.status = 'active'
               AND s.next_at > anchorhold.now()
            RETURNING s.account_id, s.livemode, s.id
        ), entered AS (
            INSERT INTO anchorhold.subscription_entry
                   (account_id, livemode, subscription_id, actor, what, detail)
            SELECT account_id, livemode, id, %(actor)s, 'subscription.paused',
                   jsonb_build_object('reason', %(reason)s::text)
              FROM paused
        )
        SELECT id FROM paused
        """,
        str,
        **scope.params,
        subscription_id=subscription_id,
        reason=reason,
        actor=actor,
    )


async def resume(
    db: Db, scope: Scope, seen: SubscriptionView, due: Due, *, actor: str
) -> str | None:
    """It is active again, and `due` comes next. None: it is not as it was seen."""
    return await db.one(
        """
        WITH resumed AS (
            UPDATE anchorhold.subscription s
               SET status = 'active', pause_reason = NULL, next_number = %(next_number)s,
                   next_at = %(next_at)s, look_at = %(next_at)s
             WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
               AND s.id = %(subscription_id)s AND s.status = 'paused'
               AND s.next_number = %(seen_number)s
            RETURNING s.account_id, s.livemode, s.id
        ), entered AS (
            INSERT INTO anchorhold.subscription_entry
                   (account_id, livemode, subscription_id, actor, what, detail)
            SELECT account_id, livemode, id, %(actor)s, 'subscription.resumed',
                   jsonb_build_object('left_out', %(next_number)s::int - %(seen_number)s::int,
                                      'next_at', %(next_at)s::timestamptz)
              FROM resumed
        )
        SELECT id FROM resumed
        """,
        str,
        **scope.params,
        subscription_id=seen.id,
        seen_number=seen.next_number,
        next_number=due.number,
        next_at=due.at,
        actor=actor,
    )


_CANCEL = """
WITH canceled AS (
    UPDATE anchorhold.subscription s
       SET ends_at = %(ends_at)s, pause_reason = NULL,
           status = CASE s.status WHEN 'paused' THEN 'canceled' ELSE s.status END,
           canceled_at = CASE s.status WHEN 'paused' THEN anchorhold.now() END,
           next_at = CASE s.status WHEN 'active' THEN %(next_at)s::timestamptz END,
           look_at = CASE s.status WHEN 'active' THEN %(next_at)s::timestamptz END
     WHERE s.account_id = %(account_id)s AND s.livemode = %(livemode)s
       AND s.id = %(subscription_id)s AND s.status IN ('active', 'paused')
       AND s.next_number = %(next_number)s
    RETURNING s.account_id, s.livemode, s.id
), entered AS (
    INSERT INTO anchorhold.subscription_entry
           (account_id, livemode, subscription_id, actor, what, detail)
    SELECT account_id, livemode, id, %(actor)s, 'subscription.cancel_set',
           jsonb_build_object('ends_at', %(ends_at)s::timestamptz, 'reason', %(reason)s::text)
      FROM canceled
)
SELECT id FROM canceled
"""


async def cancel(
    db: Db, scope: Scope, seen: SubscriptionView, due: Due, *, reason: str, actor: str
) -> str | None:
    """It ends at its calendar's end, and `due` comes next on it; a paused one has ended now.

    `due` is made of the calendar that ends so. None: a period was billed since it was seen, or it
    has ended already.
    """
    return await db.one(
        _CANCEL,
        str,
        **scope.params,
        subscription_id=seen.id,
        next_number=seen.next_number,
        ends_at=seen.ends_at,
        next_at=due.at,
        reason=reason,
        actor=actor,
    )
