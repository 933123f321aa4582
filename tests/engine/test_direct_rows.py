"""Each row of the sweep for direct charges, with real rows and what Stripe really shows."""

import contextlib

import pytest

from anchorhold.domain.account import AfterPresumedNone, ChargeMode
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.charge import charge
from anchorhold.engine.check import check
from anchorhold.engine.explain import check_now, explain
from anchorhold.store import direct as claims
from anchorhold.twin import Broken, Request, Response
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import Left, journal, left, notices
from tests.engine.lost import swept, written_off
from tests.engine.lost_direct import SEND, a_day_later, comes_to_rest, crashed, creates, unclear
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.stripe_side import (
    CANCEL,
    CREATE,
    CUSTOMER,
    LIST,
    AtStripe,
    Turn,
    allow_mandates,
    between,
    end_debits,
    meanwhile,
    refusal,
    sent_by,
    shows,
)

NO_EFFECT = FaultKind.ERROR_500_WITHOUT_EFFECT


async def test_s1_a_lost_payment_is_settled_and_credited_to_its_attempt(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    assert await swept(direct) == {"S1": 1}
    assert left(direct, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "S1"), None
    )
    await comes_to_rest(direct, invoice, "paid")


async def test_s1_a_parked_payment_is_settled(direct: Rig) -> None:
    invoice = await unclear(direct, FaultKind.ERROR_500_WITH_EFFECT)
    assert left(direct, invoice).payment_status == "unknown"
    assert await swept(direct) == {"S1": 1}
    await comes_to_rest(direct, invoice, "paid")


async def test_a_direct_hold_is_not_looked_at_before_sweep_wait_is_over(direct: Rig) -> None:
    invoice = await direct.invoice()
    await direct.prepare()
    with contextlib.suppress(CrashError):
        await direct.charge_due(direct.deps(Gate(dies_at=(SEND, 1, When.AFTER))))
    direct.later(minutes=14)
    assert await swept(direct) == {}
    connected = await direct.deps().providers.of(direct.scope)
    checked = await check(direct.deps(), connected, direct.scope, invoice)
    assert checked.rule is None
    with pytest.raises(Refusal) as refused:
        await check_now(direct.deps(), direct.scope, invoice)
    assert refused.value.code is Code.PAYMENT_IN_FLIGHT
    assert not (await explain(direct.deps(), direct.scope, invoice)).steps
    direct.later(minutes=2)
    assert await swept(direct) == {"S1": 1}


async def test_s2_a_payment_given_back_in_full_counts_as_not_paid(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    AtStripe(direct).refund(invoice)
    assert await swept(direct) == {"S2": 1}
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("succeeded", "answered", "S2"), None
    )


async def lost_debit(world: Rig, method: str = "pm_success_de") -> InvoiceId:
    """A debit was started and its owner died before it heard so."""
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await world.invoice(method=method)
    await world.prepare()
    allow_mandates(world)
    with contextlib.suppress(CrashError):
        await world.charge_due(world.deps(Gate(dies_at=(SEND, 1, When.AFTER))))
    world.later(minutes=16)
    return invoice


async def test_s3_a_lost_debit_is_followed_as_the_attempts_own(direct: Rig) -> None:
    invoice = await lost_debit(direct)
    assert await swept(direct) == {"S3": 1}
    assert left(direct, invoice) == Left(
        "open", "processing", True, 1, ("processing", "answered", "S3"), None
    )
    end_debits(direct)
    await comes_to_rest(direct, invoice, "paid")


def carried_out_and_500(world: Rig) -> Turn:
    """Stripe carries it out, and answers 500 with the intent in the body."""

    def turn(request: Request) -> Response | Broken | None:
        made = world.twin.send(request)
        assert isinstance(made, Response)
        return refusal(500, type="api_error", payment_intent=made.json())(request)

    return turn


async def test_s4_a_debit_that_the_answer_named_is_left_to_its_follower(direct: Rig) -> None:
    direct.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await direct.invoice(method="pm_success_de")
    await direct.prepare()
    allow_mandates(direct)
    between(direct, (CREATE, carried_out_and_500(direct)))
    await direct.charge_due()
    assert direct.row(invoice)["followed_intent_id"] is not None
    direct.later(minutes=16)
    assert await swept(direct) == {"S4": 1}
    assert left(direct, invoice) == Left(
        "open", "processing", True, 1, ("processing", "answered", "S4"), None
    )
    end_debits(direct)
    await comes_to_rest(direct, invoice, "paid")


async def test_s5_a_debit_on_a_written_off_invoice_is_kept_until_it_pays(direct: Rig) -> None:
    invoice = await lost_debit(direct)
    written_off(direct)
    assert await swept(direct) == {"S5": 1}
    end_debits(direct)
    await comes_to_rest(direct, invoice, "paid")


async def test_s6_what_would_stay_payable_is_cancelled(direct: Rig) -> None:
    """The probe's process died before it could cancel what the probe had made."""
    invoice = await crashed(direct, When.BEFORE)
    with contextlib.suppress(CrashError):
        await direct.tick(direct.deps(Gate(dies_at=("stripe cancel_intent", 1, When.BEFORE))))
    assert AtStripe(direct).intents(invoice) == ["requires_payment_method"]
    direct.later(minutes=31)
    assert await swept(direct) == {"S6": 1}
    assert AtStripe(direct).intents(invoice) == ["canceled"]
    direct.later(minutes=31)
    assert await swept(direct) == {"S10": 1}
    assert left(direct, invoice).attempt == ("fenced", "never_ran", "S10")
    await comes_to_rest(direct, invoice, "paid")


async def test_s7_a_lost_decline_is_saved_and_its_intent_cancelled(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER, method="pm_card_chargeCustomerFail")
    assert await swept(direct) == {"S7": 1}
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("failed", "answered", "S7"), None
    )
    assert AtStripe(direct).intents(invoice) == ["canceled"]
    await comes_to_rest(direct, invoice, "open")


async def test_s7_a_decline_whose_intent_cannot_be_cancelled_waits(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER, method="pm_card_chargeCustomerFail")
    between(direct, (CANCEL, refusal(500, type="api_error")))
    assert await swept(direct) == {"S7": 1}
    assert not left(direct, invoice).free
    await comes_to_rest(direct, invoice, "open")
    assert left(direct, invoice).attempt == ("failed", "answered", "S7")


async def test_s8_an_attempt_that_was_never_sent_is_cleared_at_once(direct: Rig) -> None:
    invoice = await crashed(direct, When.BEFORE, "db direct.recheck")
    sent = creates(direct)
    assert await swept(direct) == {"S8": 1}
    assert left(direct, invoice) == Left(
        "open", "pending", True, 0, ("not_sent", "no_trace", "S8"), None
    )
    assert sent == [], "there is nothing to fence"
    await comes_to_rest(direct, invoice, "paid")


async def test_s9_and_so_on_a_written_off_invoice(direct: Rig) -> None:
    invoice = await crashed(direct, When.BEFORE, "db direct.recheck")
    written_off(direct)
    assert await swept(direct) == {"S9": 1}
    assert left(direct, invoice).attempt == ("not_sent", "no_trace", "S9")
    await comes_to_rest(direct, invoice, "uncollectible")


async def test_s10_a_charge_that_never_arrived_is_fenced_and_made_again(direct: Rig) -> None:
    invoice = await crashed(direct, When.BEFORE)
    sent = creates(direct)
    assert await swept(direct) == {"S10": 1}
    assert sent == [False], "the probe confirms nothing"
    assert left(direct, invoice) == Left(
        "open", "pending", True, 1, ("fenced", "never_ran", "S10"), None
    )
    assert AtStripe(direct).intents(invoice) == ["canceled"]
    assert ("hold.taken_over", "S10") in journal(direct, invoice)
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_s10_after_the_fence_the_first_request_can_do_nothing_any_more(direct: Rig) -> None:
    """R4: it was on its way all the time, and arrives after the next charge."""
    invoice = await unclear(direct, FaultKind.DROPPED_BEFORE)
    ((key, params),) = direct.sql("SELECT idempotency_key, params FROM anchorhold.attempt")
    assert await swept(direct) == {"S10": 1}
    await direct.charge_due()
    provider = direct.provider()
    late = await provider.create_intent(params, key, provider.deadline(30))
    assert getattr(late, "type", None) == "idempotency_error"
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_s10_a_charge_that_still_runs_is_waited_for(direct: Rig) -> None:
    invoice = await unclear(direct, FaultKind.LATE, seconds=3600)
    assert await swept(direct) == {"S10": 1}
    assert not left(direct, invoice).free
    direct.later(minutes=14)
    assert await swept(direct) == {}, "409: half an hour"
    direct.later(minutes=60)
    assert await swept(direct) == {"S1": 1}
    await comes_to_rest(direct, invoice, "paid")


@pytest.mark.parametrize(
    ("method", "ends", "attempt"),
    [
        ("pm_card_visa", "paid", ("succeeded", "answered", "S10")),
        ("pm_card_chargeCustomerFail", "open", ("failed", "answered", "S10")),
        ("pm_card_authenticationRequired", "open", ("failed", "answered", "S10")),
    ],
)
async def test_s10_the_key_tells_what_the_list_did_not(
    direct: Rig, method: str, ends: str, attempt: tuple[str, str, str]
) -> None:
    """Its stored parameters are sent again and the saved answer comes back."""
    invoice = await crashed(direct, When.AFTER, method=method)
    sent = creates(direct)
    between(direct, (LIST, shows({"object": "list", "data": [], "has_more": False})))
    assert await swept(direct) == {"S10": 1}
    assert sent == [False, True]
    assert left(direct, invoice).attempt == attempt
    assert left(direct, invoice).status == ends
    assert left(direct, invoice).free
    assert direct.paid_at_stripe().get(invoice, 0) == (ends == "paid")
    assert set(AtStripe(direct).intents(invoice)) <= {"succeeded", "canceled"}


async def test_s10_a_saved_server_error_waits_for_its_day(direct: Rig) -> None:
    invoice = await unclear(direct, NO_EFFECT)
    assert await swept(direct) == {"S10": 1}
    assert left(direct, invoice).attempt == ("unknown", "server_error", "S10")
    assert not left(direct, invoice).free
    direct.later(minutes=31)
    sent = creates(direct)
    assert await swept(direct) == {"S11": 1}
    assert sent == [], "the key has said all that it can"


async def test_s10_the_key_of_another_request_waits_for_its_day(direct: Rig) -> None:
    invoice = await unclear(direct, FaultKind.DROPPED_BEFORE)
    reused = refusal(400, type="idempotency_error")
    between(direct, (CREATE, reused), (CREATE, reused))
    assert await swept(direct) == {"S10": 1}
    assert left(direct, invoice).attempt == ("unknown", "key_reused", "S10")
    direct.later(minutes=31)
    assert await swept(direct) == {"S11": 1}


@pytest.mark.parametrize("status", [401, 403, 404, 409, 429, 500, 503])
async def test_h14_an_answer_to_the_replay_alone_says_nothing(direct: Rig, status: int) -> None:
    invoice = await unclear(direct, FaultKind.DROPPED_BEFORE)
    before = left(direct, invoice).attempt
    between(
        direct,
        (CREATE, refusal(400, type="idempotency_error")),
        (CREATE, refusal(status, type="invalid_request_error")),
    )
    assert await swept(direct) == {"S10": 1}
    assert left(direct, invoice).attempt == before
    assert not left(direct, invoice).free


async def test_s10_the_hold_is_taken_over_from_a_frozen_owner(direct: Rig) -> None:
    """He thaws while the sweep asks, and can save nothing but what is certain (R4)."""
    invoice = await direct.invoice()
    await direct.prepare()
    (claim,) = await direct.claim_due()
    with contextlib.suppress(CrashError):
        await charge(direct.deps(Gate(dies_at=(SEND, 1, When.BEFORE))), claim)
    direct.later(minutes=16)
    assert await swept(direct) == {"S10": 1}
    assert await charge(direct.deps(), claim), "he begins again where he stopped"
    assert left(direct, invoice).attempt[0] == "fenced"
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_s11_a_parked_result_waits_until_its_day_is_over(direct: Rig) -> None:
    invoice = await unclear(direct, NO_EFFECT)
    await swept(direct)
    for _ in range(3):
        direct.later(hours=7)
        assert await swept(direct) == {"S11": 1}
    assert not left(direct, invoice).free
    assert await direct.charge_due() == []


async def test_s12_after_its_day_a_park_ends_and_is_charged_again(direct: Rig) -> None:
    invoice = await unclear(direct, NO_EFFECT)
    a_day_later(direct)
    assert await swept(direct) == {"S12": 1}
    assert left(direct, invoice) == Left(
        "open", "pending", True, 1, ("presumed_none", "nothing_after_a_day", "S12"), None
    )
    assert direct.row(invoice)["last_error"] is None
    ((words,),) = direct.sql("SELECT decline ->> 'message' FROM anchorhold.attempt")
    assert words == "Stripe showed nothing for this attempt after 24 hours"
    await comes_to_rest(direct, invoice, "paid")
    assert direct.paid_at_stripe() == {invoice: 1}


async def test_s12_a_failed_invoice_goes_back_to_failed(direct: Rig) -> None:
    invoice = await direct.invoice()
    await direct.prepare()
    direct.sql("UPDATE anchorhold.invoice SET payment_status = 'failed'")
    claim = await claims.claim(
        direct.pool, direct.scope, direct.timing, invoice, AttemptKind.DUNNING, actor="dunning"
    )
    assert claim is not None
    direct.twin.faults.replace([Rule(NO_EFFECT, CREATE, frozenset({1}))])
    await direct.charge_all([claim])
    a_day_later(direct)
    assert await swept(direct) == {"S12": 1}
    assert left(direct, invoice).payment_status == "failed"


async def test_s12_lists_once_more_and_keeps_when_something_turns_up(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    a_day_later(direct)
    nothing = shows({"object": "list", "data": [], "has_more": False})
    between(direct, (LIST, nothing))
    assert await swept(direct) == {"S12": 1}
    assert not left(direct, invoice).free
    await comes_to_rest(direct, invoice, "paid")


async def test_s12_an_account_may_leave_it_to_a_person(world: Rig) -> None:
    await world.charges(ChargeMode.DIRECT, after=AfterPresumedNone.OPERATOR)
    invoice = await unclear(world, NO_EFFECT)
    a_day_later(world)
    assert await swept(world) == {"S12": 1}
    assert world.row(invoice)["collection"] == "manual"
    assert "charge.presumed_none" in notices(world)
    assert await world.charge_due() == []
    assert (await world.collect(invoice)).saved == "paid"


async def test_s12_on_a_written_off_invoice_only_the_park_ends(direct: Rig) -> None:
    invoice = await unclear(direct, NO_EFFECT)
    written_off(direct)
    a_day_later(direct)
    assert await swept(direct) == {"S12": 1}
    assert left(direct, invoice).attempt[0] == "presumed_none"
    assert left(direct, invoice).free
    await comes_to_rest(direct, invoice, "uncollectible")


async def test_s14_no_answer_keeps_the_hold(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    between(direct, (LIST, refusal(503, type="api_error")))
    assert await swept(direct) == {"S14": 1}
    await comes_to_rest(direct, invoice, "paid")


async def test_s15_an_empty_list_of_a_deleted_customer_is_no_proof(direct: Rig) -> None:
    invoice = await crashed(direct, When.BEFORE)
    between(direct, (CUSTOMER, shows({"object": "customer", "id": "cus_1", "deleted": True})))
    assert await swept(direct) == {"S15": 1}
    assert not left(direct, invoice).free


async def test_h1_a_500_that_was_never_saved_is_fenced_like_any_other(direct: Rig) -> None:
    """The process died between Stripe's 500 and the save: its trace was there before the call."""
    direct.twin.faults.replace([Rule(NO_EFFECT, CREATE, frozenset({1}))])
    invoice = await crashed(direct, When.AFTER)
    direct.twin.faults.replace([])
    assert await swept(direct) == {"S10": 1}
    assert left(direct, invoice).attempt == ("unknown", "server_error", "S10")
    assert left(direct, invoice).payment_status == "unknown"
    assert not left(direct, invoice).free


async def test_h6_a_refused_read_keeps_a_written_off_invoices_hold(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    written_off(direct)
    direct.connected = False
    assert await swept(direct) == {"S15": 1}
    assert not left(direct, invoice).free
    direct.connected = True
    await comes_to_rest(direct, invoice, "paid")


async def test_h7_another_attempts_success_does_not_end_this_ones_hold(direct: Rig) -> None:
    """Attempt 1 is presumed none, attempt 2 is parked; then the first one's payment turns up."""
    invoice = await unclear(direct, FaultKind.ERROR_500_LATE_EFFECT, seconds=90_000)
    a_day_later(direct)
    assert await swept(direct) == {"S12": 1}
    direct.twin.faults.replace([Rule(NO_EFFECT, CREATE, frozenset({1}))])
    await direct.charge_due()
    direct.twin.faults.replace([])
    direct.later(hours=1)
    assert direct.paid_at_stripe() == {invoice: 1}
    await direct.tick()
    assert left(direct, invoice).status == "paid"
    assert not left(direct, invoice).free, "its own attempt is not proven"
    assert direct.attempts(invoice)[0][0] == "succeeded"
    await comes_to_rest(direct, invoice, "paid")
    assert direct.attempts(invoice)[1][0] == "presumed_none"


async def test_h13_a_key_that_may_be_pruned_is_never_used_again(direct: Rig) -> None:
    """Case B9: older than 23 hours, nothing is sent under the old key, whatever it was."""
    invoice = await crashed(direct, When.BEFORE)
    direct.later(hours=23)
    sent = creates(direct)
    assert await swept(direct) == {"S11": 1}
    assert sent == []
    assert not left(direct, invoice).free


def park(world: Rig) -> None:
    """The owner saves at last that its answer was unclear."""
    world.sql(
        "WITH parked AS (UPDATE anchorhold.invoice SET payment_status = 'unknown') "
        "UPDATE anchorhold.attempt SET state = 'unknown', cause = 'deadline'"
    )


async def test_h2_a_clear_does_not_hit_a_park_that_came_meanwhile(direct: Rig) -> None:
    """The owner parks between what the sweep read and what it writes."""
    invoice = await direct.invoice()
    await direct.prepare()
    (claim,) = await direct.claim_due()
    with contextlib.suppress(CrashError):
        await charge(direct.deps(Gate(dies_at=(SEND, 1, When.BEFORE))), claim)
    direct.later(minutes=16)
    between(direct, (LIST, meanwhile(lambda: park(direct))))
    await direct.tick()
    row = direct.row(invoice)
    assert row["payment_status"] != "unknown" or row["hold_until"] is not None


async def test_an_operator_reads_which_row_waits_and_when_it_is_looked_at(direct: Rig) -> None:
    invoice = await unclear(direct, NO_EFFECT)
    await swept(direct)
    seen = await explain(direct.deps(), direct.scope, invoice)
    assert [step.rule for step in seen.steps] == ["S11"]
    assert seen.standing.hold is HoldState.PARKED


async def test_h15_another_stripe_account_is_a_refused_read(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    direct.stripe_account = "acct_another"
    sent = creates(direct)
    assert await swept(direct) == {"S15": 1}
    assert sent == []
    assert not left(direct, invoice).free


async def test_h18_the_list_of_a_customer_on_a_test_clock_is_read_whole(direct: Rig) -> None:
    """Its intents are dated by that clock, so a list since the claim shows none of them."""
    invoice = await crashed(direct, When.AFTER)
    lists = sent_by(direct, LIST)
    between(
        direct,
        (LIST, shows({"object": "list", "data": [], "has_more": False})),
        (CUSTOMER, shows({"object": "customer", "id": "cus_1", "test_clock": "clock_1"})),
    )
    assert await swept(direct) == {"S1": 1}
    assert ["created" in request.query for request in lists] == [True, False]
    await comes_to_rest(direct, invoice, "paid")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
async def test_case_a15_a_read_that_fails_fails_no_charge(direct: Rig, status: int) -> None:
    invoice = await crashed(direct, When.AFTER)
    between(direct, (LIST, refusal(status, type="invalid_request_error")))
    before = left(direct, invoice)
    await swept(direct)
    assert left(direct, invoice) == before
    await comes_to_rest(direct, invoice, "paid")
