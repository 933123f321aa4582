"""What a period costs. A price never changes: a new amount is a new price."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from anchorhold.domain.ids import PriceId
from anchorhold.domain.period import Interval

QUANTITY_MAX: Final = 1_000_000


class Scheme(StrEnum):
    """What an amount is for."""

    FLAT = "flat"
    """The period, whatever the quantity."""
    PER_UNIT = "per_unit"
    """Each unit in the period."""


class Billing(StrEnum):
    """When a period is billed."""

    IN_ADVANCE = "in_advance"
    """When it begins: a prebill."""
    IN_ARREARS = "in_arrears"
    """When it is over."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price; `unit_amount` in minor units of `currency`."""

    id: PriceId
    reference: str
    currency: str
    unit_amount: int
    scheme: Scheme
    interval: Interval
    billing: Billing

    @property
    def terms(self) -> tuple[str, Interval, Billing]:
        """What all prices of one subscription share."""
        return (self.currency, self.interval, self.billing)


@dataclass(frozen=True, slots=True)
class Item:
    """One price of a subscription, with its quantity."""

    price_id: PriceId
    reference: str
    scheme: Scheme
    unit_amount: int
    quantity: int

    @property
    def amount(self) -> int:
        """What a whole period of it costs, in minor units."""
        return self.unit_amount * (self.quantity if self.scheme is Scheme.PER_UNIT else 1)
