"""Each period that is due is billed once, oldest first, and its invoice is charged as any other."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.price import Billing, Scheme
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.subscription import PauseReason, SubscriptionStatus
from anchorhold.engine import subscribe as acts
from anchorhold.engine.renew import (
    CATCH_UP,
    Renewed,
    Stopped,
    bill_of,
    renew,
    renew_one,
    would_bill,
)
from anchorhold.engine.subscribe import Ends, priced
from anchorhold.store import renewals
from anchorhold.store.db import connect
from tests.engine.billing import a_price, a_subscription, invoices, now, seen
from tests.engine.rig import CrashError, Gate, Rig, When

HALF_A_YEAR = timedelta(days=170)


async def refused(act: Awaitable[Any], code: BillingCode) -> None:
    with pytest.raises(Refusal) as refusal:
        await act
    assert refusal.value.code is code


async def test_a_subscription_is_billed_when_it_begins_and_its_customer_is_charged(
    world: Rig,
) -> None:
    await a_price(world, "seat", 500, scheme=Scheme.PER_UNIT)
    await a_price(world, "base", 900)
    await a_subscription(world, of={"seat": 3, "base": 1})
    done = await renew(world.deps(), world.scope)
    (invoice,) = invoices(world)
    assert (done.billed, invoice["amount_due"], invoice["status"]) == (1, 2400, "open")
    await world.charge_due()
    assert invoices(world)[0]["status"] == "paid"
    assert world.paid_at_stripe() == {invoice["id"]: 1}


async def test_a_year_of_months_is_twelve_invoices_with_numbers_without_a_gap(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    for _ in range(12):
        await renew(world.deps(), world.scope)
        world.later(days=31)
    rows = invoices(world)
    assert [row["number"] for row in rows] == list(range(1, 13))
    ends = [row["period_end"] for row in rows]
    assert [row["period_start"] for row in rows][1:] == ends[:-1]


async def test_a_pass_with_nothing_due_does_nothing(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    await renew(world.deps(), world.scope)
    world.log.lines.clear()
    assert await renew(world.deps(), world.scope) == Renewed()
    assert world.log.lines == []


async def test_in_arrears_a_period_is_billed_when_it_is_over(world: Rig) -> None:
    await a_price(world, billing=Billing.IN_ARREARS)
    await a_subscription(world)
    assert (await renew(world.deps(), world.scope)).billed == 0
    world.later(days=32)
    assert (await renew(world.deps(), world.scope)).billed == 1


async def test_after_days_of_outage_each_period_is_billed_once_oldest_first(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world, started=HALF_A_YEAR)
    done = await renew(world.deps(), world.scope)
    starts = [row["period_start"] for row in invoices(world)]
    assert done.billed == len(starts) == 6
    assert starts == sorted(set(starts))


async def test_too_much_at_once_is_left_to_a_person_with_a_notice(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world, started=timedelta(days=500))
    done = await renew(world.deps(), world.scope)
    assert (done.billed, done.behind) == (CATCH_UP, 1)
    assert (await seen(world)).pause_reason is PauseReason.BEHIND
    notices = world.sql("SELECT code, invoice_id FROM anchorhold.notice")
    assert notices == [("renewal.behind", invoices(world)[-1]["id"])]
    assert (await renew(world.deps(), world.scope)).billed == 0
    assert len(await acts.bill_now(world.deps(), world.scope, await seen(world))) == 5
    assert (await seen(world)).status is SubscriptionStatus.ACTIVE


async def test_l1_eight_workers_at_once_bill_a_period_once_a_hundred_times(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world, started=timedelta(days=3100))
    async with connect(world.conninfo, size=8) as db:
        deps = replace(world.deps(), db=db)
        for _ in range(100):
            due = view.due
            bill = bill_of(world.scope, view, due)
            answers = await asyncio.gather(
                *(renewals.bill(db, world.scope, view, bill, actor=deps.actor) for _ in range(8))
            )
            assert sum(answer is not None for answer in answers) == 1
            view = replace(view, next_number=due.number + 1)
    rows = invoices(world)
    assert [row["number"] for row in rows] == list(range(1, 101))
    assert len({row["period_start"] for row in rows}) == 100


async def test_eight_passes_at_once_share_out_what_is_due(world: Rig) -> None:
    await a_price(world)
    for n in range(30):
        await a_subscription(world, f"sub{n}", started=timedelta(days=40))
    async with connect(world.conninfo, size=8) as db:
        deps = replace(world.deps(), db=db)
        done = await asyncio.gather(*(renew(deps, world.scope) for _ in range(8)))
    assert sum(one.billed for one in done) == len(invoices(world)) == 60


@pytest.mark.parametrize("when", When)
async def test_a_pass_that_dies_at_a_bill_leaves_a_period_billed_or_not(
    world: Rig, when: When
) -> None:
    await a_price(world)
    await a_subscription(world, started=HALF_A_YEAR)
    gate = Gate(dies_at=("db renewals.bill", 3, when))
    with suppress(CrashError):
        await renew(world.deps(gate), world.scope)
    world.later(minutes=5)
    await renew(world.deps(), world.scope)
    assert [row["number"] for row in invoices(world)] == list(range(1, 7))


async def test_an_anchor_that_is_there_is_found_and_no_number_is_used_up(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world)
    await renew(world.deps(), world.scope)
    world.sql(
        "UPDATE anchorhold.subscription SET next_number = %s, next_at = %s, look_at = %s",
        view.next_number,
        view.next_at,
        view.next_at,
    )
    done = await renew(world.deps(), world.scope)
    assert (done.billed, done.found, len(invoices(world))) == (0, 1, 1)
    world.later(days=31)
    await renew(world.deps(), world.scope)
    assert [row["number"] for row in invoices(world)] == [1, 2]


async def test_a_database_that_lost_a_renewal_opens_the_same_invoice_again(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world)
    first = bill_of(world.scope, view, view.due)
    assert bill_of(world.scope, await seen(world), view.due).invoice_id == first.invoice_id
    after = bill_of(world.scope, view, first.then)
    assert after.invoice_id > first.invoice_id


async def test_one_that_cannot_be_renewed_stops_no_other(world: Rig) -> None:
    await a_price(world)
    broken = await a_subscription(world, "broken", started=timedelta(days=1))
    await a_subscription(world, "sound")
    world.sql("UPDATE anchorhold.subscription SET zone_name = 'Nowhere' WHERE id = %s", broken.id)
    done = await renew(world.deps(), world.scope)
    assert (done.billed, done.failed) == (1, 1)
    (failed, told) = world.log.lines
    assert (failed[:2], failed[2]["subscription"]) == (("error", "renew.failed"), broken.id)
    assert told[:2] == ("info", "renew.done")
    assert told[2].items() >= {"billed": 1, "failed": 1, "stopped": None}.items()


async def test_a_pass_ends_when_nothing_can_be_renewed_or_its_time_is_up(world: Rig) -> None:
    await a_price(world)
    for n in range(5):
        await a_subscription(world, f"sub{n}")
    world.sql("UPDATE anchorhold.subscription SET zone_name = 'Nowhere'")
    assert (await renew(world.deps(), world.scope)).stopped is Stopped.FAILURES
    world.sql("UPDATE anchorhold.subscription SET zone_name = 'UTC', look_at = next_at")
    world.timing = replace(world.timing, sweep_budget_seconds=0)
    done = await renew(world.deps(), world.scope)
    assert (done.stopped, done.billed) == (Stopped.BUDGET, 5)


async def test_what_would_be_billed_is_what_is_billed_and_nothing_is_written(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world)
    told = would_bill(world.scope, [view], now(world) + timedelta(days=70))
    assert invoices(world) == []
    world.later(days=70)
    await renew(world.deps(), world.scope)
    assert [bill.invoice_id for _, bill in told] == [row["id"] for row in invoices(world)]


async def test_terms_and_collection_are_the_subscriptions(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world, net_days=14, collection="manual")
    await renew(world.deps(), world.scope)
    (invoice,) = invoices(world)
    bill = bill_of(world.scope, view, view.due)
    assert invoice["collection"] == "manual"
    assert bill.due_at - bill.at == timedelta(days=14)


async def test_nothing_is_billed_in_a_pause_and_what_came_due_is_left_out(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    await renew(world.deps(), world.scope)
    await acts.pause(world.deps(), world.scope, await seen(world), reason="moving house")
    world.later(days=70)
    assert (await renew(world.deps(), world.scope)).billed == 0
    await acts.resume(world.deps(), world.scope, await seen(world))
    assert (await renew(world.deps(), world.scope)).billed == 0
    world.later(days=31)
    assert (await renew(world.deps(), world.scope)).billed == 1


async def test_what_is_due_is_billed_before_a_pause(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world)
    pausing = acts.pause(world.deps(), world.scope, view, reason="x")
    await refused(pausing, BillingCode.RENEWAL_DUE)


async def test_cancelled_now_it_has_ended_and_nothing_more_is_billed(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    await renew(world.deps(), world.scope)
    view = await seen(world)
    ends_at = acts.end_of(view, Ends.NOW)
    assert await acts.cancel(world.deps(), world.scope, view, ends_at, reason="x") == []
    assert (await seen(world)).status is SubscriptionStatus.CANCELED
    world.later(days=70)
    assert (await renew(world.deps(), world.scope)).billed == 0


async def test_cancelled_now_in_arrears_the_used_part_is_billed(world: Rig) -> None:
    await a_price(world, amount=86_400 * 31, billing=Billing.IN_ARREARS)
    await a_subscription(world, started=timedelta(days=10))
    view = await seen(world)
    whole = view.due.period
    assert whole is not None
    ends_at = acts.end_of(view, Ends.NOW)
    await acts.cancel(world.deps(), world.scope, view, ends_at, reason="x")
    (invoice,) = invoices(world)
    used = (ends_at - whole.start) // timedelta(seconds=1)
    length = (whole.end - whole.start) // timedelta(seconds=1)
    assert invoice["amount_due"] == 86_400 * 31 * used // length
    assert (await seen(world)).status is SubscriptionStatus.CANCELED


async def test_cancelled_at_the_end_of_its_period_it_ends_then(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    await renew(world.deps(), world.scope)
    view = await seen(world)
    ends_at = acts.end_of(view, Ends.PERIOD_END)
    assert ends_at == view.next_at
    await acts.cancel(world.deps(), world.scope, view, ends_at, reason="x")
    assert (await seen(world)).status is SubscriptionStatus.ACTIVE
    world.later(days=32)
    done = await renew(world.deps(), world.scope)
    assert (done.billed, done.ended) == (0, 1)


async def test_a_paused_one_that_is_cancelled_has_ended(world: Rig) -> None:
    await a_price(world)
    await a_subscription(world)
    await renew(world.deps(), world.scope)
    await acts.pause(world.deps(), world.scope, await seen(world), reason="x")
    view = await seen(world)
    ends_at = acts.end_of(view, Ends.PERIOD_END)
    await acts.cancel(world.deps(), world.scope, view, ends_at, reason="x")
    assert (await seen(world)).status is SubscriptionStatus.CANCELED


async def test_what_does_not_fit_is_refused(world: Rig) -> None:
    await a_price(world)
    await a_price(world, "in dollars", currency="usd")
    view = await a_subscription(world)
    deps, scope = world.deps(), world.scope
    await refused(priced(deps, scope, {"plan": 1, "in dollars": 1}), BillingCode.PRICES_DIFFER)
    await refused(priced(deps, scope, {"none": 1}), BillingCode.PRICE_NOT_FOUND)
    await refused(priced(deps, scope, {"plan": 0}), BillingCode.QUANTITY_INVALID)
    await refused(a_subscription(world), BillingCode.SUBSCRIPTION_EXISTS)
    await refused(acts.resume(deps, scope, view), BillingCode.SUBSCRIPTION_NOT_SO)
    with pytest.raises(Refusal):
        acts.end_of(view, view.now - timedelta(days=1))


async def test_who_saw_it_before_another_acted_is_refused(world: Rig) -> None:
    await a_price(world)
    view = await a_subscription(world)
    await renew(world.deps(), world.scope)
    cancelling = acts.cancel(world.deps(), world.scope, view, now(world), reason="x")
    await refused(cancelling, BillingCode.SUBSCRIPTION_CHANGED)
    assert await renew_one(world.deps(), world.scope, view, Renewed()) == []
