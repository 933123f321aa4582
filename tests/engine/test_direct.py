"""A direct charge: one call creates and confirms, and each answer to it is saved or parked."""

import pytest_asyncio

from anchorhold.domain.account import ChargeMode
from tests.engine.left import Left, left
from tests.engine.rig import Rig
from tests.engine.stripe_side import AtStripe


@pytest_asyncio.fixture(name="direct")
async def _direct(world: Rig) -> Rig:
    await world.charges(ChargeMode.DIRECT)
    return world


async def test_a_direct_charge_is_one_call_and_leaves_no_intent_row(direct: Rig) -> None:
    invoice = await direct.invoice()
    (charged,) = await direct.charge_due()
    assert (charged.rule, charged.saved) == ("A1", "paid")
    assert left(direct, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "A1"), None
    )
    assert AtStripe(direct).intents(invoice) == ["succeeded"]
