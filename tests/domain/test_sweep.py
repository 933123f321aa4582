"""What one check of a stale hold decides: each row of protocol section 6, prepared mode."""

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.answer import Decline, IntentStatus, IntentView
from anchorhold.domain.attempt import UNPROVEN, AttemptFacts, AttemptKind, AttemptState
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import AccountId, AttemptId, InvoiceId
from anchorhold.domain.invoice import CLOSED, InvoiceStatus, PaymentStatus
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import (
    SWEEP,
    Act,
    Evidence,
    Found,
    HoldFacts,
    Trace,
    Unread,
    decide,
    find,
    made_by_own_attempt,
    own_decline,
    state_of_followed,
)
from tests.domain.tables import rows_without_a_test
from tests.domain.views import charge, intent

OPEN, PAID, WRITTEN_OFF = InvoiceStatus.OPEN, InvoiceStatus.PAID, InvoiceStatus.UNCOLLECTIBLE
AT = datetime.fromtimestamp(100, UTC)
OWN = AttemptFacts(
    id=AttemptId("att_2"),
    kind=AttemptKind.AUTO,
    state=AttemptState.SENDING,
    seq=1,
    intent_id="pi_1",
    payment_method="pm_1",
    stripe_account="acct_1",
    idempotency_key="key-2",
    claimed_at=AT,
    sent_at=AT,
    charge_id=None,
)
EARLIER = replace(OWN, id=AttemptId("att_1"), seq=0, state=AttemptState.FAILED, charge_id="ch_0")
FACTS = HoldFacts(
    token=Token(Scope(AccountId("acc_1"), False), InvoiceId("inv_1"), OWN.id, AT, 1),
    status=OPEN,
    payment_status=PaymentStatus.PENDING,
    intent_id="pi_1",
    followed_intent_id=None,
    stripe_customer_id="cus_1",
    stripe_account="acct_1",
    own=OWN,
    others=(EARLIER,),
)
UNREADABLE = {Found.REFUSED, Found.LATER, Found.NO_CUSTOMER}


def rules(status: InvoiceStatus, *found: Found) -> list[tuple[str, Act]]:
    return [(row.id, row.act) for row in decide(frozenset(found), status)]


def seen(*intents: IntentView, decline: Decline | None = None) -> frozenset[Found]:
    return find(FACTS, Evidence(intents=intents, own_decline=decline))


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in SWEEP))


def test_the_rows_stand_in_the_order_of_the_protocol() -> None:
    assert [row.id for row in SWEEP] == [
        "S15", "S14", "S13", "S2", "S1", "S4", "S3", "S5", "S7", "S6", "S6b", "S8", "S9", "S10",
        "S11", "S12",
    ]  # fmt: skip


READABLE = [
    frozenset(group)
    for count in (1, 2, 3)
    for group in combinations([f for f in Found if f not in UNREADABLE], count)
]
FINDINGS = [frozenset({alone}) for alone in UNREADABLE] + READABLE


@pytest.mark.parametrize("trace", Trace)
@pytest.mark.parametrize("status", InvoiceStatus)
def test_after_what_goes_on_every_finding_ends_in_one_row(
    status: InvoiceStatus, trace: Trace
) -> None:
    for found in FINDINGS:
        rest = found - {Found.PAID, Found.REFUNDED} or frozenset({Found.NOTHING})
        if rest == {Found.DECLINED} and status is not OPEN:
            continue  # what was declined is shown as well, and cancelled first
        *before, last = decide(rest, status, trace)
        assert not before
        assert not last.goes_on


def test_no_row_is_dead() -> None:
    reached = {
        row.id
        for found in FINDINGS
        for status in InvoiceStatus
        for trace in Trace
        for row in decide(found, status, trace)
    }
    assert reached == {row.id for row in SWEEP}


def test_s15_a_refused_read_keeps_the_hold_and_is_loud() -> None:
    refused = find(FACTS, Evidence(unread=Unread.REFUSED))
    assert refused == {Found.REFUSED}
    assert rules(OPEN, *refused) == rules(WRITTEN_OFF, *refused) == [("S15", Act.ALARM)]


def test_s14_no_answer_keeps_the_hold() -> None:
    later = find(FACTS, Evidence(unread=Unread.LATER))
    assert later == {Found.LATER}
    assert rules(OPEN, *later) == [("S14", Act.KEEP)]


def test_s13_without_a_customer_nothing_can_have_been_charged() -> None:
    nobody = find(FACTS, Evidence(unread=Unread.NO_CUSTOMER))
    assert rules(OPEN, *nobody) == [("S13", Act.SUPERSEDE)]


def test_s2_money_given_back_in_full_is_recorded_and_the_check_goes_on() -> None:
    found = seen(intent(charge=charge(refunded=1000)))
    assert found == {Found.REFUNDED}
    assert rules(OPEN, Found.REFUNDED, Found.NOTHING) == [
        ("S2", Act.RECORD_REFUNDED),
        ("S8", Act.SUPERSEDE),
    ]


def test_s1_money_that_arrived_is_settled_and_the_check_goes_on() -> None:
    assert seen(intent(charge=charge(refunded=999))) == {Found.PAID}
    for status in InvoiceStatus:
        assert ("S1", Act.SETTLE) in rules(status, Found.PAID, Found.PROCESSING)
    assert rules(OPEN, Found.PAID, Found.PROCESSING)[-1] == ("S3", Act.FOLLOW)


def test_s3_processing_goes_on_an_open_invoice() -> None:
    assert seen(intent(IntentStatus.PROCESSING)) == {Found.PROCESSING}
    assert seen(intent(IntentStatus.REQUIRES_CAPTURE)) == {Found.PROCESSING}
    assert rules(OPEN, Found.PROCESSING) == [("S3", Act.FOLLOW)]


def test_s4_what_the_invoice_follows_already_is_left_to_its_follower() -> None:
    facts = replace(FACTS, followed_intent_id="pi_1")
    assert find(facts, Evidence(intents=(intent(IntentStatus.PROCESSING),))) == {Found.FOLLOWED}
    assert rules(OPEN, Found.FOLLOWED) == [("S4", Act.CLEAR)]


@pytest.mark.parametrize("status", sorted(CLOSED))
def test_s5_processing_on_a_closed_invoice_is_kept(status: InvoiceStatus) -> None:
    assert rules(status, Found.PROCESSING) == [("S5", Act.KEEP)]


def test_s7_the_own_decline_is_saved_before_anything_is_cancelled() -> None:
    found = seen(intent(IntentStatus.REQUIRES_PAYMENT_METHOD), decline=Decline("card_declined"))
    assert found == {Found.DECLINED, Found.PAYABLE}
    assert rules(OPEN, *found) == [("S7", Act.DECLINE)]
    assert rules(WRITTEN_OFF, *found) == [("S6b", Act.CANCEL)]


def test_s6_an_intent_that_is_not_the_invoices_own_is_cancelled() -> None:
    assert seen(intent(IntentStatus.REQUIRES_ACTION, id_="pi_9")) == {Found.STRAY}
    assert rules(OPEN, Found.STRAY, Found.PAYABLE) == [("S6", Act.CANCEL)]


@pytest.mark.parametrize("status", sorted(CLOSED))
def test_s6b_a_closed_invoice_must_not_stay_payable(status: InvoiceStatus) -> None:
    assert rules(status, Found.PAYABLE) == [("S6b", Act.CANCEL)]


def test_s8_an_open_invoice_goes_on_with_the_same_intent_or_the_next() -> None:
    assert seen(intent(IntentStatus.REQUIRES_CONFIRMATION)) == {Found.PAYABLE}
    assert seen(intent(IntentStatus.CANCELED)) == {Found.NOTHING} == seen()
    assert rules(OPEN, Found.PAYABLE) == rules(OPEN, Found.NOTHING) == [("S8", Act.SUPERSEDE)]


@pytest.mark.parametrize("status", sorted(CLOSED))
def test_s9_on_a_closed_invoice_nothing_left_is_the_end(status: InvoiceStatus) -> None:
    assert rules(status, Found.NOTHING) == rules(status, Found.DECLINED) == [("S9", Act.CLEAR)]


def test_a_failed_charge_after_the_send_with_the_attempts_card_is_its_decline() -> None:
    failed = charge("failed")
    assert own_decline(FACTS, [failed]) == Decline("card_declined", "generic_decline")
    assert state_of_followed(FACTS, intent(IntentStatus.PROCESSING, charge("pending"))) is (
        AttemptState.PROCESSING
    )


@pytest.mark.parametrize(
    "facts",
    [
        replace(FACTS, own=replace(OWN, sent_at=None)),
        replace(FACTS, own=replace(OWN, sent_at=AT + timedelta(seconds=1))),
        replace(FACTS, own=replace(OWN, payment_method="pm_2")),
        replace(FACTS, others=(replace(EARLIER, charge_id="ch_1"),)),
        *(replace(FACTS, others=(replace(EARLIER, state=state),)) for state in UNPROVEN),
    ],
    ids=["never sent", "made before", "another card", "another's charge", *sorted(UNPROVEN)],
)
def test_a_charge_that_another_can_have_made_is_nobodys(facts: HoldFacts) -> None:
    assert not made_by_own_attempt(facts, charge("failed"))
    assert own_decline(facts, [charge("failed")]) is None
    processing = intent(IntentStatus.PROCESSING, charge("pending"))
    assert state_of_followed(facts, processing) is AttemptState.SUPERSEDED


def test_an_unproven_attempt_on_an_intent_that_ended_can_have_made_no_charge_of_this_one() -> None:
    rival = replace(EARLIER, state=AttemptState.SUPERSEDED, intent_id="pi_0")
    assert made_by_own_attempt(replace(FACTS, others=(rival,)), charge("failed"))


def test_no_charge_is_nobodys() -> None:
    assert not made_by_own_attempt(FACTS, None)


def test_lists_begin_at_the_oldest_attempt_whose_end_is_not_certain() -> None:
    old = replace(EARLIER, claimed_at=AT - timedelta(hours=5))
    lost = replace(old, id=AttemptId("att_0"), state=AttemptState.SUPERSEDED)
    assert replace(FACTS, others=(old,)).oldest_unproven == AT
    assert replace(FACTS, others=(old, lost)).oldest_unproven == AT - timedelta(hours=5)


def test_the_own_intent_is_the_one_that_the_attempt_knew() -> None:
    assert FACTS.own_intent == "pi_1"
    assert replace(FACTS, own=replace(OWN, intent_id=None), intent_id="pi_7").own_intent == "pi_7"


def test_a_success_on_a_paid_invoice_ends_its_hold() -> None:
    assert rules(PAID, Found.PAID) == [("S1", Act.SETTLE)]
    assert rules(PAID, Found.NOTHING) == [("S9", Act.CLEAR)]


NOTHING = frozenset({Found.NOTHING})


@pytest.mark.parametrize("status", InvoiceStatus)
def test_s10_nothing_is_fenced_while_the_key_can_tell(status: InvoiceStatus) -> None:
    (row,) = decide(NOTHING, status, Trace.FENCEABLE)
    assert (row.id, row.act) == ("S10", Act.FENCE)


@pytest.mark.parametrize("status", InvoiceStatus)
def test_s11_nothing_waits_for_its_day(status: InvoiceStatus) -> None:
    (row,) = decide(NOTHING, status, Trace.WAITS)
    assert (row.id, row.act) == ("S11", Act.KEEP)


@pytest.mark.parametrize("status", InvoiceStatus)
def test_s12_after_its_day_nothing_is_presumed_none(status: InvoiceStatus) -> None:
    (row,) = decide(NOTHING, status, Trace.DAY_OVER)
    assert (row.id, row.act) == ("S12", Act.PRESUME)


def test_s5_a_debit_that_a_direct_attempt_did_not_make_never_ends_its_hold() -> None:
    direct = replace(FACTS, own=replace(OWN, charge_mode=ChargeMode.DIRECT, intent_id=None))
    found = find(direct, Evidence(intents=(intent(IntentStatus.PROCESSING),)))
    assert found == {Found.SECOND}
    assert decide(found, OPEN, Trace.FENCEABLE)[-1].id == "S5"
