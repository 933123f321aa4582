"""However Stripe's news comes, or if none comes: every flow ends in the same state.

`make any-order` tells each flow in 60 ways, which is over 1,000 tellings; the suite in a few.
"""

import os
from typing import Any

import pytest
from psycopg import AsyncConnection

from tests.engine.rig import Rig
from tests.engine.tellings import FLOWS, Flow, order_of, telling, told

SEEDS = int(os.environ.get("ANCHORHOLD_TEST_ORDERS", "9"))
"""Ways in which each flow is told."""


async def alone(world: Rig, conn: AsyncConnection[Any]) -> dict[str, list[Any]]:
    """How the flow ends when every webhook is lost."""
    async with telling(world, conn) as quiet:
        await quiet.ticks(3)
        return await quiet.state()


@pytest.mark.parametrize("flow", FLOWS, ids=str)
async def test_case_c5_every_telling_ends_as_the_cursor_alone_ends(flow: Flow, world: Rig) -> None:
    await flow.happens(world)
    said = told(world)
    async with await AsyncConnection.connect(world.conninfo, options="-c timezone=UTC") as conn:
        expected = await alone(world, conn)
        for seed in range(SEEDS):
            async with telling(world, conn) as one:
                order = order_of(said, seed)
                await one.hears(order[: seed % 7])
                if seed % 3 == 0:
                    await one.ticks()
                await one.hears(order[seed % 7 :])
                await one.ticks(3)
                ended = await one.state()
            assert ended == expected, [(event.id, event.type) for event in order]
    assert told(world) == said, "the tellings did nothing at Stripe"


@pytest.mark.parametrize("flow", FLOWS, ids=str)
async def test_with_all_webhooks_off_one_tick_is_enough(flow: Flow, world: Rig) -> None:
    await flow.happens(world)
    world.later(minutes=10)
    await world.tick()
    (invoice,) = world.sql("SELECT status, payment_status FROM anchorhold.invoice")
    assert invoice == flow.ends
    payments = world.sql("SELECT amount_refunded, dispute FROM anchorhold.payment")
    assert payments == ([] if flow.refunded is None else [(flow.refunded, flow.dispute)])
