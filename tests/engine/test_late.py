"""What comes after its hold has ended: late answers, late charges, owners that thaw."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from typing_extensions import override

from anchorhold.domain.ids import InvoiceId
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import journal, left
from tests.engine.lost import dies, unknown
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CONFIRM, RETRIEVE, AtStripe, end_debits

T = TypeVar("T")


class Frozen(Gate):
    """A process that freezes behind one step and goes on when told to."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.arrived, self.thawed = asyncio.Event(), asyncio.Event()

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        result = await super().through(name, act)
        if name == self.name:
            self.arrived.set()
            await self.thawed.wait()
        return result


async def freezes(world: Rig, at: str) -> tuple[Frozen, "asyncio.Task[Any]"]:
    """The owner of a charge froze behind this step, and its hold has ended since."""
    gate = Frozen(at)
    owner = asyncio.create_task(world.charge_due(world.deps(gate)))
    await gate.arrived.wait()
    world.later(minutes=6)
    return gate, owner


async def thaws(gate: Frozen, owner: "asyncio.Task[Any]") -> Any:
    """The owner goes on to its end; what its charge came to."""
    gate.thawed.set()
    return (await owner)[-1]


async def prepared(world: Rig, method: str = "pm_card_visa") -> InvoiceId:
    invoice = await world.invoice(method=method)
    await world.prepare()
    return invoice


async def test_an_owner_that_thaws_after_its_claim_was_cleared_sends_nothing(world: Rig) -> None:
    invoice = await prepared(world)
    gate, owner = await freezes(world, "db holds.claim_due")
    assert (await world.tick()).swept.rows == {"S8": 1}
    charged = await thaws(gate, owner)
    assert (charged.rule, charged.saved) == ("R1", None)
    assert AtStripe(world).charges(invoice) == []
    await world.recover()
    await standing_checks(world)


async def test_a_late_success_of_the_owner_is_recorded(world: Rig) -> None:
    """The sweep looked before the charge could be seen, and cleared the hold."""
    invoice = await prepared(world)
    gate, owner = await freezes(world, "stripe confirm_intent")
    supersede(world)
    charged = await thaws(gate, owner)
    assert charged.saved == "paid"
    assert left(world, invoice).attempt == ("succeeded", "answered", "A1")
    await standing_checks(world)


async def test_a_success_that_the_owner_looked_up_too_late_is_recorded(world: Rig) -> None:
    await prepared(world)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_AFTER, CONFIRM, calls=frozenset({1}))])
    gate, owner = await freezes(world, "stripe retrieve_intent")
    supersede(world)
    assert (await thaws(gate, owner)).saved == "paid"
    await standing_checks(world)


async def test_a_late_decline_of_the_owner_counts_and_touches_nothing_else(world: Rig) -> None:
    invoice = await prepared(world, "pm_card_chargeCustomerFail")
    gate, owner = await freezes(world, "stripe confirm_intent")
    supersede(world)
    before = world.row(invoice)
    charged = await thaws(gate, owner)
    assert charged.saved == "failed"
    assert left(world, invoice).attempt == ("failed", "answered", "A7")
    assert world.row(invoice) == before
    assert journal(world, invoice)[-1] == ("attempt.failed", "A7")


async def test_a_late_decline_counts_while_the_next_attempt_holds_the_invoice(world: Rig) -> None:
    invoice = await prepared(world, "pm_card_chargeCustomerFail")
    gate, owner = await freezes(world, "stripe confirm_intent")
    supersede(world)
    (claim,) = await world.claim_due()
    await thaws(gate, owner)
    assert world.attempts(invoice) == [("failed", "answered"), ("claimed", None)]
    assert world.row(invoice)["hold_attempt"] == claim.token.attempt_id
    await world.recover()
    await standing_checks(world)


async def test_a_late_decline_on_a_written_off_invoice_leaves_its_hold_to_the_sweep(
    world: Rig,
) -> None:
    invoice = await prepared(world, "pm_card_chargeCustomerFail")
    gate, owner = await freezes(world, "stripe confirm_intent")
    world.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")
    assert (await thaws(gate, owner)).saved == "failed"
    assert not left(world, invoice).free
    await world.recover()
    assert left(world, invoice).free
    assert left(world, invoice).attempt[0] == "failed"
    assert AtStripe(world).intents(invoice) == ["canceled"]
    await standing_checks(world)


async def test_a_decline_is_counted_once(world: Rig) -> None:
    invoice = await prepared(world, "pm_card_chargeCustomerFail")
    gate, owner = await freezes(world, "stripe confirm_intent")
    assert (await world.tick()).swept.rows == {"S7": 1}
    assert (await thaws(gate, owner)).saved is None
    assert world.attempts(invoice) == [("failed", "answered")]
    assert journal(world, invoice)[-1] == ("attempt.failed", "S7")


async def test_an_owner_that_thaws_beside_a_sweep_that_settled_changes_nothing(world: Rig) -> None:
    invoice = await prepared(world)
    gate, owner = await freezes(world, "stripe confirm_intent")
    assert (await world.tick()).swept.rows == {"S1": 1}
    before = world.row(invoice)
    assert (await thaws(gate, owner)).saved == "known"
    assert world.row(invoice) == before
    await standing_checks(world)


@pytest.mark.parametrize("seconds", [240, 10_000])
async def test_a_confirm_that_stripe_carries_out_after_two_attempts_is_found(
    world: Rig, seconds: int
) -> None:
    """Nobody charges the invoice any more (S8 twice), and no webhook comes: it is looked for."""
    invoice = await unknown(world, FaultKind.LATE)
    assert (await world.tick()).swept.rows == {"S8": 1}
    await dies(world, When.BEFORE)
    assert (await world.tick()).swept.rows == {"S8": 1}
    assert left(world, invoice).payment_status == "failed"
    assert world.twin.run_late() == 1
    world.later(seconds=seconds + 60)
    assert (await world.tick()).watched == {"W1": 1}
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_a_late_debit_is_followed(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    await world.tick()
    world.sql("UPDATE anchorhold.invoice SET payment_status = 'failed'")
    AtStripe(world).page_debits(invoice, "pm_success_de")
    world.later(minutes=2)
    assert (await world.tick()).watched == {"W2": 1}
    row = world.row(invoice)
    assert (row["payment_status"], row["followed_intent_id"]) == ("processing", row["intent_id"])
    assert journal(world, invoice)[-1] == ("following.began", "W2")
    end_debits(world)
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def superseded_and_failed(world: Rig) -> InvoiceId:
    """Nobody charges the invoice any more, and a charge of it may still come."""
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    await world.tick()
    world.sql("UPDATE anchorhold.invoice SET payment_status = 'failed'")
    return invoice


async def test_w3_a_debit_on_a_written_off_invoice_is_waited_for(world: Rig) -> None:
    invoice = await superseded_and_failed(world)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    world.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")
    world.later(minutes=2)
    assert (await world.tick()).watched == {"W3": 1}
    end_debits(world)
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_w4_an_intent_cancelled_at_stripe_makes_room_for_the_next(world: Rig) -> None:
    invoice = await superseded_and_failed(world)
    AtStripe(world).cancel(invoice)
    world.later(minutes=2)
    assert (await world.tick()).watched == {"W4": 1}
    assert (world.row(invoice)["intent_id"], left(world, invoice).intent) == (None, "canceled")
    assert (await world.collect(invoice)).saved == "paid"
    await standing_checks(world)


async def test_w5_a_payable_one_is_looked_at_less_and_less_often(world: Rig) -> None:
    await superseded_and_failed(world)
    looks = 0
    for _ in range(48):
        world.later(hours=1)
        looks += sum((await world.tick()).watched.values())
    assert 5 <= looks <= 12
    world.later(days=30)
    assert (await world.tick()).watched == {}, "after 30 days it is an orphan of nobody"


async def test_w6_a_written_off_invoice_does_not_stay_payable(world: Rig) -> None:
    invoice = await superseded_and_failed(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'uncollectible'")
    world.later(minutes=2)
    assert (await world.tick()).watched == {"W6": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    await world.recover()
    assert left(world, invoice).intent == "canceled"
    await standing_checks(world)


async def test_w0_no_answer_is_waited_out(world: Rig) -> None:
    await superseded_and_failed(world)
    world.later(minutes=2)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, calls=frozenset({1}))])
    assert (await world.tick()).watched == {"W0": 1}
    world.later(minutes=2)
    assert (await world.tick()).watched == {"W5": 1}


async def test_a_slow_answer_beyond_the_hold_is_given_up_and_found(world: Rig) -> None:
    invoice = await prepared(world)
    world.twin.faults.replace([Rule(FaultKind.SLOW, CONFIRM, frozenset({1}), seconds=400)])
    (charged,) = await world.charge_due()
    assert charged.saved == "paid", "the look at the intent found it"
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


def supersede(world: Rig) -> None:
    """What a sweep leaves that saw no charge of the attempt."""
    world.sql(
        "UPDATE anchorhold.attempt SET state = 'superseded', cause = 'no_trace', rule = 'S8', "
        "ended_at = anchorhold.now()"
    )
    world.sql(
        "UPDATE anchorhold.invoice SET hold_until = NULL, hold_attempt = NULL, "
        "charge_seq = charge_seq + 1"
    )
