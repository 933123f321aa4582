"""Cases from the field about news: races, receipts, amounts received, 3DS and currencies."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.event import StripeEvent
from anchorhold.store import events
from tests.engine.left import journal, notices
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CREATE, AtStripe, between, refusal
from tests.engine.test_news import acts_waiting, hears, offered, told

T = TypeVar("T")

PUT_ASIDE = """
    CREATE TEMP TABLE aside AS SELECT * FROM anchorhold.invoice;
    CREATE TEMP TABLE aside_intent AS SELECT * FROM anchorhold.intent;
    DELETE FROM anchorhold.intent; DELETE FROM anchorhold.invoice
"""
BROUGHT_BACK = """
    INSERT INTO anchorhold.invoice SELECT * FROM aside;
    INSERT INTO anchorhold.intent SELECT * FROM aside_intent
"""


async def test_case_c1_an_event_that_is_faster_than_our_commit_is_kept_and_ends_paid(
    world: Rig,
) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    world.by_hand.execute(PUT_ASIDE.encode())
    assert await hears(world, *told(world, "payment_intent.succeeded")) == ["N0"]
    world.by_hand.execute(BROUGHT_BACK.encode())
    world.later(minutes=2)
    assert await acts_waiting(world) == {"N1": 1}
    assert world.row(invoice)["status"] == "paid"


async def test_case_c9_all_that_stripe_tells_of_one_charge_is_one_receipt(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    said = told(world)
    await hears(world, *said, *said, *(replace(one, id=f"{one.id}_2") for one in said))
    assert [what for what, _ in journal(world, invoice)].count("payment.paid") == 1


async def test_case_c11_who_finds_no_owner_at_the_moment_of_a_success_does_not_win(
    world: Rig,
) -> None:
    """One handler gives the event up while another settles from it: settled stays."""
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    await hears(world, said)
    assert await events.unmatched(world.pool, world.scope, said.id) is None
    again = replace(said, id="evt_2")
    await asyncio.gather(hears(world, again), events.unmatched(world.pool, world.scope, again.id))
    world.later(minutes=2)
    await acts_waiting(world)
    assert world.sql("SELECT DISTINCT state FROM anchorhold.event") == [("done",)]
    assert world.row(invoice)["status"] == "paid"


class Stopped(Gate):
    """The process is asked to end right after the payment was recorded."""

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        result = await act()
        if name == "db payments.settle":
            raise asyncio.CancelledError
        return result


async def test_case_c12_a_handler_that_is_stopped_in_the_middle_is_followed_by_another(
    world: Rig,
) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    said = told(world, "payment_intent.succeeded")
    with pytest.raises(asyncio.CancelledError):
        await hears(world, *said, gate=Stopped())
    world.later(minutes=2)
    assert await acts_waiting(world) == {"N1": 1}
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    assert world.row(invoice)["status"] == "paid"


async def test_case_d4_an_event_that_waited_two_hours_is_no_worse(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    with pytest.raises(CrashError):
        await hears(
            world,
            *told(world, "payment_intent.succeeded"),
            gate=Gate(dies_at=("db events.match", 1, When.BEFORE)),
        )
    world.later(hours=2)
    assert await acts_waiting(world) == {"N1": 1}
    assert world.row(invoice)["status"] == "paid"


async def test_case_e6_what_was_received_is_recorded_and_not_what_was_asked(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    part: StripeEvent = replace(said, summary={**said.summary, "amount_received": 10_000})
    await hears(world, part)
    assert world.sql("SELECT amount FROM anchorhold.payment") == [(10_000,)]
    row = world.row(invoice)
    assert (row["status"], row["amount_paid"], row["collection"]) == ("open", 10_000, "manual")
    assert notices(world) == ["payment.amount_mismatch"]


async def test_case_f1_a_bank_that_wants_to_ask_leaves_no_endless_hold(world: Rig) -> None:
    invoice = await world.invoice(method="pm_card_authenticationRequired")
    await world.charge_due()
    row = world.row(invoice)
    assert (row["hold_until"], row["payment_status"]) == (None, "failed")
    assert row["blocked_reason"] == "customer_action", "the page's link is for that"
    for _ in range(3):
        world.later(days=1)
        await world.tick()
        assert await world.charge_due() == [], "nobody tries it again by himself"
    AtStripe(world).page_confirms(invoice)
    await hears(world, *told(world, "payment_intent.succeeded"))
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


@pytest.mark.parametrize(
    ("currency", "amount"), [("jpy", 5000), ("kwd", 1230), ("eur", 1999), ("isk", 50000)]
)
async def test_case_g4_charge_payment_and_refund_agree_in_each_currency(
    currency: str, amount: int, world: Rig
) -> None:
    invoice = await world.invoice(amount=amount, currency=currency)
    await world.charge_due()
    AtStripe(world).refund(invoice)
    await world.tick()
    intent = AtStripe(world).intent(invoice)
    (given,) = AtStripe(world).account.refunds
    assert (intent["amount"], given["amount"], given["currency"]) == (amount, amount, currency)
    payments = world.sql("SELECT amount, amount_refunded, currency FROM anchorhold.payment")
    assert payments == [(amount, amount, currency)]


async def test_case_g6_too_small_for_stripe_is_blocked_once_and_never_looped(world: Rig) -> None:
    """The minimum counts after the conversion into the currency of the settlement."""
    invoice = await world.invoice(amount=60, currency="usd")
    small = refusal(
        400, type="invalid_request_error", code="amount_too_small", message="Too small."
    )
    between(world, (CREATE, small))
    await world.prepare()
    assert notices(world) == ["collection.blocked"]
    assert world.row(invoice)["blocked_reason"] == "setup"
    for _ in range(3):
        world.later(hours=2)
        await world.tick()
        await world.charge_due()
    assert notices(world) == ["collection.blocked"]
    assert AtStripe(world).intents(invoice) == []
