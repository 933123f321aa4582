"""Direct charges whose result was lost, each leaving a hold for the sweep."""

import contextlib

from anchorhold.domain.ids import InvoiceId
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.stripe_side import CREATE, Turn, between, sent_by

WAIT_MINUTES = 16
"""Hold and SWEEP_WAIT are over."""
SEND = "stripe create_intent"


async def crashed(
    world: Rig, when: When, at: str = SEND, method: str = "pm_card_visa"
) -> InvoiceId:
    """The owner died around this step, and its hold has ended SWEEP_WAIT ago."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    with contextlib.suppress(CrashError):
        await world.charge_due(world.deps(Gate(dies_at=(at, 1, when))))
    world.later(minutes=WAIT_MINUTES)
    return invoice


async def unclear(
    world: Rig, kind: FaultKind, method: str = "pm_card_visa", *, seconds: float = 3600
) -> InvoiceId:
    """The create met this fault, and the hold has ended SWEEP_WAIT ago."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    world.twin.faults.replace([Rule(kind, CREATE, frozenset({1}), seconds=seconds)])
    await world.charge_due()
    world.twin.faults.replace([])
    world.later(minutes=WAIT_MINUTES)
    return invoice


async def answered(
    world: Rig, *turns: Turn, method: str = "pm_card_visa", invoice: InvoiceId | None = None
) -> InvoiceId:
    """The first creates get these answers."""
    made = invoice or await world.invoice(method=method)
    await world.prepare()
    between(world, *((CREATE, turn) for turn in turns))
    await world.charge_due()
    return made


def creates(world: Rig) -> list[bool]:
    """From now on: for each create that is sent, whether it confirms."""
    confirms: list[bool] = []
    seen = sent_by(world, CREATE)
    world.transport.listeners.append(
        lambda request: (
            seen
            and seen[-1] is request
            and confirms.append(b"confirm=true" in request.body.lower())
        )
    )
    return confirms


def a_day_later(world: Rig) -> None:
    """Hold and PARKED_WAIT are over."""
    world.later(hours=24, minutes=6)


async def comes_to_rest(world: Rig, invoice: InvoiceId, status: str) -> None:
    """Everything comes to rest like this, without a hold, within a day and a bit."""
    await world.recover(2)
    a_day_later(world)
    await world.recover(3)
    row = world.row(invoice)
    assert (row["status"], row["hold_until"]) == (status, None), world.attempts(invoice)
