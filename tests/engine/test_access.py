"""Every cell of the hold table: each act, driven as it is used, in each state of the hold.

A test is named after its row and cell: `G6 void, stale`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from anchorhold.domain.access import ACCESS, Access, Action, access
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.closing import FinalAction
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.amend import amend
from anchorhold.engine.charge import charge
from anchorhold.engine.close import paid_elsewhere, void, write_off
from anchorhold.engine.final_action import final_action
from anchorhold.engine.page import PageState, open_page
from anchorhold.store import holds, invoices
from tests.engine.lost import crashed
from tests.engine.rig import Rig, When
from tests.engine.stripe_side import AtStripe

Run = Callable[[Rig, InvoiceId], Awaitable[Access]]


async def automatic(world: Rig, invoice: InvoiceId) -> Access:
    claims = await world.claim_due()
    await world.charge_all(claims)
    return Access.ALLOWED if claims else Access.SKIPPED


async def dunned(world: Rig, invoice: InvoiceId) -> Access:
    deps = world.deps()
    claim = await holds.claim(
        deps.db, world.scope, deps.timing, invoice, AttemptKind.DUNNING, actor=deps.actor
    )
    if claim is None:
        return Access.SKIPPED
    await charge(deps, claim)
    return Access.ALLOWED


async def scanned(world: Rig, invoice: InvoiceId) -> Access:
    """A scan that finds a hold counts no try; one that finds none goes on to the retry."""
    before = await _tries(world, invoice)
    met = await dunned(world, invoice)
    assert met is Access.ALLOWED or await _tries(world, invoice) == before
    return met


async def _tries(world: Rig, invoice: InvoiceId) -> int:
    standing = await invoices.standing(world.pool, world.scope, invoice)
    assert standing is not None
    return standing.tries


async def finished(world: Rig, invoice: InvoiceId) -> Access:
    done = await final_action(
        world.deps(), world.scope, invoice, FinalAction.MARK_UNCOLLECTIBLE, reason="dunned out"
    )
    return Access.ALLOWED if done else Access.SKIPPED


async def paged(world: Rig, invoice: InvoiceId) -> Access:
    page = await open_page(world.deps(), world.scope, invoice)
    return Access.ALLOWED if page.state is PageState.PAY else Access.CONFIRMING


def refusable(act: Callable[[Rig, InvoiceId], Awaitable[Any]]) -> Run:
    """An act whose no is a refusal with the next check in it."""

    async def run(world: Rig, invoice: InvoiceId) -> Access:
        try:
            done = await act(world, invoice)
        except Refusal as refusal:
            if refusal.code is not Code.PAYMENT_IN_FLIGHT or not refusal.facts["next_check_at"]:
                raise
            return Access.REFUSED
        keeps = getattr(done, "keeps_hold", False) and world.row(invoice)["hold_until"]
        return Access.ALLOWED_KEEPING_HOLD if keeps else Access.ALLOWED

    return run


ACTS: dict[Action, Run] = {
    Action.AUTO_CHARGE: automatic,
    Action.DUNNING_RETRY: dunned,
    Action.COLLECT: refusable(lambda world, invoice: world.collect(invoice)),
    Action.DUNNING_SCAN: scanned,
    Action.FINAL_ACTION: finished,
    Action.VOID: refusable(
        lambda world, invoice: void(world.deps(), world.scope, invoice, reason="twice")
    ),
    Action.PAID_ELSEWHERE: refusable(
        lambda world, invoice: paid_elsewhere(world.deps(), world.scope, invoice, reference="cash")
    ),
    Action.CREDIT_NOTE: refusable(
        lambda world, invoice: amend(
            world.deps(), world.scope, invoice, amount_due=5000, reason="late"
        )
    ),
    Action.WRITE_OFF: refusable(
        lambda world, invoice: write_off(world.deps(), world.scope, invoice, reason="gone")
    ),
    Action.HOSTED_PAGE: paged,
}


async def free(world: Rig) -> InvoiceId:
    invoice = await world.invoice()
    await world.prepare()
    return invoice


async def live(world: Rig) -> InvoiceId:
    invoice = await free(world)
    await world.claim_due()
    return invoice


async def stale(world: Rig) -> InvoiceId:
    return await crashed(world, When.BEFORE)


PARK = """
    UPDATE anchorhold.invoice SET payment_status = 'unknown', intent_id = NULL
"""


async def parked(world: Rig) -> InvoiceId:
    """An unclear answer that named no intent; the prepared mode has none, so it is written."""
    invoice = await stale(world)
    world.sql("UPDATE anchorhold.intent SET state = 'used_up'")
    world.sql(
        "UPDATE anchorhold.attempt SET state = 'unknown', intent_id = NULL,"
        " sent_at = claimed_at, idempotency_key = 'key', params = '{}'"
    )
    world.sql(PARK)
    return invoice


async def following(world: Rig) -> InvoiceId:
    invoice = await free(world)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    await world.charge_due()
    return invoice


@dataclass(frozen=True)
class State:
    """How to bring an invoice into a state of the hold."""

    hold: HoldState
    arrange: Callable[[Rig], Awaitable[InvoiceId]]


STATES = (
    State(HoldState.NONE, free),
    State(HoldState.LIVE, live),
    State(HoldState.STALE, stale),
    State(HoldState.PARKED, parked),
    State(HoldState.FOLLOWING, following),
)
CELLS = [
    pytest.param(row.action, state, id=f"{row.id} {row.action.value}, {state.hold.value}")
    for row in ACCESS
    for state in STATES
]


def test_every_row_and_every_state_has_its_cell() -> None:
    assert set(ACTS) == {row.action for row in ACCESS}
    assert {state.hold for state in STATES} == set(HoldState)


@pytest.mark.parametrize(("action", "state"), CELLS)
async def test_the_act_meets_what_the_table_says(world: Rig, action: Action, state: State) -> None:
    invoice = await state.arrange(world)
    standing = await invoices.standing(world.pool, world.scope, invoice)
    assert standing is not None
    assert standing.hold is state.hold
    before = world.row(invoice)
    met = await ACTS[action](world, invoice)
    assert met is access(action, state.hold)[1]
    if met in {Access.REFUSED, Access.SKIPPED, Access.CONFIRMING}:
        assert world.row(invoice) == before
    if met is Access.ALLOWED_KEEPING_HOLD:
        after = world.row(invoice)
        assert (after["status"], after["hold_until"]) == ("uncollectible", before["hold_until"])
