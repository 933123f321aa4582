"""Renewals: each period that is due has its invoice, once, oldest first (protocol section 10).

The invoice is the anchor. It is opened by the commit that moves its subscription to the next
period, so that a pass that dies has billed a period or has not, and two passes at one subscription
bill it once. From there on it is an invoice as any other: prepared, charged and settled as these.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from anchorhold.domain.ids import INVOICE, InvoiceId, derive_at
from anchorhold.domain.scope import Scope
from anchorhold.domain.subscription import Due, due_until, lines, next_due
from anchorhold.engine.deps import Deps
from anchorhold.store import renewals
from anchorhold.store.renewals import Bill
from anchorhold.store.views_subscriptions import SubscriptionView

PAGE: Final = 50
CATCH_UP: Final = 12
"""So many periods of one subscription are billed at once; more wait for a person's word."""
FAILURES: Final = 3
"""So many subscriptions in a row that could not be renewed end a pass."""


class Stopped(StrEnum):
    """Why a pass ended before everything due was billed."""

    BUDGET = "the time of the pass was up"
    FAILURES = f"{FAILURES} subscriptions in a row could not be renewed"


@dataclass(slots=True)
class Renewed:
    """What one pass did: invoices opened, anchors found, ends, pauses, failures."""

    billed: int = 0
    found: int = 0
    """Periods whose invoice was there before: nothing was opened."""
    ended: int = 0
    behind: int = 0
    """Subscriptions that were paused because too much was due at once."""
    failed: int = 0
    stopped: Stopped | None = None


async def renew(deps: Deps, scope: Scope) -> Renewed:
    """Everything that is due on subscriptions is billed, within the budget of a sweep.

    Any number of workers may do this at once. A subscription that fails is logged and stops no
    other; it comes again with the next pass. A pass that did anything is a line of the log.
    """
    done = Renewed()
    began = deps.db.monotonic()
    await _renew_all(deps, scope, done, until=began + deps.timing.sweep_budget_seconds)
    if done != Renewed():
        facts = {**asdict(done), "took_s": round(deps.db.monotonic() - began, 3)}
        deps.log.info("renew.done", account=scope.account_id, livemode=scope.livemode, **facts)
    return done


async def _renew_all(deps: Deps, scope: Scope, done: Renewed, *, until: float) -> None:
    in_a_row = 0
    while rows := await renewals.take_due(
        deps.db, scope, limit=PAGE, lease_s=deps.timing.lease_seconds
    ):
        for row in rows:
            in_a_row = 0 if await _survives(deps, scope, row, done) else in_a_row + 1
            if in_a_row == FAILURES:
                done.stopped = Stopped.FAILURES
                return
        if deps.db.monotonic() >= until:
            done.stopped = Stopped.BUDGET
            return


async def _survives(deps: Deps, scope: Scope, row: SubscriptionView, done: Renewed) -> bool:
    try:
        await renew_one(deps, scope, row, done)
    except Exception:  # the other subscriptions have their renewal
        deps.log.error("renew.failed", subscription=row.id, exc_info=True)
        done.failed += 1
        return False
    return True


async def renew_one(
    deps: Deps,
    scope: Scope,
    seen: SubscriptionView,
    done: Renewed,
    *,
    cap: int | None = CATCH_UP,
) -> list[InvoiceId]:
    """What is due on this subscription is billed, oldest first; the invoices that were opened.

    With more periods due than `cap`, the last of them pauses it, with a notice. It ends when its
    end is reached. Another pass that is at it takes over.
    """
    due = due_until(seen.calendar, seen.billing, seen.next_number, seen.now, limit=_limit(cap))
    opened: list[InvoiceId] = []
    for n, one in enumerate(due, 1):
        if one.period is None:
            ended = await renewals.end(deps.db, scope, seen, one, actor=deps.actor)
            done.ended += ended is not None
            break
        behind = n == cap and len(due) > n and due[n].period is not None
        bill = bill_of(scope, seen, one, behind=behind)
        billed = await renewals.bill(deps.db, scope, seen, bill, actor=deps.actor)
        if billed is None:
            break
        done.billed += billed.invoice_id is not None
        done.found += billed.invoice_id is None
        opened += [billed.invoice_id] if billed.invoice_id else []
        if behind:
            done.behind += 1
            break
    return opened


def _limit(cap: int | None) -> int:
    """One more than may be billed: whether there is more is what pauses a subscription."""
    return cap + 1 if cap is not None else 10_000


def bill_of(scope: Scope, seen: SubscriptionView, due: Due, *, behind: bool = False) -> Bill:
    """The bill of a period that is due.

    The invoice's id is made of the subscription and the period: a database that lost its last
    commits opens the same invoice again and sends Stripe the same keys (section 11).
    """
    period = due.period
    if period is None:
        raise ValueError("the end of a subscription is not billed")
    start = period.start.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    at_ms = (due.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return Bill(
        invoice_id=derive_at(INVOICE, at_ms, scope.account_id, scope.mode, seen.id, start),
        reference=f"{seen.id}/{start}",
        at=due.at,
        period=period,
        lines=lines(seen.priced, period),
        due_at=due.at + timedelta(days=seen.net_days),
        then=next_due(seen.calendar, seen.billing, due.number + 1),
        behind=behind,
    )


def would_bill(
    scope: Scope, rows: Sequence[SubscriptionView], on: datetime
) -> list[tuple[SubscriptionView, Bill]]:
    """What passes up to this time would bill on these subscriptions; nothing is written."""
    return [
        (row, bill_of(scope, row, due))
        for row in rows
        if row.next_at is not None
        for due in due_until(row.calendar, row.billing, row.next_number, on, limit=_limit(None))
        if due.period is not None
    ]
