"""The flows whose every boundary is broken once, and how each has to end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anchorhold.domain.account import ChargeMode, SweepMode
from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.sweep import sweep
from anchorhold.engine.tick import tick
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.rig import Gate, Rig
from tests.engine.stripe_side import CONFIRM, CREATE, LIST, between, shows

VISA, DECLINED = "pm_card_visa", "pm_card_chargeCustomerFail"


Before = Callable[[Rig], Awaitable[object]]


@dataclass(frozen=True)
class Flow:
    """One way a charge can go. `run` is what passes the gate; `paid` is how it has to end."""

    name: str
    method: str
    fault: FaultKind | None
    paid: bool
    run: Callable[[Rig, Gate], Awaitable[object]]
    before: Before | None = None
    at: str = CONFIRM

    async def start(self, rig: Rig) -> InvoiceId:
        """The invoice is there, with the flow's fault armed."""
        invoice = await rig.invoice(method=self.method)
        if self.fault is not None:
            rig.twin.faults.replace([Rule(self.fault, self.at, calls=frozenset({1}))])
        if self.before is not None:
            await self.before(rig)
        return invoice


async def _directly(rig: Rig) -> None:
    await rig.charges(ChargeMode.DIRECT)


async def _adr(rig: Rig) -> None:
    await rig.charges(ChargeMode.DIRECT, SweepMode.ADR)


def _lost(kind: FaultKind, sweep: SweepMode = SweepMode.FENCE) -> Before:
    """A direct charge met this fault, and its hold has ended SWEEP_WAIT ago."""

    async def before(rig: Rig) -> None:
        await rig.charges(ChargeMode.DIRECT, sweep)
        rig.twin.faults.replace([Rule(kind, CREATE, calls=frozenset({1}))])
        await rig.charge_due()
        rig.twin.faults.replace([])
        rig.later(minutes=16)

    return before


def _replayed(method_faults: FaultKind) -> Before:
    """A direct charge was carried out and lost, and the list does not show it at first."""

    async def before(rig: Rig) -> None:
        await _lost(method_faults)(rig)
        nothing = shows({"object": "list", "data": [], "has_more": False})
        between(rig, (LIST, nothing))

    return before


async def _charge(rig: Rig, gate: Gate) -> None:
    await rig.charge_due(rig.deps(gate))


async def _sweep(rig: Rig, gate: Gate) -> None:
    await tick(rig.deps(gate), rig.scope)


async def _only_sweep(rig: Rig, gate: Gate) -> None:
    await sweep(rig.deps(gate), rig.scope)


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
"""Prepared charges."""

DIRECT = (
    Flow("a direct charge that is paid", VISA, None, True, _charge, _directly),
    Flow("a direct charge that is declined", DECLINED, None, False, _charge, _directly),
    Flow(
        "a direct charge whose answer is lost",
        VISA,
        FaultKind.DROPPED_AFTER,
        True,
        _charge,
        _directly,
        CREATE,
    ),
    Flow(
        "a direct charge that never arrives",
        VISA,
        FaultKind.DROPPED_BEFORE,
        True,
        _charge,
        _directly,
        CREATE,
    ),
    Flow(
        "a direct 500 with effect",
        VISA,
        FaultKind.ERROR_500_WITH_EFFECT,
        True,
        _charge,
        _directly,
        CREATE,
    ),
    Flow(
        "a direct 500 without effect",
        VISA,
        FaultKind.ERROR_500_WITHOUT_EFFECT,
        True,
        _charge,
        _directly,
        CREATE,
    ),
    Flow(
        "a direct charge without a fence",
        VISA,
        FaultKind.DROPPED_BEFORE,
        True,
        _charge,
        _adr,
        CREATE,
    ),
    Flow(
        "the fence of a charge that never ran",
        VISA,
        None,
        True,
        _only_sweep,
        _lost(FaultKind.DROPPED_BEFORE),
    ),
    Flow(
        "the fence of a charge that was paid",
        VISA,
        None,
        True,
        _only_sweep,
        _replayed(FaultKind.DROPPED_AFTER),
    ),
    Flow(
        "the fence of a charge that was declined",
        DECLINED,
        None,
        False,
        _only_sweep,
        _replayed(FaultKind.DROPPED_AFTER),
    ),
    Flow(
        "the fence of a saved 500",
        VISA,
        None,
        True,
        _only_sweep,
        _lost(FaultKind.ERROR_500_WITHOUT_EFFECT),
    ),
    Flow(
        "the sweep of a lost direct decline",
        DECLINED,
        None,
        False,
        _only_sweep,
        _lost(FaultKind.DROPPED_AFTER),
    ),
    Flow(
        "the sweep without a fence",
        VISA,
        None,
        True,
        _only_sweep,
        _lost(FaultKind.DROPPED_BEFORE, SweepMode.ADR),
    ),
)
"""Direct charges, and the sweep that fences them."""

ALL = (*FLOWS, *DIRECT)
