"""What an end keeps of its answer: the row, the request, the charge, the words of the refusal."""

from anchorhold.domain.answer import Decline, IntentStatus, Refused, Shown, intent_in
from anchorhold.domain.outcome import end_of, read
from tests.domain.views import charge, intent, refused


def test_an_end_keeps_the_row_the_request_and_the_charge_of_what_was_shown() -> None:
    answer = Shown(intent(IntentStatus.PROCESSING, charge("pending")), request_id="req_1")
    end = end_of(read(answer), answer)
    assert (end.rule, end.request_id, end.charge_id) == ("A2", "req_1", "ch_1")


def test_only_what_is_followed_is_named_as_followed() -> None:
    answer = Shown(intent(IntentStatus.REQUIRES_ACTION))
    end = end_of(read(answer), answer)
    assert (end.followed_intent, end.charge_id) == (None, None)


def test_a_refusal_without_a_decline_keeps_stripes_words() -> None:
    answer = refused(400, code="parameter_invalid", message="No such thing.")
    end = end_of(read(answer), answer)
    assert end.decline == Decline("parameter_invalid", message="No such thing.")
    assert end.rule == "A12"


def test_an_intent_is_found_in_what_is_shown_and_in_a_refusal_that_carries_it() -> None:
    canceled = intent(IntentStatus.CANCELED)
    assert intent_in(Shown(canceled)) is canceled
    assert intent_in(Refused(400, intent=canceled)) is canceled
    assert intent_in(Refused(400)) is None
