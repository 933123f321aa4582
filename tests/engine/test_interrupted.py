"""Deadline, cancelled caller and crash leave causes that can be told apart (section 4)."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from typing_extensions import override

from anchorhold.apart import OwnTasks
from anchorhold.domain.account import ChargeMode
from anchorhold.engine.charge import charge
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import journal, left
from tests.engine.lost_direct import SEND, comes_to_rest
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.stripe_side import CONFIRM, CREATE

T = TypeVar("T")
CONFIRMS = "stripe confirm_intent"


class Hanging(Gate):
    """Never comes back from one call, once Stripe has carried it out."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at
        self.reached = asyncio.Event()

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        result = await super().through(name, act)
        if name == self.at:
            self.reached.set()
            await asyncio.Event().wait()
        return result


MODES = pytest.mark.parametrize(
    ("mode", "at", "endpoint"),
    [(ChargeMode.PREPARED, CONFIRMS, CONFIRM), (ChargeMode.DIRECT, SEND, CREATE)],
    ids=["prepared", "direct"],
)


@MODES
async def test_a_cancelled_caller_leaves_its_cause_and_its_hold(
    world: Rig, mode: ChargeMode, at: str, endpoint: str
) -> None:
    await world.charges(mode)
    invoice = await world.invoice()
    await world.prepare()
    (claim,) = await world.claim_due()
    gate = Hanging(at)
    deps = replace(world.deps(gate), apart=OwnTasks())
    task = asyncio.create_task(charge(deps, claim))
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left(world, invoice).attempt == ("sending", "caller_cancelled", None)
    assert not left(world, invoice).free
    assert journal(world, invoice)[-1] == ("attempt.interrupted", None)
    await comes_to_rest(world, invoice, "paid")


@MODES
async def test_a_crash_leaves_nothing(world: Rig, mode: ChargeMode, at: str, endpoint: str) -> None:
    await world.charges(mode)
    invoice = await world.invoice()
    await world.prepare()
    deps = replace(world.deps(Gate(dies_at=(at, 1, When.AFTER))), apart=OwnTasks())
    with contextlib.suppress(CrashError):
        await world.charge_due(deps)
    assert left(world, invoice).attempt == ("sending", None, None)
    await comes_to_rest(world, invoice, "paid")


async def test_a_deadline_is_our_own_and_is_saved(direct: Rig) -> None:
    direct.timing = replace(direct.timing, deadline_auto_seconds=0.2)
    direct.twin.faults.replace([Rule(FaultKind.LATE, CREATE, frozenset({1}), seconds=60)])
    invoice = await direct.invoice()
    await direct.charge_due()
    assert left(direct, invoice).attempt[0] == "unknown"
    assert left(direct, invoice).attempt[1] in {"deadline", "connection_lost"}
    await comes_to_rest(direct, invoice, "paid")
