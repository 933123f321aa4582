"""At every boundary of a close the process dies once; what it left comes to rest, audited.

The boundaries are recorded from one undisturbed run of each close.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Refusal
from anchorhold.engine.amend import amend
from anchorhold.engine.close import paid_elsewhere, void, write_off
from anchorhold.engine.credit import settle_by_credit
from anchorhold.engine.deps import Deps
from anchorhold.store import credits as credit
from tests import database as databases
from tests.engine.rig import CrashError, Gate, Rig, When, rig
from tests.engine.standing import at_most_one_success, nobody_sent_within_a_transaction
from tests.engine.stripe_side import AtStripe

Run = Callable[[Rig, Deps, InvoiceId], Awaitable[Any]]


@dataclass(frozen=True)
class Flow:
    """A way to close; `pays`: the customer pays on the page just before it."""

    name: str
    run: Run
    ends: str
    pays: bool = False


async def _covered(world: Rig, deps: Deps, invoice: InvoiceId) -> Any:
    return await settle_by_credit(deps, world.scope, invoice)


async def _void(world: Rig, deps: Deps, invoice: InvoiceId) -> Any:
    return await void(deps, world.scope, invoice, reason="made twice")


async def _give_up(world: Rig, deps: Deps, invoice: InvoiceId) -> Any:
    return await write_off(deps, world.scope, invoice, reason="bankrupt")


async def _cash(world: Rig, deps: Deps, invoice: InvoiceId) -> Any:
    return await paid_elsewhere(deps, world.scope, invoice, reference="cash")


async def _amend(world: Rig, deps: Deps, invoice: InvoiceId) -> Any:
    return await amend(deps, world.scope, invoice, amount_due=5000, reason="late")


FLOWS = (
    Flow("a void", _void, "void"),
    Flow("a write-off", _give_up, "uncollectible"),
    Flow("a payment elsewhere", _cash, "paid"),
    Flow("a settle by credit", _covered, "paid"),
    Flow("a change of amount", _amend, "open"),
    Flow("a void of what was just paid", _void, "paid", pays=True),
    Flow("a change of what was just paid", _amend, "paid", pays=True),
)


async def start(world: Rig, flow: Flow) -> InvoiceId:
    """A prepared invoice; only a person starts a charge of it, so that nobody else does."""
    invoice = await world.invoice()
    await world.prepare()
    world.sql("UPDATE anchorhold.invoice SET collection = 'manual'")
    await credit.give(
        world.pool,
        world.scope,
        world.row(invoice)["customer_id"],
        amount=14900,
        currency="eur",
        reason="goodwill",
        actor="test",
    )
    if flow.pays:
        AtStripe(world).page_confirms(invoice)
    return invoice


@cache
def boundaries(flow: Flow) -> tuple[tuple[str, int], ...]:
    """The passages of one undisturbed run of the flow."""
    with databases.clone(databases.server()) as conninfo:
        return asyncio.run(_record(flow, conninfo))


async def _record(flow: Flow, conninfo: str) -> tuple[tuple[str, int], ...]:
    async with rig(conninfo) as world:
        invoice = await start(world, flow)
        gate = Gate()
        with contextlib.suppress(Refusal):
            await flow.run(world, world.deps(gate), invoice)
        return tuple(gate.points())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each flow, boundary and way of dying."""
    if "when" in metafunc.fixturenames:
        metafunc.parametrize(
            ("flow", "point", "when"),
            [
                pytest.param(flow, point, when, id=f"{flow.name} {when} {point[0]} #{point[1]}")
                for flow in FLOWS
                for point in boundaries(flow)
                for when in When
            ],
        )


async def test_whoever_dies_in_mid_close_is_found_and_it_can_be_closed_again(
    world: Rig, flow: Flow, point: tuple[str, int], when: When
) -> None:
    invoice = await start(world, flow)
    gate = Gate(dies_at=(*point, when))
    with contextlib.suppress(CrashError, psycopg.OperationalError, Refusal):
        await flow.run(world, world.deps(gate), invoice)
    assert point in gate.points(), "the flow did not come by this boundary"

    await world.recover()
    assert world.row(invoice)["hold_until"] is None, world.attempts(invoice)
    assert {state for state, _ in world.attempts(invoice)} <= {"not_sent"}
    with contextlib.suppress(Refusal):
        await flow.run(world, world.deps(), invoice)
    comes_out_right(world, flow, invoice)


def comes_out_right(world: Rig, flow: Flow, invoice: InvoiceId) -> None:
    """From Stripe's side: nothing can be paid that is not due, and no money has two sources."""
    assert world.row(invoice)["status"] == flow.ends
    assert world.paid_at_stripe().get(invoice, 0) == int(flow.pays)
    sources = [row[0] for row in world.sql("SELECT source FROM anchorhold.payment")]
    assert len(sources) == int(flow.ends == "paid")
    live = [s for s in AtStripe(world).intents(invoice) if s not in {"canceled", "succeeded"}]
    assert live == []
    ((balance,),) = world.sql("SELECT balance FROM anchorhold.credit_balance")
    assert balance == (0 if sources == ["credit"] else 14900)
    at_most_one_success(world)
    nobody_sent_within_a_transaction(world)


def test_a_close_takes_one_call_and_few_statements() -> None:
    assert [name for name, _ in boundaries(FLOWS[0])] == [
        "db invoices.standing",
        *[name for name, _ in boundaries(FLOWS[0]) if "presumed" in name],
        "db closes.claim",
        "stripe cancel_intent",
        "db final_writes.finish",
    ]
