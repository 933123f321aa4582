"""Prices and subscriptions for tests, by their everyday names."""

from datetime import UTC, datetime, timedelta
from typing import Any

from anchorhold.domain.ids import PRICE
from anchorhold.domain.period import Interval, calendar_of
from anchorhold.domain.price import Billing, Price, Scheme
from anchorhold.engine.subscribe import Asked, priced, subscribe
from anchorhold.store import prices, views_subscriptions
from anchorhold.store.views_subscriptions import SubscriptionView
from tests.engine.rig import Rig

MONTH = Interval.parse("month")


def now(world: Rig) -> datetime:
    """The database's time, which a rig can move ahead."""
    return datetime.now(UTC).replace(microsecond=0) + world.pool.shift


async def a_price(
    world: Rig,
    reference: str = "plan",
    amount: int = 3100,
    *,
    scheme: Scheme = Scheme.FLAT,
    interval: Interval = MONTH,
    billing: Billing = Billing.IN_ADVANCE,
    currency: str = "eur",
) -> None:
    """A price of this reference."""
    id_ = world.pool.new_ids(PRICE, 1)[0]
    price = Price(id_, reference, currency, amount, scheme, interval, billing)
    assert await prices.create(world.pool, world.scope, price)


async def a_subscription(
    world: Rig,
    reference: str = "sub",
    *,
    started: timedelta = timedelta(0),
    of: dict[str, int] | None = None,
    method: str = "pm_card_visa",
    **asked: Any,
) -> SubscriptionView:
    """A subscription that started so long ago; its customer has a card."""
    quantities = of or {"plan": 1}
    rows = await priced(world.deps(), world.scope, quantities)
    calendar = calendar_of(now(world) - started, "UTC", rows[0].price.interval)
    new = Asked(reference, f"customer of {reference}", "c@example.com", method, quantities, **asked)
    await subscribe(world.deps(), world.scope, new, rows, calendar)
    return await seen(world, reference)


async def seen(world: Rig, reference: str = "sub") -> SubscriptionView:
    """The subscription as it stands."""
    found = await views_subscriptions.one(world.pool, world.scope, reference)
    assert found is not None
    return found


def invoices(world: Rig) -> list[dict[str, Any]]:
    """The invoices of renewals, by their numbers."""
    rows = world.sql(
        "SELECT to_jsonb(i) FROM anchorhold.invoice i WHERE number IS NOT NULL ORDER BY number"
    )
    return [row[0] for row in rows]
