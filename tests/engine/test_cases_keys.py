"""Faults from the field, groups B and M: idempotency keys, limits, locks."""

import pytest

from anchorhold.twin.faults import FaultKind
from anchorhold.twin.instruments import BY_LITERAL
from tests.engine.charging import charge, ends, fails
from tests.engine.left import left, notices
from tests.engine.lost import unknown
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CONFIRM, CREATE, AtStripe, refusal, sent_by


def keys(world: Rig) -> list[str | None]:
    """The keys of all confirms, oldest first."""
    return [e.idempotency_key for e in world.twin.requests if e.path.endswith("/confirm")]


async def test_case_b1_another_card_is_another_attempt_with_another_key(world: Rig) -> None:
    invoice, _ = await charge(world, method="pm_card_chargeCustomerFail")
    at = AtStripe(world)
    customer = at.intent(invoice)["customer"]
    card = at.client().done("/v1/payment_methods/pm_card_visa/attach", customer=customer)["id"]
    world.sql("UPDATE anchorhold.stripe_customer SET payment_method = %s", card)
    assert (await world.collect(invoice)).saved == "paid"
    assert len(set(keys(world))) == 2
    assert 400 not in [e.status for e in world.twin.requests]
    await standing_checks(world)


async def test_case_b1_another_amount_is_another_intent(world: Rig) -> None:
    invoice = await world.invoice()
    world.twin.faults.replace([fails(FaultKind.DROPPED_AFTER, CREATE)])
    await world.prepare()
    world.sql("UPDATE anchorhold.invoice SET amount_due = 5000")
    await ends(world, invoice, paid=True)
    assert 400 not in [e.status for e in world.twin.requests]
    assert world.sql("SELECT amount FROM anchorhold.payment") == [(5000,)]


async def test_case_b2_a_key_error_is_no_decline(world: Rig) -> None:
    invoice, charged = await charge(world, (CONFIRM, refusal(400, type="idempotency_error")))
    assert charged.rule == "A9"
    assert left(world, invoice).payment_status == "pending"
    assert notices(world) == []
    await ends(world, invoice, paid=True)


async def test_case_b5_a_card_with_money_again_is_really_asked_again(world: Rig) -> None:
    invoice, _ = await charge(world, method="pm_card_chargeCustomerFail")
    for hidden in AtStripe(world).account.hidden.values():
        hidden.instrument = BY_LITERAL["pm_card_visa"]
    assert (await world.collect(invoice)).saved == "paid"
    assert AtStripe(world).charges(invoice) == ["failed", "succeeded"]
    await standing_checks(world)


@pytest.mark.parametrize("kind", [FaultKind.REFUSED, FaultKind.RATE_LIMIT])
async def test_case_b8_the_same_attempt_number_keeps_its_key(world: Rig, kind: FaultKind) -> None:
    invoice, _ = await charge(world, fault=fails(kind))
    await ends(world, invoice, paid=True)
    assert len(keys(world)) == 2
    assert len(set(keys(world))) == 1


async def test_case_b9_a_day_later_stripe_is_asked_before_anything_is_sent(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    world.later(hours=25)
    sent = len(world.twin.requests)
    old = set(keys(world))
    await world.tick()
    await world.charge_due()
    after = world.twin.requests[sent:]
    assert after[0].method == "GET"
    assert old.isdisjoint({entry.idempotency_key for entry in after})
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_case_b9_a_success_under_a_pruned_key_is_found_and_not_repeated(world: Rig) -> None:
    invoice = await unknown(world)
    world.later(hours=25)
    await world.recover()
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


async def test_case_m1_a_locked_object_is_no_decline(world: Rig) -> None:
    invoice, charged = await charge(world, fault=fails(FaultKind.LOCK_TIMEOUT))
    assert charged.rule == "A13"
    assert left(world, invoice).payment_status == "pending"
    assert not left(world, invoice).free
    await ends(world, invoice, paid=True)
    assert "failed" not in {state for state, _ in world.attempts(invoice)}


async def test_case_m2_a_429_to_the_first_send_is_repeated_with_the_same_key(world: Rig) -> None:
    bodies = sent_by(world, CONFIRM)
    invoice, charged = await charge(world, fault=fails(FaultKind.RATE_LIMIT))
    assert charged.saved == "not_sent"
    await ends(world, invoice, paid=True)
    assert len({(sent.body, sent.header("idempotency-key")) for sent in bodies}) == 1
