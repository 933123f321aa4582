"""News from Stripe through its one door: each row and repeats (protocol section 9)."""

import asyncio
import sys
from dataclasses import replace
from typing import Any

import pytest

from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.news import NEWS, EventSource
from anchorhold.engine import news
from anchorhold.engine.sweep import sweep
from anchorhold.store import events
from anchorhold.stripe import views
from anchorhold.twin import acts
from anchorhold.twin.faults import FaultKind
from tests.domain.tables import rows_without_a_test
from tests.engine.left import journal, left, notices
from tests.engine.lost import dies, unknown
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks, state
from tests.engine.stripe_side import (
    RETRIEVE,
    AtStripe,
    allow_mandates,
    between,
    end_debits,
    refusal,
)
from tests.engine.test_follow import debited


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in NEWS))


def told(world: Rig, *types: str) -> list[StripeEvent]:
    """What Stripe has to tell, oldest first; only of these types, if any are named."""
    made = [views.news(event) for event in AtStripe(world).account.events]
    return [event for event in made if not types or event.type in types]


async def hears(world: Rig, *said: StripeEvent, gate: Gate | None = None) -> list[str | None]:
    """Each event comes in by itself, as a webhook brings it; the rows that decided."""
    deps = world.deps(gate)
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    return [await news.take(deps, connected, world.scope, event) for event in said]


async def acts_waiting(world: Rig) -> dict[str, int]:
    deps = world.deps()
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    return await news.act_waiting(deps, connected, world.scope)


def intents(world: Rig) -> list[str]:
    """The states of all intent rows, by number."""
    return [row[0] for row in world.sql("SELECT state FROM anchorhold.intent ORDER BY number")]


async def offered(world: Rig, method: str = "pm_card_visa") -> InvoiceId:
    """A prepared invoice that nobody charges: its customer may pay on a page."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    return invoice


async def test_n1_a_success_is_applied_from_its_event_without_asking_stripe(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    sent = len(world.twin.requests)
    assert await hears(world, *told(world, "payment_intent.succeeded")) == ["N1"]
    assert len(world.twin.requests) == sent
    assert world.row(invoice)["status"] == "paid"
    assert journal(world, invoice)[-1] == ("payment.paid", "N1")
    assert world.sql("SELECT source FROM anchorhold.payment") == [("webhook",)]
    await standing_checks(world)


async def test_n1_the_key_of_its_event_tells_whose_attempt_a_late_success_was(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.LATE)
    await sweep(world.deps(), world.scope)
    assert world.attempts(invoice) == [("superseded", "no_trace")]
    world.twin.run_late()
    await hears(world, *told(world, "payment_intent.succeeded"))
    assert world.attempts(invoice) == [("succeeded", "answered")]
    await standing_checks(world)


async def test_n1_leaves_the_hold_to_its_owner_or_the_sweep(world: Rig) -> None:
    invoice = await offered(world)
    (claim,) = await world.claim_due()
    AtStripe(world).page_confirms(invoice)
    await hears(world, *told(world, "payment_intent.succeeded"))
    row = world.row(invoice)
    assert (row["status"], row["hold_attempt"]) == ("paid", claim.token.attempt_id)
    await world.recover()
    assert left(world, invoice).free


async def test_n1_an_event_that_does_not_show_the_amount_is_a_hint(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    bare = StripeEvent(said.id, said.type, said.created, said.object_id, said.intent_id, None,
                       said.metadata, {})  # fmt: skip
    assert await hears(world, bare) == ["N1"]
    assert world.row(invoice)["status"] == "paid"


async def test_n2_a_late_decline_counts_as_a_try_and_touches_nothing_else(world: Rig) -> None:
    """P8: it was superseded while its confirm ran; only Stripe's event tells."""
    invoice = await unknown(world, FaultKind.LATE, method="pm_card_chargeCustomerFail")
    await sweep(world.deps(), world.scope)
    world.twin.run_late()
    before = world.row(invoice)
    assert await hears(world, *told(world, "payment_intent.payment_failed")) == ["N2"]
    assert left(world, invoice).attempt == ("failed", "answered", "N2")
    assert world.row(invoice) == before
    assert journal(world, invoice)[-1] == ("attempt.failed", "N2")


async def test_n2_a_decline_of_one_that_was_taken_for_not_sent_counts_too(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_chargeCustomerFail")
    world.sql("UPDATE anchorhold.attempt SET state = 'not_sent', ended_at = now()")
    world.sql(
        "UPDATE anchorhold.invoice SET hold_until = NULL, hold_attempt = NULL, "
        "payment_status = 'pending'"
    )
    await hears(world, *told(world, "payment_intent.payment_failed"))
    assert left(world, invoice).attempt == ("failed", "answered", "N2")
    assert world.row(invoice)["charge_seq"] == 1, "its number and key are spent"


async def test_n2_counts_no_decline_twice(world: Rig) -> None:
    """P9: the follower wrote it; its event, and a second event object of it, change nothing."""
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    await world.tick()
    before = state(world)
    (said,) = told(world, "payment_intent.payment_failed")
    again = StripeEvent("evt_again", said.type, said.created, said.object_id, said.intent_id,
                        said.idempotency_key, said.metadata, said.summary)  # fmt: skip
    await hears(world, said, again)
    assert state(world) == before
    assert [row[0] for row in world.attempts(invoice)] == ["failed"]


async def test_n2_the_sweeps_own_decline_is_left_to_the_sweep(world: Rig) -> None:
    invoice = await unknown(world, method="pm_card_chargeCustomerFail")
    before = left(world, invoice)
    assert await hears(world, *told(world, "payment_intent.payment_failed")) == ["N2"]
    assert left(world, invoice) == before
    assert (await world.tick()).swept.rows == {"S7": 1}


async def test_n2_ends_a_following(world: Rig) -> None:
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    assert await hears(world, *told(world, "payment_intent.payment_failed")) == ["N2"]
    assert journal(world, invoice)[-1] == ("following.ended", "F4")
    assert left(world, invoice).payment_status == "failed"


async def test_n3_a_customers_debit_is_followed_from_then_on(world: Rig) -> None:
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await offered(world, "pm_success_de")
    allow_mandates(world)
    AtStripe(world).page_debits(invoice, "pm_success_de")
    assert await hears(world, *told(world, "payment_intent.processing")) == ["N3"]
    assert world.row(invoice)["payment_status"] == "processing"
    assert journal(world, invoice)[-1] == ("following.began", "W2")


async def test_n4_a_cancelled_intent_makes_room_for_the_next(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).cancel(invoice)
    assert await hears(world, *told(world, "payment_intent.canceled")) == ["N4"]
    assert world.row(invoice)["intent_id"] is None
    assert intents(world) == ["canceled"]


async def test_n4_of_an_older_intent_leaves_the_one_that_is_held(world: Rig) -> None:
    """Case A11."""
    invoice = await offered(world)
    AtStripe(world).cancel(invoice)
    old = told(world, "payment_intent.canceled")
    await hears(world, *old)
    (claim,) = [*await _claims(world)]
    again = StripeEvent("evt_again", old[0].type, old[0].created, old[0].object_id,
                        old[0].intent_id, None, old[0].metadata, old[0].summary)  # fmt: skip
    before = world.row(invoice)
    await hears(world, again)
    assert world.row(invoice) == before
    assert before["hold_attempt"] == claim.token.attempt_id


async def _claims(world: Rig) -> Any:
    world.later(minutes=2)
    await world.prepare()
    return await world.claim_due()


async def paid(world: Rig) -> InvoiceId:
    invoice = await world.invoice()
    await world.charge_due()
    return invoice


async def test_n5_a_refund_in_stripes_dashboard_is_read(world: Rig) -> None:
    invoice = await paid(world)
    AtStripe(world).refund(invoice, 5000)
    assert await hears(world, *told(world, "refund.created")) == ["N5"]
    assert world.sql("SELECT amount_refunded FROM anchorhold.payment") == [(5000,)]
    assert world.row(invoice)["status"] == "paid", "a refund never opens an invoice again"
    assert journal(world, invoice)[-1] == ("refund.succeeded", None)


async def test_n5_before_the_payment_is_known_it_waits_for_it(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    AtStripe(world).refund(invoice)
    assert await hears(world, *told(world, "refund.created")) == ["N0"]
    await hears(world, *told(world, "payment_intent.succeeded"))
    world.later(minutes=2)
    assert await acts_waiting(world) == {"N5": 1}
    assert world.sql("SELECT amount_refunded FROM anchorhold.payment") == [(14900,)]


async def test_n6_a_dispute_is_read(world: Rig) -> None:
    invoice = await paid(world)
    acts.open_dispute(world.twin, AtStripe(world).intent(invoice)["latest_charge"])
    assert await hears(world, *told(world, "charge.dispute.created")) == ["N6"]
    assert world.sql("SELECT dispute FROM anchorhold.payment") == [("open",)]
    assert notices(world) == ["payment.disputed"]


async def asking(world: Rig) -> InvoiceId:
    """The bank wants to ask the customer, who has changed something since a minute."""
    invoice = await world.invoice(method="pm_card_authenticationRequired")
    await world.charge_due()
    assert world.row(invoice)["blocked_reason"] == "customer_action"
    world.later(minutes=1)
    return invoice


def customer_of(world: Rig) -> str:
    (found,) = world.sql("SELECT stripe_customer_id FROM anchorhold.stripe_customer")
    return str(found[0])


def mended(world: Rig) -> StripeEvent:
    """The card has another expiry date; its event."""
    ((method,),) = world.sql("SELECT payment_method FROM anchorhold.stripe_customer")
    AtStripe(world).client().done(f"/v1/payment_methods/{method}", card={"exp_year": 2040})
    (said,) = told(world, "payment_method.updated")
    return said


async def test_n7_a_card_that_was_mended_may_be_charged_again(world: Rig) -> None:
    invoice = await asking(world)
    said = mended(world)
    assert await hears(world, said) == ["N7"]
    row = world.row(invoice)
    assert (row["blocked_reason"], row["payment_status"]) == (None, "failed")
    assert journal(world, invoice)[-1] == ("collection.unblocked", "N7")
    before = state(world)
    by_network = replace(said, id="evt_2", type="payment_method.automatically_updated")
    assert await hears(world, by_network) == ["N7"]
    assert state(world) == before


async def test_n7_so_may_another_default_card_and_no_other_change_of_a_customer(
    world: Rig,
) -> None:
    invoice = await asking(world)
    at, customer = AtStripe(world).client(), customer_of(world)
    at.done(f"/v1/customers/{customer}", email="new@example.com")
    assert await hears(world, *told(world, "customer.updated")) == ["N7"]
    assert world.row(invoice)["blocked_reason"] == "customer_action"
    method = at.done("/v1/payment_methods/pm_card_visa/attach", customer=customer)["id"]
    at.done(f"/v1/customers/{customer}", invoice_settings={"default_payment_method": method})
    await hears(world, told(world, "customer.updated")[-1])
    assert world.row(invoice)["blocked_reason"] is None


async def test_n7_what_changed_before_the_try_says_nothing_new(world: Rig) -> None:
    invoice = await asking(world)
    said = mended(world)
    assert await hears(world, replace(said, created=said.created - 3600)) == ["N7"]
    assert world.row(invoice)["blocked_reason"] == "customer_action"


async def test_n8_a_customer_that_was_deleted_is_flagged_and_a_person_is_told(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).client().ask("DELETE", f"/v1/customers/{customer_of(world)}")
    said = told(world, "customer.deleted")
    assert await hears(world, *said, replace(said[0], id="evt_again")) == ["N8", "N8"]
    row = world.row(invoice)
    assert (row["blocked_reason"], row["payment_status"]) == ("setup", "failed")
    assert notices(world) == ["collection.blocked"]
    assert journal(world, invoice)[-1] == ("collection.blocked", "N8")
    later = await world.invoice(reference="R9", customer="customer of R1")
    await world.tick()
    assert world.row(later)["blocked_reason"] == "setup", "what comes in later is blocked, too"


async def test_what_is_told_of_a_strangers_customer_changes_nothing(world: Rig) -> None:
    invoice = await asking(world)
    said = mended(world)
    stranger = replace(said, summary={**said.summary, "customer": "cus_stranger"})
    assert await hears(world, stranger) == ["N7"]
    assert world.sql("SELECT state FROM anchorhold.event") == [("done",)]
    assert world.row(invoice)["blocked_reason"] == "customer_action"


async def test_a_repeat_changes_nothing(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    assert await hears(world, said, said, said) == ["N1", None, None]
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    assert len(world.sql("SELECT 1 FROM anchorhold.event")) == 1


async def test_case_a9_two_webhooks_at_the_same_moment_leave_one_payment(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    twice = StripeEvent("evt_again", said.type, said.created, said.object_id, said.intent_id,
                        said.idempotency_key, said.metadata, said.summary)  # fmt: skip
    await asyncio.gather(*(hears(world, event) for event in [said, twice] * 4))
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    assert world.row(invoice)["amount_paid"] == 14900
    assert notices(world) == []


async def test_case_a14_a_second_success_is_recorded_and_told(world: Rig) -> None:
    invoice = await paid(world)
    (said,) = told(world, "payment_intent.succeeded")
    second = StripeEvent("evt_2", said.type, said.created, "pi_second", "pi_second", None,
                         said.metadata, said.summary)  # fmt: skip
    assert await hears(world, second) == ["N1"]
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 2
    assert notices(world) == ["payment.duplicate_charge"]
    assert world.row(invoice)["amount_paid"] == 14900


async def test_case_c15_money_for_a_void_invoice_is_recorded_and_told(world: Rig) -> None:
    invoice = await offered(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'void', intent_id = NULL")
    AtStripe(world).page_confirms(invoice)
    assert await hears(world, *told(world, "payment_intent.succeeded")) == ["N1"]
    assert world.row(invoice)["status"] == "void"
    assert notices(world) == ["payment.received_on_voided_invoice"]


async def test_case_c2_an_intent_that_no_row_knows_is_found_by_its_metadata(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
    assert await hears(world, *told(world, "payment_intent.succeeded")) == ["N1"]
    assert world.row(invoice)["status"] == "paid"


async def test_an_event_about_an_invoice_that_is_not_here_is_kept_for_30_days(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    unknown_here = StripeEvent(
        said.id, said.type, said.created, "pi_x", "pi_x", None,
        {**said.metadata, "anchorhold_invoice_id": "inv_x"}, said.summary,
    )  # fmt: skip
    assert await hears(world, unknown_here) == ["N0"]
    assert world.sql("SELECT state FROM anchorhold.event") == [("unmatched",)]
    world.later(days=29)
    assert await acts_waiting(world) == {"N0": 1}
    world.later(days=2)
    await acts_waiting(world)
    assert world.sql("SELECT state FROM anchorhold.event") == [("given_up",)]
    world.later(days=2)
    assert await acts_waiting(world) == {}


@pytest.mark.parametrize("metadata", [{}, {"anchorhold_account_id": "acc_another"}])
async def test_what_is_not_ours_is_not_kept(world: Rig, metadata: dict[str, str]) -> None:
    event = StripeEvent(
        "evt_1", "payment_intent.succeeded", 1_790_000_000, "pi_1", "pi_1", None, metadata, {}
    )
    assert await hears(world, event) == [None]
    assert world.sql("SELECT 1 FROM anchorhold.event") == []


async def test_a_type_that_is_not_in_question_is_not_kept(world: Rig) -> None:
    invoice = await offered(world)
    assert invoice
    assert await hears(world, *told(world, "payment_intent.created")) == [None]


async def test_a_look_that_was_not_answered_is_made_again(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).cancel(invoice)
    between(world, (RETRIEVE, refusal(500, type="api_error")))
    assert await hears(world, *told(world, "payment_intent.canceled")) == ["N0"]
    world.later(minutes=2)
    assert await acts_waiting(world) == {"N4": 1}
    assert intents(world) == ["canceled"]


async def test_an_event_that_raises_does_not_stop_the_others(
    world: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await offered(world), await offered(world)
    for invoice in (first, second):
        AtStripe(world).page_confirms(invoice)
    said = told(world, "payment_intent.succeeded")
    assert len(said) == 2
    await events.put(world.pool, world.scope, world.stripe_account, said, EventSource.CATCH_UP)
    real, failures = news.success_of, iter([True, False])

    def breaks_once(*args: Any) -> Any:
        if next(failures):
            raise ArithmeticError("a bug")
        return real(*args)

    monkeypatch.setattr(news, "success_of", breaks_once)
    with pytest.raises(ArithmeticError, match="a bug"):
        await acts_waiting(world)
    monkeypatch.undo()
    assert sorted(world.row(i)["status"] for i in (first, second)) == ["open", "paid"]
    world.later(minutes=2)
    assert await acts_waiting(world) == {"N1": 1}


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize(
    "at", ["db events.put", "db events.take", "db events.match", "db payments.settle",
           "db events.done"],
)  # fmt: skip
async def test_case_c8_whoever_dies_over_an_event_leaves_it_to_the_next_turn(
    world: Rig, at: str, when: When
) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    (said,) = told(world, "payment_intent.succeeded")
    try:
        await hears(world, said, gate=Gate(dies_at=(at, 1, when)))
    except BaseException:  # the process died or lost its connection
        world.later(minutes=2)
    await hears(world, said)  # Stripe delivers again what was not answered
    await acts_waiting(world)
    assert world.row(invoice)["status"] == "paid"
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    assert world.sql("SELECT state FROM anchorhold.event") == [("done",)]


async def test_a_success_by_somebody_elses_confirm_is_seen_by_the_tick(world: Rig) -> None:
    """Nobody of ours charged, no webhook came, nothing is watched: the cursor tells."""
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    assert (await world.tick()).audited.rows == {"N1": 1}
    assert world.row(invoice)["status"] == "paid"
    assert world.sql("SELECT source FROM anchorhold.payment") == [("audit",)]
    await standing_checks(world)


async def test_a_used_up_intent_that_is_paid_after_all_is_told(world: Rig) -> None:
    """The invoice is paid by its second intent; then the first one's orphan succeeds."""
    invoice = await offered(world)
    first = AtStripe(world).intent(invoice)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("UPDATE anchorhold.intent SET state = 'used_up', stripe_intent_id = NULL")
    world.later(minutes=2)
    await world.charge_due()
    assert world.row(invoice)["status"] == "paid"
    AtStripe(world).client().done(
        f"/v1/payment_intents/{first['id']}/confirm",
        payment_method="pm_card_visa",
        return_url="https://example.com/back",
    )
    await world.tick()
    assert notices(world) == ["payment.duplicate_charge"]


async def test_a_crashed_attempt_is_settled_by_news_and_its_hold_by_the_sweep(world: Rig) -> None:
    invoice = await offered(world)
    await dies(world, When.AFTER)
    await hears(world, *told(world, "payment_intent.succeeded"))
    assert (world.row(invoice)["status"], left(world, invoice).free) == ("paid", False)
    await world.recover()
    assert left(world, invoice).free
    await standing_checks(world)
