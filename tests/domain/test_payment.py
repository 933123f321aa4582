"""What a success at Stripe is, as settling needs it."""

from dataclasses import replace

from anchorhold.domain.answer import IntentStatus
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.payment import NOTICES, Success, Verdict
from tests.domain.views import charge, intent

OWN = AttemptId("att_1")


def test_a_success_is_what_was_received_and_not_what_was_asked_for() -> None:
    shown = replace(intent(charge=charge(refunded=250)), amount=1000, amount_received=900)
    assert Success.of(shown, OWN) == Success("pi_1", 900, 250, "eur", "ch_1", OWN)


def test_no_more_than_was_received_can_have_been_given_back() -> None:
    shown = replace(intent(charge=charge(refunded=1000)), amount_received=400)
    assert Success.of(shown, None).amount_refunded == 400


def test_of_a_charge_that_was_not_shown_nothing_is_known() -> None:
    success = Success.of(intent(IntentStatus.SUCCEEDED), None)
    assert (success.charge_id, success.amount_refunded, success.attempt_id) == (None, 0, None)


def test_every_verdict_but_a_plain_payment_needs_a_person_or_says_why_not() -> None:
    assert set(Verdict) - set(NOTICES) == {Verdict.PAID, Verdict.KNOWN}
