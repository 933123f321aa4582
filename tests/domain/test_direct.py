"""What is a direct attempt's own, told by its name; and what its decline asks for."""

from dataclasses import replace

import pytest

from anchorhold.domain.account import ChargeMode, SweepMode
from anchorhold.domain.answer import Decline, IntentStatus, IntentView
from anchorhold.domain.attempt import AttemptState, reference_of
from anchorhold.domain.closing import CLOSING, ENDINGS, Act, conditions, ending
from anchorhold.domain.disputes import DISPUTES
from anchorhold.domain.disputes import read as read_dispute
from anchorhold.domain.intent import METADATA_ATTEMPT
from anchorhold.domain.invoice import BlockedReason
from anchorhold.domain.outcome import ABSENT, blocked_by, end_of, read, read_direct
from anchorhold.domain.sweep import (
    Evidence,
    Found,
    declined_direct,
    find,
    made_by_own,
    own_decline,
    state_of_followed,
)
from tests.domain.test_sweep import EARLIER, FACTS, OWN
from tests.domain.views import charge, intent, refused, shown

DIRECT = replace(
    FACTS,
    intent_id="pi_page",
    own=replace(OWN, charge_mode=ChargeMode.DIRECT, intent_id=None),
    others=(replace(EARLIER, charge_mode=ChargeMode.DIRECT, intent_id=None),),
)
NO = Decline("card_declined", "insufficient_funds")


def named(seq: int, status: IntentStatus, error: Decline | None = None) -> IntentView:
    reference = reference_of(DIRECT.token.scope, DIRECT.token.invoice_id, seq)
    return replace(
        intent(status, id_=f"pi_{seq}", last_error=error), metadata={METADATA_ATTEMPT: reference}
    )


def test_an_intent_is_the_own_attempts_by_its_name_alone() -> None:
    assert made_by_own(DIRECT, named(1, IntentStatus.SUCCEEDED))
    assert not made_by_own(DIRECT, named(0, IntentStatus.SUCCEEDED))
    assert DIRECT.maker(named(0, IntentStatus.SUCCEEDED)) == "att_1"
    followed = state_of_followed(DIRECT, named(0, IntentStatus.PROCESSING))
    assert followed is AttemptState.SUPERSEDED


@pytest.mark.parametrize(
    "status", [IntentStatus.REQUIRES_PAYMENT_METHOD, IntentStatus.CANCELED], ids=str
)
def test_the_own_intents_error_is_the_own_decline(status: IntentStatus) -> None:
    assert declined_direct(DIRECT, [named(0, status, NO), named(1, status, NO)]) == NO
    assert declined_direct(DIRECT, [named(0, status, NO)]) is None
    assert declined_direct(DIRECT, [named(1, status)]) is None


def test_an_intent_that_can_still_succeed_is_no_decline() -> None:
    assert declined_direct(DIRECT, [named(1, IntentStatus.PROCESSING, NO)]) is None
    assert declined_direct(DIRECT, [named(1, IntentStatus.SUCCEEDED, NO)]) is None


def test_only_the_pages_intent_may_stay_payable() -> None:
    for id_, found in (("pi_page", Found.PAYABLE), ("pi_1", Found.STRAY)):
        payable = intent(IntentStatus.REQUIRES_PAYMENT_METHOD, id_=id_)
        assert find(DIRECT, Evidence(intents=(payable,))) == {found}


def test_a_failed_charge_without_words_is_a_plain_decline() -> None:
    assert own_decline(FACTS, [replace(charge("failed"), failure=None)]) == Decline("card_declined")


def test_only_in_adr_mode_a_rate_limit_is_a_lost_result() -> None:
    limited = refused(429, code="rate_limit")
    assert read_direct(limited, SweepMode.ADR).id == "D3"
    assert read_direct(limited, SweepMode.FENCE) == read(limited)


def test_what_direct_mode_says_nothing_of_is_read_as_ever() -> None:
    for status in (IntentStatus.SUCCEEDED, IntentStatus.PROCESSING):
        answer = shown(status)
        assert read_direct(answer, SweepMode.FENCE) == read(answer)


def test_a_customer_who_is_not_there_is_declined_in_our_words_and_nobody_else_is() -> None:
    waits = shown(IntentStatus.REQUIRES_ACTION)
    assert end_of(read_direct(waits, SweepMode.FENCE), waits).decline == ABSENT
    for status in (IntentStatus.REQUIRES_ACTION, IntentStatus.PROCESSING):
        answer = shown(status)
        assert end_of(read(answer), answer).decline is None


def test_a_decline_that_wants_the_customer_blocks_wherever_it_is_seen() -> None:
    wanted = BlockedReason.CUSTOMER_ACTION
    assert blocked_by(Decline("authentication_required")) is wanted
    assert blocked_by(Decline("card_declined", "authentication_required")) is wanted
    assert blocked_by(NO) is None
    assert blocked_by(None) is None


def test_an_ending_has_its_words() -> None:
    made = ending(Act.PAID_ELSEWHERE, "by cash", "till 4")
    assert made == replace(ENDINGS[Act.PAID_ELSEWHERE], reason="by cash", reference="till 4")
    assert ending(Act.VOID, "twice").reference is None


@pytest.mark.parametrize(
    ("id_", "words"),
    [
        ("C1", "no intent"),
        ("C4", "Stripe shows it as canceled"),
        ("C8", "HTTP 401 or 403"),
        ("C10", "HTTP 429, code rate_limit"),
        ("C12", "nothing was sent, credentials unreadable"),
        ("C14", "anything else"),
    ],
)
def test_when_a_row_of_closing_fits_is_told_in_words(id_: str, words: str) -> None:
    assert conditions(next(row for row in CLOSING if row.id == id_)) == words


def test_a_disputes_status_has_its_row_and_an_unheard_of_one_has_none() -> None:
    for row in DISPUTES:
        assert {read_dispute(status) for status in row.statuses} == {row}
    assert read_dispute("unheard_of") is None
