"""What people do with subscriptions: make one, pause, resume, cancel, bill what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.ids import CUSTOMER, SUBSCRIPTION, InvoiceId, SubscriptionId
from anchorhold.domain.invoice import Collection
from anchorhold.domain.period import Calendar
from anchorhold.domain.price import QUANTITY_MAX
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import (
    Due,
    PauseReason,
    SubscriptionStatus,
    first_after,
    next_due,
)
from anchorhold.engine.deps import Deps
from anchorhold.engine.renew import Renewed, renew_one
from anchorhold.store import customers, prices, subscriptions, views_subscriptions
from anchorhold.store.db import only
from anchorhold.store.prices import PriceView
from anchorhold.store.subscriptions import NewSubscription
from anchorhold.store.views_subscriptions import SubscriptionView

TRIES = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A subscription as somebody asks for it; `calendar` says when its periods are.

    `customer` is the user's own reference. One that is not known yet becomes a customer with
    this e-mail and payment method.
    """

    reference: str
    customer: str
    email: str | None
    payment_method: str | None
    quantities: Mapping[str, int]
    """How many of each price, by its id or reference."""
    collection: Collection = Collection.AUTO
    net_days: int = 0


async def priced(deps: Deps, scope: Scope, quantities: Mapping[str, int]) -> list[PriceView]:
    """The prices of these names, in order.

    Refuses: price_not_found, prices_differ, quantity_invalid.
    """
    for name, quantity in quantities.items():
        if not 1 <= quantity <= QUANTITY_MAX:
            raise Refusal(BillingCode.QUANTITY_INVALID, text=f"{name}:{quantity}")
    found = await prices.named(deps.db, scope, list(quantities))
    named = {key: view for view in found for key in (view.id, view.reference)}
    for name in quantities:
        if name not in named:
            raise Refusal(BillingCode.PRICE_NOT_FOUND, id=name)
    rows = [named[name] for name in quantities]
    for row in rows[1:]:
        if row.price.terms != rows[0].price.terms or row.id == rows[0].id:
            left, right = rows[0].reference, row.reference
            raise Refusal(BillingCode.PRICES_DIFFER, left=left, right=right)
    return rows


async def subscribe(
    deps: Deps, scope: Scope, asked: Asked, rows: Sequence[PriceView], calendar: Calendar
) -> SubscriptionId:
    """The subscription is there, its customer is on its way to Stripe; passes bill it from now on.

    `rows` are what `priced` found. Refuses: subscription_exists.
    """
    by_name = {key: row.id for row in rows for key in (row.id, row.reference)}
    first = next_due(calendar, rows[0].billing, calendar.number_at(calendar.starts_at))
    new = NewSubscription(
        id=only(deps.db.new_ids(SUBSCRIPTION, 1)),
        reference=asked.reference,
        customer=asked.customer,
        new_customer_id=only(deps.db.new_ids(CUSTOMER, 1)),
        email=asked.email,
        payment_method=asked.payment_method,
        currency=rows[0].currency,
        billing=rows[0].billing,
        collection=asked.collection,
        net_days=asked.net_days,
        calendar=calendar,
        quantities={by_name[name]: count for name, count in asked.quantities.items()},
        first=first,
    )
    for _ in range(TRIES):
        made = await subscriptions.create(deps.db, scope, new, actor=deps.actor)
        if made is not None:
            await customers.begin_all(deps.db, scope, [made.customer_id])
            return made.id
        if await views_subscriptions.one(deps.db, scope, asked.reference) is not None:
            break
    raise Refusal(BillingCode.SUBSCRIPTION_EXISTS, reference=asked.reference)


async def pause(deps: Deps, scope: Scope, seen: SubscriptionView, *, reason: str) -> None:
    """Nothing more is billed until it is resumed.

    Refuses: subscription_not_so, renewal_due, subscription_changed.
    """
    _require(seen, SubscriptionStatus.ACTIVE, act="pause")
    if seen.next_at is not None and seen.next_at <= seen.now:
        raise Refusal(BillingCode.RENEWAL_DUE, id=seen.reference, due_at=seen.next_at)
    _won(
        seen,
        await subscriptions.pause(deps.db, scope, seen.id, reason=reason, actor=deps.actor),
    )


def after_pause(seen: SubscriptionView) -> Due:
    """What comes next if it is resumed now: what came due in the pause is left out."""
    return first_after(seen.calendar, seen.billing, seen.next_number, seen.now)


async def resume(deps: Deps, scope: Scope, seen: SubscriptionView) -> None:
    """It is billed again, from the first period on that comes due from now on.

    Refuses: subscription_not_so, subscription_changed.
    """
    _require(seen, SubscriptionStatus.PAUSED, act="resume")
    _won(
        seen,
        await subscriptions.resume(deps.db, scope, seen, after_pause(seen), actor=deps.actor),
    )


class Ends(StrEnum):
    """When a subscription that is cancelled ends."""

    NOW = "now"
    PERIOD_END = "period_end"


def end_of(seen: SubscriptionView, when: Ends | datetime) -> datetime:
    """When it ends; one that has not begun or is paused ends now. Refuses: end_in_the_past."""
    if isinstance(when, datetime):
        if when <= seen.now:
            raise Refusal(BillingCode.END_IN_THE_PAST, id=seen.reference, ends_at=when)
        return when
    begun = seen.status is SubscriptionStatus.ACTIVE and seen.starts_at <= seen.now
    if when is Ends.NOW or not begun:
        return seen.now.replace(microsecond=0)
    return seen.calendar.boundary(seen.calendar.number_at(seen.now) + 1)


async def cancel(
    deps: Deps, scope: Scope, seen: SubscriptionView, ends_at: datetime, *, reason: str
) -> list[InvoiceId]:
    """It ends then; in arrears its last part is billed. The invoices that this opened by now.

    What was billed in advance stays as it is. Refuses: subscription_not_so, subscription_changed.
    """
    _require(seen, SubscriptionStatus.ACTIVE, SubscriptionStatus.PAUSED, act="cancel")
    cut = replace(seen, ends_at=ends_at)
    _won(
        seen,
        await subscriptions.cancel(deps.db, scope, cut, cut.due, reason=reason, actor=deps.actor),
    )
    after = await views_subscriptions.one(deps.db, scope, seen.id)
    return await renew_one(deps, scope, after, Renewed()) if after and after.next_at else []


async def bill_now(deps: Deps, scope: Scope, seen: SubscriptionView) -> list[InvoiceId]:
    """All that is due on it is billed, however much it is; the invoices that were opened.

    One that is paused because it was behind goes on. Refuses: subscription_not_so.
    """
    if seen.pause_reason is PauseReason.BEHIND:
        _won(
            seen,
            await subscriptions.resume(deps.db, scope, seen, seen.due, actor=deps.actor),
        )
    else:
        _require(seen, SubscriptionStatus.ACTIVE, act="bill")
    return await renew_one(deps, scope, seen, Renewed(), cap=None)


def _require(seen: SubscriptionView, *statuses: SubscriptionStatus, act: str) -> None:
    if seen.status not in statuses:
        raise Refusal(
            BillingCode.SUBSCRIPTION_NOT_SO, id=seen.reference, status=seen.status, act=act
        )


def _won(seen: SubscriptionView, answer: object) -> None:
    if answer is None:
        raise Refusal(BillingCode.SUBSCRIPTION_CHANGED, id=seen.reference)
