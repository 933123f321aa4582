"""Charges whose result was lost, each leaving a stale hold for the sweep."""

import contextlib

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.sweep import sweep
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CONFIRM, RETRIEVE


async def crashed(
    world: Rig, when: When, at: str = "stripe confirm_intent", method: str = "pm_card_visa"
) -> InvoiceId:
    """The owner died around this step, and its hold has ended since."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    await dies(world, when, at)
    return invoice


async def dies(world: Rig, when: When, at: str = "stripe confirm_intent") -> None:
    """A worker charges what is due, dies around this step, and the hold ends."""
    with contextlib.suppress(CrashError):
        await world.charge_due(world.deps(Gate(dies_at=(at, 1, when))))
    world.later(minutes=6)


async def unknown(
    world: Rig, kind: FaultKind = FaultKind.DROPPED_AFTER, method: str = "pm_card_visa"
) -> InvoiceId:
    """The confirm met this fault, the look at the intent failed, and the hold has ended since."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    world.twin.faults.replace(
        [
            Rule(kind, CONFIRM, frozenset({1}), seconds=3600),
            Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, frozenset({1})),
        ]
    )
    await world.charge_due()
    world.twin.faults.replace([])
    assert world.row(invoice)["payment_status"] == "unknown"
    world.later(minutes=6)
    return invoice


async def swept(world: Rig) -> dict[str, int]:
    """What one sweep decided, by row, with no news from Stripe beside it."""
    return (await sweep(world.deps(), world.scope)).rows


async def comes_to_rest(world: Rig, invoice: InvoiceId, status: str) -> None:
    """Everything comes to rest like this, without a hold."""
    await world.recover()
    row = world.row(invoice)
    assert (row["status"], row["hold_until"]) == (status, None)
    await standing_checks(world)


def written_off(world: Rig) -> None:
    """An operator wrote the invoice off, which a stale hold allows."""
    world.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")


def forget_intents(world: Rig) -> None:
    """The database lost every trace of the intents."""
    world.sql("UPDATE anchorhold.attempt SET intent_id = NULL")
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
