"""The heart of the proof: whatever happens to an invoice, it ends right once the faults stop.

Random sequences of faults, crashes, frozen owners, clock steps, sweeps, Collects, page payments
and declines. ANCHORHOLD_TEST_STORIES=5000 tries more than the usual ones, each time others.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from anchorhold.twin.faults import FaultKind
from tests.engine.rig import rig
from tests.engine.standing import at_most_one_success
from tests.engine.stories import WAYS, Break, Fault, Life
from tests.engine.stripe_side import CANCEL, CONFIRM, CREATE, RETRIEVE

T = TypeVar("T")
USUAL = 100
STORIES = int(os.environ.get("ANCHORHOLD_TEST_STORIES", USUAL))
STEPS = 12

cards = st.sampled_from(["pays", "pays", "pays", "declines", "wants the customer"])
kinds = st.sampled_from([kind for kind in FaultKind if kind is not FaultKind.SLOW])
endpoints = st.sampled_from([CONFIRM, CONFIRM, CONFIRM, RETRIEVE, CANCEL, CREATE])
faults = st.none() | st.builds(Fault, kinds, endpoints)
breaks = st.none() | st.builds(Break, st.integers(1, 7), st.sampled_from(WAYS))
methods = st.sampled_from(
    ["pm_card_visa", "pm_card_chargeCustomerFail", "pm_card_threeDSecure2Required",
     "pm_success_de", "pm_failed_de"]
)  # fmt: skip
elsewhere = st.one_of(
    methods.map(lambda method: partial(Life.customer, method=method)),
    st.booleans().map(lambda passed: partial(Life.customer_returns, passed=passed)),
    cards.map(lambda card: partial(Life.card_changes, card=card)),
    st.sampled_from(
        [Life.banks_speak, Life.stripe_catches_up, Life.merchant_cancels, Life.merchant_refunds,
         Life.written_off]
    ),
)  # fmt: skip


class Stories(RuleBasedStateMachine):
    """Steps of one invoice's life, in any order."""

    database: ClassVar[Callable[[], str]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.context = rig(type(self).database())
        self.life = Life(self.run(self.context.__aenter__()))

    def run(self, work: Awaitable[T]) -> T:
        """The coroutine has come to its end; what raises tells the story."""

        async def go() -> T:
            return await work

        try:
            return self.runner.run(go())
        except Exception as error:
            if hasattr(self, "life"):
                error.add_note(f"The story:\n{self.life.told()}")
            raise

    @initialize(card=cards)
    def begins(self, card: str) -> None:
        self.run(self.life.begin(card))

    @rule(fault=faults, broken=breaks)
    def a_worker_charges(self, fault: Fault | None, broken: Break | None) -> None:
        self.life.stripe_fails(fault)
        self.run(self.life.work("worker", broken))

    @rule(fault=faults, broken=breaks)
    def an_operator_collects(self, fault: Fault | None, broken: Break | None) -> None:
        self.life.stripe_fails(fault)
        self.run(self.life.work("Collect", broken))

    @rule(fault=faults, broken=breaks)
    def a_tick_comes(self, fault: Fault | None, broken: Break | None) -> None:
        self.life.stripe_fails(fault)
        self.run(self.life.work("tick", broken))

    @precondition(lambda self: self.life.frozen)
    @rule()
    def one_thaws(self) -> None:
        self.run(self.life.thaw())

    @rule(minutes=st.sampled_from([1, 4, 6, 6, 31, 61, 1500]))
    def time_goes_by(self, minutes: int) -> None:
        self.life.time(minutes)

    @rule(step=elsewhere)
    def somebody_else_acts(self, step: Callable[[Life], None]) -> None:
        step(self.life)

    @invariant()
    def it_is_paid_at_most_once(self) -> None:
        at_most_one_success(self.life.world)

    @override
    def teardown(self) -> None:
        """The faults stop, and the end is judged."""
        try:
            if self.life.invoice:
                self.run(self.life.end())
        finally:
            self.runner.run(self.context.__aexit__(None, None, None))
            self.runner.close()


def test_every_story_ends_right(clear_database: Callable[[], str]) -> None:
    """At most one success at Stripe, every success recorded, no hold left, every CHECK kept."""
    Stories.database = staticmethod(clear_database)
    run_state_machine_as_test(
        Stories,
        settings=settings(
            max_examples=STORIES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=STORIES == USUAL,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_failure_is_told_as_a_story(clear_database: Callable[[], str]) -> None:
    Stories.database = staticmethod(clear_database)
    machine = Stories()
    machine.begins("pays")
    machine.a_worker_charges(None, Break(4, "dies after"))
    machine.time_goes_by(6)

    async def fails() -> None:
        raise AssertionError("a hold is left")

    with pytest.raises(AssertionError) as caught:
        machine.run(fails())
    (note,) = caught.value.__notes__
    assert "1. An invoice of a customer whose card pays." in note
    assert "dies after step 4" in note
    machine.teardown()
