"""Invoices and their holds as people and programs read them; nothing here is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.attempt import AttemptKind, AttemptState
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import AccountId, AttemptId, CustomerId, InvoiceId, SubscriptionId
from anchorhold.domain.invoice import BlockedReason, Collection, InvoiceStatus, PaymentStatus
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class InvoiceView:
    """An invoice with its hold, at `now` of the database's clock; amounts in minor units."""

    id: InvoiceId
    account_id: AccountId
    livemode: bool
    customer_id: CustomerId
    customer_reference: str
    reference: str
    currency: str
    amount_due: int
    amount_paid: int
    status: InvoiceStatus
    payment_status: PaymentStatus
    collection: Collection
    blocked_reason: BlockedReason | None
    last_error: dict[str, object] | None
    hold: HoldState
    hold_until: datetime | None
    hold_attempt: AttemptId | None
    hold_attempt_kind: AttemptKind | None
    hold_attempt_state: AttemptState | None
    hold_charge_mode: ChargeMode | None
    hold_actor: str | None
    held_since: datetime | None
    provider_synced_at: datetime | None
    intent_id: str | None
    followed_intent_id: str | None
    followed_at: datetime | None
    due_at: datetime
    next_attempt_at: datetime
    created_at: datetime
    paid_at: datetime | None
    number: int | None
    """Of those that were made here, in order and without gaps."""
    subscription_id: SubscriptionId | None
    period_start: datetime | None
    period_end: datetime | None
    now: datetime


_SELECT = """
        SELECT i.id, i.account_id, i.livemode, i.customer_id, c.reference AS customer_reference,
               i.reference, i.currency, i.amount_due, i.amount_paid, i.status, i.payment_status,
               i.collection, i.blocked_reason, i.last_error,
               CASE WHEN i.payment_status = 'unknown' AND i.intent_id IS NULL
                         AND i.followed_intent_id IS NULL THEN 'parked'
                    WHEN i.hold_until > clock.now THEN 'live'
                    WHEN i.hold_until IS NOT NULL THEN 'stale'
                    WHEN i.followed_intent_id IS NOT NULL THEN 'following'
                    ELSE 'none' END AS hold,
               i.hold_until, i.hold_attempt, a.kind AS hold_attempt_kind,
               a.state AS hold_attempt_state, a.charge_mode AS hold_charge_mode,
               a.actor AS hold_actor, a.claimed_at AS held_since,
               i.provider_synced_at, i.intent_id, i.followed_intent_id, i.followed_at,
               i.due_at, i.next_attempt_at, i.created_at, i.paid_at,
               i.number, i.subscription_id, i.period_start, i.period_end, clock.now
          FROM anchorhold.invoice i
         CROSS JOIN (SELECT anchorhold.now() AS now) clock
          JOIN anchorhold.customer c
            ON c.account_id = i.account_id AND c.livemode = i.livemode AND c.id = i.customer_id
          LEFT JOIN anchorhold.attempt a
            ON a.account_id = i.account_id AND a.livemode = i.livemode AND a.id = i.hold_attempt
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
"""

# Both have an index of their own, which holds few rows.
_UNDER_WAY = " AND (i.hold_until IS NOT NULL OR i.followed_intent_id IS NOT NULL)"


@dataclass(frozen=True, slots=True)
class InvoiceFilter:
    """Which invoices; None fits every one."""

    status: InvoiceStatus | None = None
    payment_status: PaymentStatus | None = None
    customer_id: CustomerId | None = None

    @property
    def params(self) -> dict[str, object]:
        """The parameters of the statements."""
        return {
            "status": self.status,
            "payment_status": self.payment_status,
            "customer_id": self.customer_id,
        }


async def page(
    db: Db, scope: Scope, which: InvoiceFilter, *, after: str | None, limit: int
) -> list[InvoiceView]:
    """Up to `limit` invoices, newest first, from behind the id `after`."""
    return await db.all(
        _SELECT
        + given(
            (which.status, " AND i.status = %(status)s"),
            (which.payment_status, " AND i.payment_status = %(payment_status)s"),
            (_unclear(which), _UNDER_WAY),
            (which.customer_id, " AND i.customer_id = %(customer_id)s"),
            (after, " AND i.id < %(after)s"),
        )
        + " ORDER BY i.id DESC LIMIT %(limit)s",
        InvoiceView,
        **scope.params,
        **which.params,
        after=after,
        limit=limit,
    )


def _unclear(which: InvoiceFilter) -> bool | None:
    """True for what is under way by its constraints, so that the small indexes find it."""
    return which.payment_status in (PaymentStatus.UNKNOWN, PaymentStatus.PROCESSING) or None


_COUNT = """
SELECT count(*)
  FROM anchorhold.invoice i
 WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
"""


async def count(db: Db, scope: Scope, which: InvoiceFilter) -> int:
    """How many invoices the filter fits."""
    found = await db.one(
        _COUNT
        + given(
            (which.status, " AND i.status = %(status)s"),
            (which.payment_status, " AND i.payment_status = %(payment_status)s"),
            (_unclear(which), _UNDER_WAY),
            (which.customer_id, " AND i.customer_id = %(customer_id)s"),
        ),
        int,
        **scope.params,
        **which.params,
    )
    return found or 0


async def one(db: Db, scope: Scope, id_or_reference: str) -> InvoiceView | None:
    """The invoice with this id or this reference of the user's, or None."""
    return await db.one(
        _SELECT
        + """
           AND (i.id = %(name)s OR i.reference = %(name)s)
         ORDER BY i.id = %(name)s DESC
         LIMIT 1
        """,
        InvoiceView,
        **scope.params,
        name=id_or_reference,
    )


async def under_way(db: Db, scope: Scope, *, after: str | None, limit: int) -> list[InvoiceView]:
    """Up to `limit` invoices with a hold or a followed PaymentIntent, newest first."""
    return await db.all(
        _SELECT
        + _UNDER_WAY
        + given((after, " AND i.id < %(after)s"))
        + " ORDER BY i.id DESC LIMIT %(limit)s",
        InvoiceView,
        **scope.params,
        after=after,
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class Lanes:
    """How many invoices are in each lane; every invoice is in at most one."""

    live: int
    confirming: int
    following: int


_LANES = """
SELECT count(*) FILTER (WHERE i.hold_until > clock.now) AS live,
       count(*) FILTER (WHERE i.hold_until <= clock.now) AS confirming,
       count(*) FILTER (WHERE i.hold_until IS NULL) AS following
  FROM anchorhold.invoice i
 CROSS JOIN (SELECT anchorhold.now() AS now) clock
 WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
"""


async def lanes(db: Db, scope: Scope) -> Lanes:
    """How many holds are live, how many are being confirmed, how many intents are followed."""
    found = await db.one(
        _LANES + _UNDER_WAY,
        Lanes,
        **scope.params,
    )
    return found or Lanes(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Known:
    """An invoice that is there, as an import compares it; the amount is in minor units."""

    reference: str
    amount_due: int
    currency: str
    customer_reference: str


async def known(db: Db, scope: Scope, references: Sequence[str]) -> list[Known]:
    """The invoices that have one of these references."""
    return await db.all(
        """
        SELECT i.reference, i.amount_due, i.currency, c.reference AS customer_reference
          FROM anchorhold.invoice i
          JOIN anchorhold.customer c
            ON c.account_id = i.account_id AND c.livemode = i.livemode AND c.id = i.customer_id
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.reference = ANY(%(references)s)
        """,
        Known,
        **scope.params,
        references=list(references),
    )
