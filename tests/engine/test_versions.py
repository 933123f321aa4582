"""What Stripe tells in the shapes of three API versions comes to the same end (cases N1 and N2).

An endpoint keeps the version that it was made with. Source: Stripe's API changelog. 2022-11-15 put
`latest_charge` where the list `charges` had been; 2024-10-28.acacia sends `refund.*` for every
refund, which before had `charge.refunded` and `charge.refund.updated` alone; `context` came with
2025-04-30.basil.
"""

from collections.abc import Callable
from typing import Any

import pytest

from anchorhold.domain.event import StripeEvent
from anchorhold.stripe import views
from anchorhold.twin import acts
from tests.engine.rig import Rig
from tests.engine.stripe_side import AtStripe
from tests.engine.test_news import hears, offered

Obj = dict[str, Any]
NEW_REFUNDS = {"refund.created", "refund.updated", "refund.failed"}


def of_2020_08_27(event: Obj) -> Obj | None:
    """A PaymentIntent lists its charges, and refunds of charges have no event of their own."""
    if event["type"] in NEW_REFUNDS:
        return None
    held = dict(event["data"]["object"])
    if held["object"] == "payment_intent":
        newest = held.pop("latest_charge")
        rows = [{"id": newest, "object": "charge"}] if newest else []
        held["charges"] = {"object": "list", "data": rows, "has_more": False}
    return {**event, "api_version": "2020-08-27", "data": {"object": held}}


def of_2024_06_20(event: Obj) -> Obj | None:
    """Refunds of charges have no event of their own yet."""
    if event["type"] in NEW_REFUNDS:
        return None
    return {**event, "api_version": "2024-06-20"}


def of_today(event: Obj) -> Obj | None:
    """With the field that came last."""
    return {**event, "context": None}


VERSIONS = (of_2020_08_27, of_2024_06_20, of_today)
Shape = Callable[[Obj], Obj | None]


def told_as(world: Rig, shape: Shape) -> list[StripeEvent]:
    """What Stripe has to tell, in this version's shape."""
    shaped = [shape(dict(event)) for event in AtStripe(world).account.events]
    return [views.news(event) for event in shaped if event is not None]


@pytest.mark.parametrize("shape", VERSIONS)
async def test_case_n1_payments_refunds_and_disputes_are_read_in_any_shape(
    shape: Shape, world: Rig
) -> None:
    invoice = await offered(world)
    at = AtStripe(world)
    at.page_confirms(invoice)
    at.refund(invoice, 4900)
    acts.open_dispute(world.twin, at.intent(invoice)["latest_charge"])
    await hears(world, *told_as(world, shape))
    payments = world.sql("SELECT amount, amount_refunded, dispute FROM anchorhold.payment")
    assert payments == [(14900, 4900, "open")]
    assert world.row(invoice)["status"] == "paid"


@pytest.mark.parametrize("shape", VERSIONS)
async def test_case_n2_a_success_needs_no_charge_to_be_known(shape: Shape, world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    sent = len(world.twin.requests)
    await hears(world, *told_as(world, shape))
    ((charge,),) = world.sql("SELECT charge_id FROM anchorhold.payment")
    newest = AtStripe(world).intent(invoice)["latest_charge"]
    assert charge == (None if shape is of_2020_08_27 else newest)
    assert len(world.twin.requests) == sent, "the event says it all"


async def test_a_request_that_is_only_an_id_carries_no_key(world: Rig) -> None:
    """Before 2017-05-25 an event named its request by the id alone."""
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    for event in AtStripe(world).account.events:
        assert views.news({**event, "request": "req_1"}).idempotency_key is None
