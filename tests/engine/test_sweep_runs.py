"""A run of the sweep: what stops it, what does not, and how runs share the holds."""

import asyncio
from dataclasses import replace
from typing import Any, LiteralString, TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.charge import charge
from anchorhold.engine.check import check
from anchorhold.engine.sweep import sweep
from anchorhold.store import holds
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import left
from tests.engine.lost import dies
from tests.engine.rig import GatedDb, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import RETRIEVE, AtStripe, between, shows

T = TypeVar("T")


async def lost(world: Rig, count: int, when: When = When.AFTER) -> list[InvoiceId]:
    """So many holds whose owner died in the first of its charges."""
    invoices = [await world.invoice() for _ in range(count)]
    await dies(world, when)
    return invoices


def looks(world: Rig) -> int:
    return sum(entry.method == "GET" for entry in world.twin.requests)


async def test_three_checks_in_a_row_without_any_answer_end_the_run(world: Rig) -> None:
    await lost(world, 6)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, probability=1)])
    swept = await sweep(world.deps(), world.scope)
    assert (swept.checks, swept.stopped is not None) == (3, True)
    world.twin.faults.replace([])
    world.later(minutes=31)
    assert (await sweep(world.deps(), world.scope)).checks == 6


async def test_a_500_is_an_answer_and_ends_no_run(world: Rig) -> None:
    await lost(world, 5)
    world.twin.faults.replace([Rule(FaultKind.ERROR_500_WITHOUT_EFFECT, RETRIEVE, probability=1)])
    swept = await sweep(world.deps(), world.scope)
    assert (swept.rows, swept.stopped) == ({"S14": 5}, None)


async def test_each_hold_is_asked_about_once_a_run_page_by_page(world: Rig) -> None:
    await lost(world, 7)
    before = looks(world)
    swept = await sweep(world.deps(), world.scope, page=2)
    assert swept.checks == looks(world) - before == 7


async def test_open_invoices_go_first_then_who_was_not_asked_about_for_longest(world: Rig) -> None:
    first, asked, asked_before, closed = await lost(world, 4)
    later = "UPDATE anchorhold.invoice SET provider_synced_at = %s, status = %s WHERE id = %s"
    for invoice, at, status in (
        (asked, "2026-02-02", "open"),
        (asked_before, "2026-01-01", "open"),
        (closed, None, "uncollectible"),
    ):
        world.sql(later, at, status, invoice)
    own = {world.row(one)["intent_id"]: one for one in (first, asked, asked_before, closed)}
    before = len(world.twin.requests)
    await sweep(world.deps(), world.scope)
    order = [entry.path.rsplit("/", 1)[-1] for entry in world.twin.requests[before:]]
    assert [own[intent] for intent in dict.fromkeys(order) if intent in own] == [
        first,
        asked_before,
        asked,
        closed,
    ]


async def test_two_sweeps_at_once_share_the_holds(world: Rig) -> None:
    invoices = await lost(world, 12)
    before = looks(world)
    one, other = await asyncio.gather(
        sweep(world.deps(), world.scope, page=1), sweep(world.deps(), world.scope, page=1)
    )
    assert one.checks + other.checks == looks(world) - before == 12
    assert all(left(world, invoice).free for invoice in invoices)
    await world.recover()
    await standing_checks(world)


async def test_a_check_that_raises_is_loud_and_stops_no_other(world: Rig) -> None:
    invoices = await lost(world, 4)
    deps = world.deps()
    broken = _Breaks(deps.db, invoices[1])
    with pytest.raises(ZeroDivisionError):
        await sweep(replace(deps, db=broken), world.scope)
    freed = [left(world, invoice).free for invoice in invoices]
    assert freed == [True, False, True, True]
    assert ("error", "check.failed") in {line[:2] for line in world.log.lines}


async def test_an_intent_that_awaits_its_capture_is_followed(world: Rig) -> None:
    """Somebody changed the way of capturing in the dashboard; the money is only reserved."""
    (invoice,) = await lost(world, 1, When.BEFORE)
    seen = {**AtStripe(world).intent(invoice), "status": "requires_capture"}
    between(world, (RETRIEVE, shows(seen)))
    assert (await sweep(world.deps(), world.scope)).rows == {"S3": 1}
    assert left(world, invoice).payment_status == "processing"


class _Breaks(GatedDb):
    """The facts of one invoice cannot be read."""

    def __init__(self, inner: Any, invoice: InvoiceId) -> None:
        super().__init__(inner.inner, inner.gate)
        self.invoice = invoice

    @override
    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`."""
        if params.get("invoice_id") == self.invoice:
            raise ZeroDivisionError
        return await super().one(query, shape, **params)


async def test_a_live_hold_is_left_to_its_owner(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    deps = world.deps()
    (claim,) = await holds.claim_due(deps.db, world.scope, deps.timing, limit=1, actor="owner")
    connected = await deps.providers.of(world.scope)
    assert (await check(deps, connected, world.scope, invoice)).rule is None
    assert (await charge(deps, claim)).saved == "paid"
