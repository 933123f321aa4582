"""The flows whose every boundary is broken once, and how each has to end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.tick import tick
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.rig import Gate, Rig

CONFIRM = "POST /v1/payment_intents/{id}/confirm"


@dataclass(frozen=True)
class Flow:
    """One way a charge can go. `run` is what passes the gate; `paid` is how it has to end."""

    name: str
    method: str
    fault: FaultKind | None
    paid: bool
    run: Callable[[Rig, Gate], Awaitable[object]]
    before: Callable[[Rig], Awaitable[object]] | None = None

    async def start(self, rig: Rig) -> InvoiceId:
        """The invoice is there, with the flow's fault armed."""
        invoice = await rig.invoice(method=self.method)
        if self.fault is not None:
            rig.twin.faults.replace([Rule(self.fault, CONFIRM, calls=frozenset({1}))])
        if self.before is not None:
            await self.before(rig)
        return invoice


async def _charge(rig: Rig, gate: Gate) -> None:
    await rig.charge_due(rig.deps(gate))


async def _sweep(rig: Rig, gate: Gate) -> None:
    await tick(rig.deps(gate), rig.scope)


async def _charge_unclear(rig: Rig) -> None:
    """The confirm has its effect, and neither its answer nor the look at the intent comes."""
    rig.twin.faults.replace(
        [
            Rule(FaultKind.DROPPED_AFTER, CONFIRM, calls=frozenset({1})),
            Rule(FaultKind.DROPPED_BEFORE, "GET /v1/payment_intents/{id}", calls=frozenset({1})),
        ]
    )
    await rig.charge_due()
    rig.later(minutes=6)


FLOWS = (
    Flow("a charge that is paid", "pm_card_visa", None, True, _charge),
    Flow("a charge that is declined", "pm_card_chargeCustomerFail", None, False, _charge),
    Flow(
        "a charge that needs the customer", "pm_card_authenticationRequired", None, False, _charge
    ),
    Flow("a charge whose answer is lost", "pm_card_visa", FaultKind.DROPPED_AFTER, True, _charge),
    Flow("a charge that never arrives", "pm_card_visa", FaultKind.DROPPED_BEFORE, True, _charge),
    Flow("a 500 with effect", "pm_card_visa", FaultKind.ERROR_500_WITH_EFFECT, True, _charge),
    Flow("a 500 without effect", "pm_card_visa", FaultKind.ERROR_500_WITHOUT_EFFECT, True, _charge),
    Flow("the sweep of a lost payment", "pm_card_visa", None, True, _sweep, _charge_unclear),
    Flow(
        "the sweep of a lost decline",
        "pm_card_chargeCustomerFail",
        None,
        False,
        _sweep,
        _charge_unclear,
    ),
)
