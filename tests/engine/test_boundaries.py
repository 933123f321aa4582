"""At every boundary of a charge the process dies once, and recovery ends with at most one payment.

The boundaries are not written down: each flow runs once at collection, and every statement and
every call to Stripe that it made is one.
"""

import asyncio
import contextlib
from functools import cache

import psycopg
import pytest

from anchorhold.engine.collect import collect
from tests import database as databases
from tests.engine.flows import ALL, DIRECT, FLOWS, Flow
from tests.engine.rig import CrashError, Gate, Rig, When, rig


@cache
def boundaries(flow: Flow) -> tuple[tuple[str, int], ...]:
    """The passages of one undisturbed run of the flow."""
    with databases.clone(databases.server()) as conninfo:
        return asyncio.run(_record(flow, conninfo))


async def _record(flow: Flow, conninfo: str) -> tuple[tuple[str, int], ...]:
    async with rig(conninfo) as world:
        await flow.start(world)
        gate = Gate()
        await flow.run(world, gate)
        return tuple(gate.points())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each flow, boundary and way of dying."""
    cases = [
        pytest.param(flow, point, when, id=f"{flow.name} {when} {point[0]} #{point[1]}")
        for flow in ALL
        for point in boundaries(flow)
        for when in When
    ]
    if "when" in metafunc.fixturenames:
        metafunc.parametrize(("flow", "point", "when"), cases)


async def test_whoever_dies_there_is_found_and_nothing_is_paid_twice_or_lost(
    world: Rig, flow: Flow, point: tuple[str, int], when: When
) -> None:
    invoice = await flow.start(world)
    gate = Gate(dies_at=(*point, when))
    with contextlib.suppress(CrashError, psycopg.OperationalError):
        await flow.run(world, gate)
    assert point in gate.points(), "the flow did not come by this boundary"

    await world.recover()
    if world.row(invoice)["hold_until"] is not None:
        world.later(hours=24)  # a park waits its day
        await world.recover()
    if world.attempts(invoice)[-2:] == [("superseded", "no_trace")] * 2:
        await collect(world.deps(), world.scope, invoice)  # twice without a trace: S8 leaves it

    row = world.row(invoice)
    paid = world.paid_at_stripe().get(invoice, 0)
    assert row["hold_until"] is None, world.attempts(invoice)
    assert paid == int(flow.paid), world.attempts(invoice)
    assert row["status"] == ("paid" if flow.paid else "open")
    assert row["payment_status"] == ("succeeded" if flow.paid else "failed")
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == paid
    codes = {code for (code,) in world.sql("SELECT code FROM anchorhold.notice")}
    assert codes <= {"collection.blocked", "charge.unidentifiable"}


def test_a_charge_makes_three_round_trips_and_one_call() -> None:
    names = [name for name, _ in boundaries(FLOWS[0])]
    claimed = names.index("db holds.claim_due")
    assert names[claimed:] == [
        "db holds.claim_due",
        "db holds.recheck",
        "stripe confirm_intent",
        "db payments.settle",
    ]


def test_a_direct_charge_makes_as_many() -> None:
    names = [name for name, _ in boundaries(DIRECT[0])]
    claimed = names.index("db direct.claim_due")
    assert names[claimed:] == [
        "db direct.claim_due",
        "db direct.recheck",
        "stripe create_intent",
        "db payments.settle",
    ]
