"""One Stripe account in one mode, and one request at work in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anchorhold.twin.errors import missing
from anchorhold.twin.idempotency import Keys
from anchorhold.twin.ids import Ids
from anchorhold.twin.instruments import Instrument
from anchorhold.twin.settings import API_VERSION, Settings
from anchorhold.twin.tables import Table
from anchorhold.twin.wire import Obj


@dataclass(slots=True)
class Hidden:
    """What Stripe knows of a payment method and does not show."""

    instrument: Instrument
    set_up: bool = False
    """An authenticated payment saved it for off-session use."""
    mandated: bool = False
    """A mandate for later debits is on file."""
    spent: bool = False
    """Detached, or used up without a customer: it may not be used again."""


@dataclass(frozen=True, slots=True)
class Signing:
    """What Stripe knows of a webhook endpoint and shows once or never."""

    secret: str
    connect: bool
    """It hears of the connected accounts, not of its own."""
    old: str | None = None
    """The secret before it was rolled."""
    old_until: float = 0.0

    def secrets(self, now: float) -> tuple[str, ...]:
        """Every secret that signs at this time, the newest first."""
        if self.old is None or now >= self.old_until:
            return (self.secret,)
        return (self.secret, self.old)


class Account:
    """Everything that one account holds in one mode."""

    def __init__(
        self,
        id_: str,
        settings: Settings,
        *,
        livemode: bool = False,
        country: str = "US",
        platform: str | None = None,
    ) -> None:
        self.id = id_
        self.livemode = livemode
        self.country = country
        self.platform = platform
        """The account that this one is connected to, by Stripe Connect."""
        self.api_version = settings.api_version
        self.keys = Keys(settings.key_life_s)
        self.customers = Table("customer", "test_clock")
        self.payment_methods = Table("PaymentMethod", "customer")
        self.payment_intents = Table("payment_intent", "customer")
        self.charges = Table("charge", "payment_intent", "customer")
        self.refunds = Table("refund", "charge", "payment_intent")
        self.disputes = Table("dispute", "charge", "payment_intent")
        self.events = Table("event", "type")
        self.test_clocks = Table("test_clock")
        self.webhook_endpoints = Table("webhook endpoint")
        self.signing: dict[str, Signing] = {}
        """By webhook endpoint id."""
        self.newest_events: dict[str, Obj] = {}
        """Every event by id in the newest shapes, for endpoints with a version of their own."""
        self.hidden: dict[str, Hidden] = {}
        """By payment method id."""
        self.confirms: dict[str, int] = {}
        """Declined confirms by PaymentIntent id."""
        self.locked: dict[str, int] = {}
        """Ids of objects that a request under way holds, with how many hold them."""
        self.tables: Mapping[str, Table] = {
            "customer": self.customers,
            "payment_method": self.payment_methods,
            "payment_intent": self.payment_intents,
            "charge": self.charges,
            "refund": self.refunds,
            "dispute": self.disputes,
            "event": self.events,
            "test_helpers.test_clock": self.test_clocks,
            "webhook_endpoint": self.webhook_endpoints,
        }


Later = Callable[[float, Callable[["Call"], object]], None]
"""Carry something out so many seconds from now, as Stripe itself (no request)."""


@dataclass(slots=True)
class Call:
    """One request at work, or Stripe acting by itself: where, when, and under which request."""

    account: Account
    settings: Settings
    ids: Ids
    now: int
    later: Later
    announce: Callable[[Account, Obj], None]
    resend: Callable[[Account, Obj, str | None], None]
    """Deliver an event again: to one webhook endpoint, or to all that want it."""
    request_id: str | None = None
    key: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    publishable: bool = False
    version: str = API_VERSION
    """The API version of the request."""

    def find(self, kind: str, id_: str, param: str = "id") -> Obj:
        """The object that the path names, or 404 `resource_missing`."""
        return self._get(kind, id_, param, 404)

    def named(self, kind: str, id_: str, param: str) -> Obj:
        """The object that a parameter names, or 400 `resource_missing`."""
        return self._get(kind, id_, param, 400)

    def _get(self, kind: str, id_: str, param: str, status: int) -> Obj:
        table = self.account.tables[kind]
        obj = table.get(id_)
        if obj is None:
            raise missing(table.noun, id_, param, status)
        return obj

    def customer(self, id_: str, param: str = "customer") -> Obj:
        """A customer that a parameter names; 400 `resource_missing` also when it was deleted."""
        customer = self.named("customer", id_, param)
        if customer.get("deleted"):
            raise missing("customer", id_, param, 400)
        return customer
