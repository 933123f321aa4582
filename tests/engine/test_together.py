"""Many at once on one invoice, each with connections of its own: one charge, right states."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.sweep import sweep
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import left
from tests.engine.lost import unknown
from tests.engine.rig import Gate, Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CONFIRM, AtStripe
from tests.engine.test_late import freezes, thaws

T = TypeVar("T")


class Turns(Gate):
    """Lets everybody else go first before each step, so that all are in the middle at once."""

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        await asyncio.sleep(0)
        result = await super().through(name, act)
        await asyncio.sleep(0)
        return result


async def collects(world: Rig, invoice: InvoiceId) -> str:
    """What a Collect came to: what was saved, or the code of the refusal."""
    try:
        return str((await world.collect(invoice, world.deps(Turns()))).saved)
    except Refusal as refusal:
        return refusal.code.name


async def test_case_a12_twenty_collects_at_once_make_one_charge(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    ends = await asyncio.gather(*(collects(world, invoice) for _ in range(20)))
    assert ends.count("paid") == 1
    refused = {Code.PAYMENT_IN_FLIGHT.name, Code.INVOICE_NOT_OPEN.name}
    assert set(ends) - {"paid"} <= refused
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    assert world.attempts(invoice) == [("succeeded", "answered")]
    await standing_checks(world)


async def test_twenty_collects_that_have_to_prepare_first_make_one_charge(world: Rig) -> None:
    invoice = await world.invoice()
    ends = await asyncio.gather(*(collects(world, invoice) for _ in range(20)))
    assert ends.count("paid") == 1
    assert AtStripe(world).intents(invoice) == ["succeeded"]
    await standing_checks(world)


@pytest.mark.parametrize("kind", [FaultKind.DROPPED_AFTER, FaultKind.DROPPED_BEFORE])
async def test_sweeps_at_once_end_a_hold_once(world: Rig, kind: FaultKind) -> None:
    invoice = await unknown(world, kind)
    await asyncio.gather(*(sweep(world.deps(Turns()), world.scope) for _ in range(6)))
    assert left(world, invoice).free
    assert left(world, invoice).seq == 1
    await world.recover()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_a_sweep_beside_an_owner_that_thaws_at_that_moment(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    gate, owner = await freezes(world, "stripe confirm_intent")
    await asyncio.gather(sweep(world.deps(Turns()), world.scope), thaws(gate, owner))
    assert left(world, invoice).status == "paid"
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    await standing_checks(world)


async def test_a_sweep_beside_an_owner_whose_confirm_stripe_carries_out_later(world: Rig) -> None:
    """Frozen past its hold: the sweep sees nothing and clears, then the charge happens."""
    invoice = await unknown(world, FaultKind.LATE)
    await asyncio.gather(*(sweep(world.deps(Turns()), world.scope) for _ in range(2)))
    assert left(world, invoice).attempt == ("superseded", "no_trace", "S8")
    world.twin.run_late()
    await world.recover()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_everybody_at_once(world: Rig) -> None:
    """Workers, operators, sweeps and the customer on one invoice, while answers get lost."""
    invoice = await world.invoice()
    await world.prepare()
    world.twin.faults.replace([Rule(FaultKind.DROPPED_AFTER, CONFIRM, probability=0.5)])
    at = AtStripe(world)

    async def page() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        at.page_confirms(invoice)

    def charge_due() -> asyncio.Future[object]:
        return asyncio.ensure_future(world.charge_due(world.deps(Turns())))

    await asyncio.gather(
        *(charge_due() for _ in range(5)),
        *(collects(world, invoice) for _ in range(5)),
        *(sweep(world.deps(Turns()), world.scope) for _ in range(3)),
        page(),
    )
    world.twin.faults.replace([])
    await world.recover()
    assert at.charges(invoice).count("succeeded") == 1
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_many_invoices_shared_by_many_workers_are_charged_once_each(world: Rig) -> None:
    for _ in range(12):
        await world.invoice()
    await world.prepare()
    with contextlib.suppress(Refusal):
        await asyncio.gather(*(world.charge_due(world.deps(Turns())) for _ in range(6)))
    assert list(world.paid_at_stripe().values()) == [1] * 12
    await standing_checks(world)
