"""The auditor sees at Stripe what the rows do not say, and in the rows what Stripe did."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from anchorhold.sim import outside
from anchorhold.sim.auditor import Auditor
from anchorhold.sim.ground import Ground
from anchorhold.sim.labour import prepare, work
from anchorhold.sim.mode import Mode
from anchorhold.sim.moves import Move
from anchorhold.sim.residuals import Presumed, Success, residual
from anchorhold.sim.scheduler import Work
from anchorhold.sim.setting import Setting
from anchorhold.sim.turns import Asked, Fate
from anchorhold.sim.world import World, finished
from anchorhold.twin.world import SECRET_KEY

COMES = Move("comes")
Made = tuple[World, Auditor]


@pytest.fixture
def audited(ground: Ground) -> Made:
    """A world with one prepared invoice whose card pays, and its auditor."""
    auditor = Auditor()
    setting = Setting(1, Mode.PREPARED, ("pm_card_visa",), cold=True, rules=(), harms=0)
    world = World(ground, setting, auditor.leaving)
    auditor.world = world
    finished(world, world.begin())
    finished(world, prepare(world, "preparer", COMES))
    return world, auditor


def stop_before(world: World, work: Work, step: str) -> None:
    """Whoever works ends where it waits for this step."""
    found = work.send(None)
    while isinstance(found, Asked) or found.name != step:
        found = work.send(world.ground.answer(found) if isinstance(found, Asked) else Fate.GOES_ON)
    work.close()


def pay_at_stripe(world: World) -> None:
    """A success at Stripe for the invoice, on an intent of its own, that nobody here made."""
    customer = next(iter(world.twin.accounts[0].customers))["id"]
    said = outside.ask(
        world,
        "POST",
        "/v1/payment_intents",
        SECRET_KEY,
        amount=1000,
        currency="eur",
        customer=customer,
        payment_method="pm_card_visa",
        confirm="true",
        off_session="true",
        **{"metadata[anchorhold_invoice_id]": world.invoices[0]},
    )
    assert said == "done"


def found_in_the_end(audited: Made) -> list[str]:
    audited[1].judge()
    return audited[1].violations


def test_a_charged_invoice_is_sound(audited: Made) -> None:
    assert finished(audited[0], work(audited[0], "worker", COMES)) == "A1 paid"
    audited[1].look()
    assert found_in_the_end(audited) == []


def test_two_successes_are_seen_at_once(audited: Made) -> None:
    world, auditor = audited
    finished(world, work(world, "worker", COMES))
    pay_at_stripe(world)
    auditor.look()
    assert auditor.violations == ["I1: an invoice was paid twice"]


def test_a_success_that_nobody_recorded_is_seen(audited: Made) -> None:
    pay_at_stripe(audited[0])
    assert found_in_the_end(audited) == [
        "I2: 1 successes at Stripe, 0 payments recorded",
        "I2: an invoice that Stripe was paid for is open",
    ]


SPOILED: dict[str, Callable[[World], object]] = {
    "I2: 1 successes at Stripe, 0 payments recorded": lambda world: change(
        world, "DELETE FROM anchorhold.payment"
    ),
    "I3: a closed invoice can still be paid": lambda world: change(
        world, "UPDATE anchorhold.invoice SET status = 'uncollectible'"
    ),
    "I6: an attempt ended as not sent, and Stripe carried it out": lambda world: change(
        world, "UPDATE anchorhold.attempt SET state = 'not_sent'"
    ),
}


def change(world: World, statement: str) -> None:
    world.db.execute(
        f"{statement} WHERE account_id = %(account_id)s".encode(),
        {"account_id": world.scope.account_id},
    )


@pytest.mark.parametrize("violation", SPOILED)
def test_spoiled_rows_are_seen(audited: Made, violation: str) -> None:
    world, _ = audited
    if not violation.startswith("I3"):
        finished(world, work(world, "worker", COMES))
    SPOILED[violation](world)
    assert violation in found_in_the_end(audited)


def test_a_hold_that_is_left_is_seen(audited: Made) -> None:
    world, _ = audited
    charging = work(world, "worker", COMES)
    stop_before(world, charging, "confirm_intent")
    assert found_in_the_end(audited) == ["I5: a hold is left"]


def test_a_charge_without_a_trace_is_seen_as_it_leaves(audited: Made) -> None:
    world, auditor = audited
    (intent,) = outside.intents_of(world, world.invoices[0])
    auditor.leaving("a key", f"https://api.stripe.com/v1/payment_intents/{intent['id']}/confirm")
    assert auditor.violations == ["I9: a charge left without a committed trace"]


LATE = Success(carried_out=200_000, sent=0.0, presumed=Presumed(100_000.0, "presumed_none"))
OTHER = Success(carried_out=150_000, sent=150_000.0, presumed=None)


@pytest.mark.parametrize("mode", [Mode.DIRECT, Mode.ADR])
def test_r10_is_stated_where_a_presumed_charge_comes_after_its_day(mode: Mode) -> None:
    assert residual(mode, [OTHER, LATE]) == "R10"


def test_prepared_mode_states_nothing() -> None:
    assert residual(Mode.PREPARED, [OTHER, LATE]) is None


def test_r15_is_stated_by_adr_alone() -> None:
    early = replace(LATE, presumed=Presumed(600.0, "presumed_none"))
    assert residual(Mode.ADR, [OTHER, early]) == "R15"
    assert residual(Mode.DIRECT, [OTHER, early]) is None


@pytest.mark.parametrize(
    "successes",
    [
        [OTHER, OTHER],
        [OTHER, replace(LATE, presumed=Presumed(200_001.0, "presumed_none"))],
        [OTHER, replace(LATE, presumed=Presumed(100_000.0, "not_sent"))],
        [replace(OTHER, sent=200_010.0), LATE],
        [OTHER, OTHER, LATE],
    ],
    ids=["nothing presumed", "seen before", "not presumed", "sent although seen", "two others"],
)
def test_what_could_have_been_prevented_is_not_stated(successes: list[Success]) -> None:
    assert residual(Mode.ADR, successes) is None


def test_a_success_that_was_heard_and_not_saved_is_seen(audited: Made) -> None:
    world, auditor = audited
    charging = work(world, "worker", COMES)
    stop_before(world, charging, "confirm_intent: succeeded")
    auditor.look_for_unsaved("worker")
    assert auditor.violations == [
        "I2: a success was heard, its caller was cancelled, and it was not saved"
    ]
