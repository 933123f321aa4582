"""Explaining reads and changes nothing; checking now does what the tick would do."""

from typing import Any

import pytest

from anchorhold.domain import following, sweep
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.charge import charge
from anchorhold.engine.explain import ACTS, check_now, explain
from anchorhold.store import holds
from anchorhold.twin import FaultKind, Rule
from tests.engine.rig import Rig

EVERYTHING = (
    "SELECT (SELECT jsonb_agg(i ORDER BY id) FROM anchorhold.invoice i),"
    " (SELECT jsonb_agg(a ORDER BY id) FROM anchorhold.attempt a),"
    " (SELECT count(*) FROM anchorhold.journal), (SELECT count(*) FROM anchorhold.payment)"
)


async def held(world: Rig, *, sent: bool = False) -> InvoiceId:
    """A worker took the hold and died, before it sent anything or after Stripe took the money."""
    invoice = await world.invoice()
    await world.prepare()
    deps = world.deps()
    (claim,) = await holds.claim_due(
        deps.db, world.scope, deps.timing, limit=1, actor="worker:dead"
    )
    if sent:
        await charge(deps, claim)
        world.sql(
            "UPDATE anchorhold.invoice SET status = 'open', payment_status = 'pending',"
            " paid_at = NULL, amount_paid = 0, hold_until = %s, hold_attempt = %s,"
            " charge_seq = 0, intent_id = %s",
            *(claim.token.hold_until, claim.token.attempt_id, claim.intent_id),
        )
        world.sql(
            "UPDATE anchorhold.attempt SET state = 'sending', ended_at = NULL, rule = NULL,"
            " charge_id = NULL, cause = NULL"
        )
        world.sql("UPDATE anchorhold.intent SET state = 'live', ended_at = NULL")
        world.sql("DELETE FROM anchorhold.payment")
    return invoice


def everything(world: Rig) -> list[Any]:
    return world.sql(EVERYTHING)


async def test_a_live_hold_shows_the_facts_and_no_rule(world: Rig) -> None:
    invoice = await held(world)
    seen = await explain(world.deps(), world.scope, invoice)
    assert (seen.standing.hold, seen.steps) == (HoldState.LIVE, ())
    assert [row.status.value for row in seen.intents] == ["requires_payment_method"]
    with pytest.raises(Refusal) as refused:
        await check_now(world.deps(), world.scope, invoice)
    assert refused.value.code is Code.HOLD_LIVE


@pytest.mark.parametrize(("sent", "rule"), [(False, "S8"), (True, "S1")])
async def test_a_stale_hold_shows_the_row_that_a_check_then_acts_by(
    world: Rig, *, sent: bool, rule: str
) -> None:
    invoice = await held(world, sent=sent)
    world.later(minutes=6)
    before = everything(world)
    seen = await explain(world.deps(), world.scope, invoice)
    assert [step.rule for step in seen.steps] == [rule]
    assert everything(world) == before
    step = await check_now(world.deps(), world.scope, invoice)
    assert step == seen.steps[0]
    assert world.row(invoice)["hold_until"] is None
    assert world.row(invoice)["status"] == ("paid" if sent else "open")


async def test_an_invoice_with_nothing_under_way_has_nothing_to_explain(world: Rig) -> None:
    invoice = await world.invoice()
    for act in (explain, check_now):
        with pytest.raises(Refusal) as refused:
            await act(world.deps(), world.scope, invoice)
        assert refused.value.code is Code.HOLD_NOT_FOUND
        with pytest.raises(Refusal) as refused:
            await act(world.deps(), world.scope, InvoiceId("inv_none"))
        assert refused.value.code is Code.INVOICE_NOT_FOUND


async def test_without_a_usable_key_the_explanation_says_so(world: Rig) -> None:
    invoice = await held(world)
    world.later(minutes=6)
    world.connected = False
    seen = await explain(world.deps(), world.scope, invoice)
    assert seen.unread == "Stripe is not connected"
    assert [step.rule for step in seen.steps] == ["S15"]


async def test_a_stripe_that_is_silent_ends_a_check_with_what_was_not_sent(world: Rig) -> None:
    invoice = await held(world)
    world.later(minutes=6)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, probability=1)])
    seen = await explain(world.deps(), world.scope, invoice)
    assert [step.rule for step in seen.steps] == ["S14"]
    with pytest.raises(Refusal) as refused:
        await check_now(world.deps(), world.scope, invoice)
    assert refused.value.code is Code.PROVIDER_UNAVAILABLE
    assert world.row(invoice)["hold_until"] is not None


async def followed(world: Rig) -> InvoiceId:
    """A bank debit is processing, and the invoice follows it."""
    invoice = await world.invoice()
    await world.charge_due()
    world.sql(
        "UPDATE anchorhold.invoice SET status = 'open', payment_status = 'processing',"
        " paid_at = NULL, amount_paid = 0, followed_intent_id = p.stripe_intent_id,"
        " intent_id = p.stripe_intent_id,"
        " followed_at = clock_timestamp() FROM anchorhold.payment p"
    )
    world.sql("DELETE FROM anchorhold.payment")
    return invoice


async def test_a_followed_intent_is_explained_by_the_followers_table(world: Rig) -> None:
    invoice = await followed(world)
    before = everything(world)
    seen = await explain(world.deps(), world.scope, invoice)
    assert (seen.standing.hold, [step.rule for step in seen.steps]) == (
        HoldState.FOLLOWING,
        ["F1"],
    )
    assert everything(world) == before
    with pytest.raises(Refusal) as refused:
        await check_now(world.deps(), world.scope, invoice)
    assert refused.value.code is Code.PAYMENT_IN_FLIGHT
    world.later(minutes=2)
    step = await check_now(world.deps(), world.scope, invoice)
    assert step is not None
    assert step.rule == "F1"
    assert world.row(invoice)["status"] == "paid"


def test_every_row_that_can_end_a_check_can_be_told() -> None:
    ids = [row.id for row in (*sweep.SWEEP, *following.FOLLOW)]
    assert sorted(ids) == sorted(ACTS)
