"""One charge under one fault, and how it has to end."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.charge import Charged
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    CONFIRM,
    Turn,
    between,
)


async def charge(
    world: Rig, *turns: tuple[str, Turn], method: str = "pm_card_visa", fault: Rule | None = None
) -> tuple[InvoiceId, Charged]:
    """One invoice is prepared, then charged while Stripe answers like this."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    between(world, *turns)
    world.twin.faults.replace([fault] if fault else [])
    (charged,) = await world.charge_due()
    return invoice, charged


def fails(kind: FaultKind, endpoint: str = CONFIRM) -> Rule:
    return Rule(kind, endpoint, calls=frozenset({1}))


async def ends(world: Rig, invoice: InvoiceId, *, paid: bool) -> None:
    """Recovery ends it, and the standing checks hold."""
    world.twin.faults.replace([])
    await world.recover()
    assert world.row(invoice)["status"] == ("paid" if paid else "open")
    assert world.paid_at_stripe().get(invoice, 0) == int(paid)
    await standing_checks(world)
