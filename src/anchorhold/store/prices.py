"""Prices: made once, never changed, read by id or reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AccountId, PriceId
from anchorhold.domain.period import Interval, Unit
from anchorhold.domain.price import Billing, Price, Scheme
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


async def create(db: Db, scope: Scope, price: Price) -> str | None:
    """The price is there; None when its reference was taken before."""
    return await db.one(
        """
        INSERT INTO anchorhold.price
               (account_id, livemode, id, reference, currency, unit_amount, scheme,
                interval_unit, interval_count, billing)
        VALUES (%(account_id)s, %(livemode)s, %(id)s, %(reference)s, %(currency)s,
                %(unit_amount)s, %(scheme)s, %(unit)s, %(count)s, %(billing)s)
        ON CONFLICT (account_id, livemode, reference) DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        id=price.id,
        reference=price.reference,
        currency=price.currency,
        unit_amount=price.unit_amount,
        scheme=price.scheme,
        unit=price.interval.unit,
        count=price.interval.count,
        billing=price.billing,
    )


@dataclass(frozen=True, slots=True)
class PriceView:
    """A price as people and programs read it; `unit_amount` in minor units."""

    id: PriceId
    account_id: AccountId
    livemode: bool
    reference: str
    currency: str
    unit_amount: int
    scheme: Scheme
    interval_unit: Unit
    interval_count: int
    billing: Billing
    created_at: datetime

    @property
    def price(self) -> Price:
        """The price as the rules know it."""
        interval = Interval(self.interval_unit, self.interval_count)
        return Price(
            self.id, self.reference, self.currency, self.unit_amount, self.scheme, interval,
            self.billing,
        )  # fmt: skip


_SELECT = """
        SELECT id, account_id, livemode, reference, currency, unit_amount, scheme, interval_unit,
               interval_count, billing, created_at
          FROM anchorhold.price
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""


async def page(db: Db, scope: Scope, *, after: str | None, limit: int) -> list[PriceView]:
    """Up to `limit` prices, newest first, from behind the id `after`."""
    return await db.all(
        _SELECT + given((after, " AND id < %(after)s")) + " ORDER BY id DESC LIMIT %(limit)s",
        PriceView,
        **scope.params,
        after=after,
        limit=limit,
    )


async def count(db: Db, scope: Scope) -> int:
    """How many prices there are."""
    found = await db.one(
        """
        SELECT count(*)
          FROM anchorhold.price
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
        """,
        int,
        **scope.params,
    )
    return found or 0


async def named(db: Db, scope: Scope, names: Sequence[str]) -> list[PriceView]:
    """The prices with these ids or references; what there is not is left out."""
    return await db.all(
        _SELECT + " AND (id = ANY(%(names)s) OR reference = ANY(%(names)s))",
        PriceView,
        **scope.params,
        names=list(names),
    )
