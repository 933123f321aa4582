"""Dunning over a real database and the twin: a run's whole life, and who else may be at it."""

import asyncio
from dataclasses import replace

import pytest

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.refusals import Refusal
from anchorhold.engine.dunning import NOT_SENT, Stopped, dun
from anchorhold.store import dunning
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.dunned import (
    DAILY,
    DECLINES,
    declined,
    declined_as,
    new_card,
    no,
    pass_,
    policy,
    run,
    runs,
    steps,
)
from tests.engine.left import journal
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import CANCEL, CONFIRM, AtStripe, between, refusal
from tests.engine.test_together import Turns


async def test_without_a_policy_nothing_is_tried_again(world: Rig) -> None:
    invoice = await declined(world)
    assert (await pass_(world)).opened == 0
    world.later(days=30)
    await world.tick()
    assert runs(world) == 0
    assert len(world.attempts(invoice)) == 1


async def test_each_decline_is_followed_by_the_policys_next_wait_and_then_by_its_end(
    world: Rig,
) -> None:
    await policy(world)
    invoice = await declined(world)
    assert (await pass_(world)).opened == 1
    for wait_h, came in ((24, {"declined": 1}), (72, {"declined": 1}),
                         (120, {"declined": 1, "done": 1})):  # fmt: skip
        assert (run(world, invoice).next_step, run(world, invoice).wait_h) == ("retry", wait_h)
        world.later(hours=wait_h, minutes=-1)
        assert not (await pass_(world)).steps
        world.later(minutes=2)
        assert (await pass_(world)).steps == came
    assert world.row(invoice)["status"] == "uncollectible"
    assert run(world, invoice).outcome == "written_off"
    assert steps(world, invoice) == [("retry", "declined")] * 3 + [("final", "done")]
    world.later(days=30)
    assert not (await pass_(world)).steps
    await standing_checks(world)


async def test_a_retry_that_is_paid_ends_the_run_in_the_same_commit(world: Rig) -> None:
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    await pass_(world)
    world.later(days=1)
    assert (await pass_(world)).steps == {"paid": 1}
    assert run(world, invoice).outcome == "recovered"
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    told = [what for what, _ in journal(world, invoice) if what.startswith("dunning")]
    assert told == ["dunning.opened", "dunning.finished", "dunning.step"]
    await standing_checks(world)


async def test_a_customer_who_pays_on_the_page_is_not_charged_again(world: Rig) -> None:
    await policy(world)
    invoice = await declined(world)
    await pass_(world)
    AtStripe(world).page_confirms(invoice)
    world.later(days=1)
    await world.tick()
    assert run(world, invoice).outcome == "recovered"
    assert AtStripe(world).charges(invoice) == ["failed", "succeeded"]
    await standing_checks(world)


async def test_a_customers_own_policy_goes_before_the_accounts(world: Rig) -> None:
    await policy(world)
    mine, other = await declined(world), await declined(world)
    weekly = replace(DAILY, waits_hours=(168,))
    await policy(world, weekly, world.row(mine)["customer_id"], name="weekly")
    await pass_(world)
    assert (run(world, mine).wait_h, run(world, other).wait_h) == (168, 24)


async def test_an_invoice_that_failed_before_its_policy_has_its_run_too(world: Rig) -> None:
    invoice = await declined(world)
    world.later(days=3)
    await policy(world)
    assert (await pass_(world)).steps == {"declined": 1}
    assert run(world, invoice).wait_h == 72


@pytest.mark.parametrize(
    ("action", "outcome"), [(FinalAction.PAUSE, "set_aside"), (FinalAction.LEAVE, "left")]
)
async def test_a_final_action_that_leaves_the_invoice_open_ends_the_run(
    world: Rig, action: FinalAction, outcome: str
) -> None:
    await policy(world, replace(DAILY, waits_hours=(24,), final_action=action))
    invoice = await declined(world)
    await pass_(world)
    world.later(days=1)
    await pass_(world)
    assert (world.row(invoice)["status"], run(world, invoice).outcome) == ("open", outcome)
    world.later(days=9)
    assert (await pass_(world)).opened == 0
    await standing_checks(world)


async def test_a_final_action_that_fails_is_tried_again_after_a_day(world: Rig) -> None:
    await policy(world, replace(DAILY, waits_hours=(24,)))
    invoice = await declined(world)
    await pass_(world)
    world.later(days=1)
    between(world, (CANCEL, refusal(401)))
    assert (await pass_(world)).steps == {"declined": 1, "refused": 1}
    assert run(world, invoice).wait_h == 24
    await world.recover(rounds=1)
    world.later(hours=24)
    assert (await pass_(world)).steps == {"done": 1}
    assert run(world, invoice).outcome == "written_off"
    await standing_checks(world)


async def test_a_customer_who_pays_before_the_final_action_is_never_given_up(world: Rig) -> None:
    await policy(world, replace(DAILY, waits_hours=(24,)))
    invoice = await declined_as(world, "expired_card")
    await pass_(world)
    AtStripe(world).page_confirms(invoice)
    world.later(days=1)
    assert (await pass_(world)).steps == {"paid": 1}
    assert (world.row(invoice)["status"], run(world, invoice).outcome) == ("paid", "recovered")
    await standing_checks(world)


async def test_a_new_card_is_tried_at_once(world: Rig) -> None:
    await policy(world)
    invoice = await declined_as(world, "stolen_card")
    await pass_(world)
    assert (run(world, invoice).next_step, run(world, invoice).wait_h) == ("final", 216)
    await new_card(world, invoice)
    assert (await pass_(world)).steps == {"paid": 1}
    assert run(world, invoice).outcome == "recovered"
    await standing_checks(world)


async def test_a_new_card_that_is_declined_has_the_waits_that_are_left(world: Rig) -> None:
    await policy(world)
    invoice = await declined_as(world, "expired_card")
    await pass_(world)
    await new_card(world, invoice, "pm_card_chargeCustomerFail")
    assert (await pass_(world)).steps == {"declined": 1}
    assert (run(world, invoice).next_step, run(world, invoice).wait_h) == ("retry", 72)


async def test_case_i4_a_card_that_is_gone_is_not_charged_again(world: Rig) -> None:
    """The customer's only card was detached in the middle of the run: the run waits for another."""
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    await pass_(world)
    world.sql(
        "UPDATE anchorhold.stripe_customer SET payment_method = NULL, requested_method = NULL"
    )
    world.later(days=1)
    assert not (await pass_(world)).steps
    assert (run(world, invoice).rule, len(world.attempts(invoice))) == ("Y3", 1)
    await new_card(world, invoice)
    assert (await pass_(world)).steps == {"paid": 1}
    await standing_checks(world)


@pytest.mark.parametrize("fault", [FaultKind.RATE_LIMIT, FaultKind.LOCK_TIMEOUT])
async def test_case_j7_what_the_bank_did_not_decide_is_no_try(world: Rig, fault: FaultKind) -> None:
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    await pass_(world)
    world.later(days=1)
    world.twin.faults.replace([Rule(fault, CONFIRM, calls=frozenset({1}))])
    assert set((await pass_(world)).steps) <= {"not_sent", "unclear"}
    for _ in range(4):
        world.later(minutes=7)
        await world.tick()
    assert run(world, invoice).outcome == "recovered"
    assert [state for state, _ in world.attempts(invoice)].count("failed") == 1
    await standing_checks(world)


async def test_case_j2_a_retry_comes_no_sooner_than_the_bank_and_its_advice_allow(
    world: Rig,
) -> None:
    await policy(world, replace(DAILY, waits_hours=(1, 1, 1)))
    invoice = await declined_as(world, "card_velocity_exceeded")
    await pass_(world)
    assert (run(world, invoice).rule, run(world, invoice).wait_h) == ("Y8", 24)
    other = await declined_as(world, "insufficient_funds", "do_not_try_again")
    await pass_(world)
    assert (run(world, other).rule, run(world, other).next_step) == ("Y7", "final")


async def test_case_j6_what_is_closed_in_the_middle_is_dunned_no_more(world: Rig) -> None:
    await policy(world)
    invoice = await declined(world)
    await pass_(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'void' WHERE id = %s", invoice)
    assert run(world, invoice).outcome == "voided"
    world.later(days=30)
    assert not (await pass_(world)).steps
    assert AtStripe(world).charges(invoice) == ["failed"]


async def test_case_j7_a_card_is_declined_no_more_than_14_times_in_30_days(world: Rig) -> None:
    """One dead card, twenty invoices, and a policy that would try each of them every day."""
    await policy(world, replace(DAILY, waits_hours=(24,) * 7))
    for n in range(12):
        await world.invoice(method="pm_card_chargeCustomerFail", customer="one", reference=f"X{n}")
    await world.charge_due()
    for _ in range(25):
        await pass_(world)
        world.later(days=1)
    (card,) = {card for (card,) in world.sql("SELECT payment_method FROM anchorhold.attempt")}
    sent = world.sql(
        "SELECT count(*) FROM anchorhold.attempt WHERE state = 'failed' AND payment_method = %s",
        card,
    )
    assert sent == [(14,)]
    await standing_checks(world, quiet=False)


async def test_an_invoice_is_put_to_a_bank_8_times_whoever_asks(world: Rig) -> None:
    await policy(world, replace(DAILY, waits_hours=(24,) * 7))
    invoice = await declined(world)
    for _ in range(3):
        await world.collect(invoice)
    for _ in range(9):
        await pass_(world)
        world.later(days=1)
    assert [state for state, _ in world.attempts(invoice)].count("failed") == 8


async def test_a_held_invoice_is_skipped_and_not_counted(world: Rig) -> None:
    await policy(world)
    invoice = await declined(world)
    await pass_(world)
    world.later(days=1)
    world.sql(
        """
        UPDATE anchorhold.invoice
           SET hold_until = anchorhold.now() + interval '5 min', hold_attempt = 'att_x'
         WHERE id = %s
        """,
        invoice,
    )
    assert not (await pass_(world)).steps
    assert steps(world, invoice) == []


async def test_a_paused_run_waits_until_it_is_resumed(world: Rig) -> None:
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    await pass_(world)
    ((run_id,),) = world.sql("SELECT id FROM anchorhold.dunning_run")
    assert await dunning.pause(world.pool, world.scope, run_id, reason="promised", actor="op")
    world.later(days=2)
    assert not (await pass_(world)).steps
    assert await dunning.resume(world.pool, world.scope, run_id, reason="late", actor="op")
    assert (await pass_(world)).steps == {"paid": 1}
    assert ("dunning.paused", None) in journal(world, invoice)


async def test_case_l1_eight_at_once_make_one_retry(world: Rig) -> None:
    await policy(world)
    invoice = await declined(world)
    await pass_(world)
    world.later(days=1)
    await asyncio.gather(*(dun(world.deps(Turns()), world.scope) for _ in range(8)))
    assert steps(world, invoice) == [("retry", "declined")]
    assert AtStripe(world).charges(invoice) == ["failed", "failed"]
    await standing_checks(world, quiet=False)


async def test_a_pass_that_cannot_send_stops_and_the_next_one_goes_on(world: Rig) -> None:
    await policy(world)
    for _ in range(NOT_SENT + 1):
        await declined_as(world, "insufficient_funds")
    await pass_(world)
    world.later(days=1)
    world.connected = False
    dunned = await pass_(world)
    assert (dunned.stopped, dunned.steps) == (Stopped.NOT_SENT, {"not_sent": NOT_SENT})
    world.connected = True
    await world.recover(rounds=1)
    world.later(minutes=10)
    await pass_(world)
    assert set(world.paid_at_stripe().values()) == {1}
    await standing_checks(world)


STEP = (
    "db dunning.take", "db dunning.look", "db dunning_steps.begin", "db holds.claim",
    "db holds.recheck", "stripe confirm_intent", "db payments.settle", "db dunning_steps.end",
)  # fmt: skip


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("name", STEP)
async def test_whoever_dies_in_a_step_leaves_one_charge_and_a_run_that_ends(
    world: Rig, name: str, when: When
) -> None:
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    await pass_(world)
    world.later(days=1)
    with pytest.raises(CrashError):
        await dun(world.deps(Gate(dies_at=(name, 1, when))), world.scope)
    await world.recover()
    assert run(world, invoice).outcome == "recovered"
    assert world.paid_at_stripe() == {invoice: 1}
    await standing_checks(world)


async def test_the_tick_duns(world: Rig) -> None:
    await policy(world)
    invoice = await declined_as(world, "insufficient_funds")
    between(world, (CONFIRM, no("insufficient_funds")))
    assert (await world.tick()).dunned.opened == 1
    world.later(days=1)
    assert (await world.tick()).dunned.steps == {"declined": 1}
    assert run(world, invoice).wait_h == 72


async def test_case_j7_a_dead_card_is_declined_14_times_however_many_invoices_are_due_at_once(
    world: Rig,
) -> None:
    """No policy, no run: the limit is at the door that every charge takes."""
    for n in range(20):
        await world.invoice(method=DECLINES, customer="one", reference=f"X{n}")
    charged = await world.charge_due()
    assert [one.rule for one in charged].count("J7") == 6
    for _ in range(3):
        world.later(days=2)
        await world.charge_due()
    assert world.sql("SELECT count(*) FROM anchorhold.attempt WHERE state = 'failed'") == [(14,)]
    world.later(days=25)
    await world.charge_due()
    assert world.sql("SELECT count(*) FROM anchorhold.attempt WHERE state = 'failed'") == [(20,)]
    await standing_checks(world)


async def test_case_j7_collect_says_that_the_card_was_declined_too_often(world: Rig) -> None:
    for n in range(14):
        await world.invoice(method=DECLINES, customer="one", reference=f"X{n}")
    await world.charge_due()
    invoice = await world.invoice(method=DECLINES, customer="one", reference="Y")
    with pytest.raises(Refusal) as refused:
        await world.collect(invoice)
    assert refused.value.code is DunningCode.CARD_DECLINED_TOO_OFTEN
    assert world.attempts(invoice) == [("not_sent", "refused")]
    assert world.row(invoice)["hold_until"] is None


async def test_many_invoices_of_one_good_card_due_at_once_wait_a_minute_and_not_a_day(
    world: Rig,
) -> None:
    for n in range(20):
        await world.invoice(customer="one", reference=f"X{n}")
    await world.prepare()
    claims = await world.claim_due()
    for claim in reversed(claims):  # the last of them sees all the others under way
        await world.charge_all([claim])
    assert paid_or_not(world) == ["open"] * 6 + ["paid"] * 14
    world.later(minutes=2)
    await world.charge_due()
    assert paid_or_not(world) == ["paid"] * 20
    await standing_checks(world)


def paid_or_not(world: Rig) -> list[str]:
    return sorted(status for (status,) in world.sql("SELECT status FROM anchorhold.invoice"))
