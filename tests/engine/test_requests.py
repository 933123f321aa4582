"""Everything that the engine sends is what Stripe takes in the version that it is sent with."""

from urllib.parse import unquote_plus

import stripe as official

from anchorhold.twin import Request
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.routes import match
from anchorhold.twin.world import SECRET_KEY
from tests.engine.lost import crashed, unknown
from tests.engine.rig import Rig, When
from tests.engine.stripe_side import (
    ACCOUNT_ITSELF,
    ATTACH,
    CANCEL,
    CONFIRM,
    CREATE,
    CUSTOMER,
    CUSTOMERS,
    EVENTS,
    LIST,
    RETRIEVE,
    AtStripe,
)
from tests.openapi import validate_request
from tests.sdk import strangers


async def test_every_request_of_the_engine_is_one_that_stripe_takes(world: Rig) -> None:
    sent: list[Request] = []
    world.transport.listeners.append(sent.append)
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    await lost_answers(world)
    await lost_rows(world)
    await a_refused_key(world)
    assert {judged(request) for request in sent} == {
        CUSTOMERS, CUSTOMER, ATTACH, CREATE, CONFIRM, CANCEL, RETRIEVE, LIST, EVENTS,
        ACCOUNT_ITSELF,
    }  # fmt: skip


def judged(request: Request) -> str:
    """The endpoint; AssertionError when Stripe knows none, or a parameter or a value not."""
    found = match(request.method, request.path)
    assert found is not None, request
    endpoint = f"{found.endpoint.method} {found.endpoint.template}"
    form = request.query or request.body.decode()
    assert strangers(endpoint, form) == set()
    validate_request(request.method, request.path, unquote_plus(form))
    assert request.header("stripe-version") == official.api_version
    return endpoint


async def lost_answers(world: Rig) -> None:
    """A payment and a wish for the customer are found by the sweep."""
    await unknown(world)
    await unknown(world, method="pm_card_authenticationRequired")
    await world.tick()


async def lost_rows(world: Rig) -> None:
    """Intents that no row knows: one is cancelled, one is another customer's by now."""
    await crashed(world, When.BEFORE)
    moved = await crashed(world, When.BEFORE)
    world.sql("UPDATE anchorhold.attempt SET intent_id = NULL")
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
    at = AtStripe(world)
    world.sql(
        """
        UPDATE anchorhold.stripe_customer SET stripe_customer_id = %s
         WHERE stripe_customer_id = %s
        """,
        at.client().customer()["id"],
        at.intent(moved)["customer"],
    )
    await world.tick()


async def a_refused_key(world: Rig) -> None:
    """The account is flagged, and asked whether it is accepted again."""
    world.twin.add_key(SECRET_KEY, state=KeyState.EXPIRED)
    await world.invoice()
    await world.charge_due()
    await world.tick()
    world.twin.add_key(SECRET_KEY)
    await world.tick()
