"""Rows S13 to S15 through the engine: what could not be read, and what that keeps."""

import pytest

from anchorhold.domain.ids import InvoiceId
from tests.engine.left import journal, left
from tests.engine.lost import comes_to_rest, crashed, forget_intents, swept, unknown, written_off
from tests.engine.rig import Rig, When
from tests.engine.stripe_side import (
    RETRIEVE,
    AtStripe,
    Turn,
    between,
    refusal,
    unreadable,
)


async def test_s13_without_a_customer_at_stripe_nothing_was_charged(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE, at="db holds.recheck")
    forget_intents(world)
    world.sql("UPDATE anchorhold.stripe_customer SET payment_method = NULL")
    world.sql("UPDATE anchorhold.stripe_customer SET stripe_customer_id = NULL")
    assert await swept(world) == {"S13": 1}
    assert left(world, invoice).attempt == ("not_sent", "no_trace", "S13")
    assert left(world, invoice).seq == 0


SAYS_LATER = [
    refusal(500, type="api_error"),
    refusal(429, type="invalid_request_error", code="rate_limit"),
    refusal(409, type="invalid_request_error"),
    refusal(424, type="api_error"),
    unreadable(),
]


@pytest.mark.parametrize("answer", SAYS_LATER)
async def test_s14_a_read_that_may_succeed_later_keeps_the_hold(world: Rig, answer: Turn) -> None:
    invoice = await unknown(world)
    before = left(world, invoice)
    between(world, (RETRIEVE, answer))
    assert await swept(world) == {"S14": 1}
    assert left(world, invoice) == before
    assert journal(world, invoice)[-1] == ("hold.kept", "S14")
    assert await swept(world) == {}, "it is looked at again after half an hour"
    await comes_to_rest(world, invoice, "paid")


REFUSES = [
    refusal(401, type="invalid_request_error"),
    refusal(403, type="invalid_request_error"),
    refusal(404, type="invalid_request_error", code="resource_missing", param="intent"),
    refusal(400, type="invalid_request_error"),
]


@pytest.mark.parametrize("answer", REFUSES)
async def test_s15_a_refused_read_keeps_the_hold_and_is_loud(world: Rig, answer: Turn) -> None:
    invoice = await unknown(world)
    between(world, (RETRIEVE, answer))
    assert await swept(world) == {"S15": 1}
    assert is_loud(world, invoice)
    assert not left(world, invoice).free
    await comes_to_rest(world, invoice, "paid")


async def test_s15_a_mode_that_is_not_connected_any_more(world: Rig) -> None:
    invoice = await unknown(world)
    world.connected = False
    assert await swept(world) == {"S15": 1}
    assert is_loud(world, invoice)
    world.connected = True
    await comes_to_rest(world, invoice, "paid")


async def test_s15_another_stripe_account_than_the_attempts(world: Rig) -> None:
    invoice = await unknown(world)
    world.stripe_account = "acct_other"
    sent = len(world.twin.requests)
    assert await swept(world) == {"S15": 1}
    assert len(world.twin.requests) == sent, "it is not even asked"
    world.stripe_account = "acct_twin"
    await comes_to_rest(world, invoice, "paid")


async def test_s15_a_written_off_invoice_keeps_its_hold_too(world: Rig) -> None:
    invoice = await unknown(world)
    written_off(world)
    world.connected = False
    assert await swept(world) == {"S15": 1}
    assert not left(world, invoice).free
    world.connected = True
    await comes_to_rest(world, invoice, "paid")


async def test_s15_an_empty_list_of_a_deleted_customer_proves_nothing(world: Rig) -> None:
    invoice = await crashed(world, When.BEFORE)
    forget_intents(world)
    at = AtStripe(world)
    at.client().ask("DELETE", f"/v1/customers/{at.intent(invoice)['customer']}")
    assert await swept(world) == {"S15": 1}
    assert not left(world, invoice).free


def is_loud(world: Rig, invoice: InvoiceId) -> bool:
    """An error was logged about this invoice's hold."""
    return ("error", "sweep.refused", invoice) in {
        (level, event, facts.get("invoice")) for level, event, facts in world.log.lines
    }
