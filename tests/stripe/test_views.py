"""Whatever Stripe writes is read, or is an unreadable answer; it is never an exception."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhold.domain.answer import (
    CustomerView,
    Decline,
    Doubt,
    EventView,
    IntentStatus,
    IntentView,
    Refused,
    Shown,
    Unclear,
)
from anchorhold.stripe import views
from tests.stripe.objects import a_charge, a_decline, a_list, an_error, an_event, an_intent

READERS = (
    views.intent,
    views.charge_view,
    views.customer,
    views.event,
    views.own_id("account"),
    views.page(views.intent),
)


def read_intent(**changes: Any) -> IntentView:
    """The intent, which has to be readable."""
    answer = views.shown(an_intent(**changes), {}, None, views.intent)
    assert isinstance(answer, Shown), answer
    return answer.value


def test_an_intent_is_read_with_its_charge() -> None:
    view = read_intent()
    assert (view.id, view.status, view.amount) == ("pi_1", IntentStatus.SUCCEEDED, 1200)
    assert (view.customer, view.metadata) == ("cus_1", {"anchorhold_invoice_id": "inv_1"})
    assert view.latest_charge is not None
    assert view.paid


def test_expanded_and_plain_references_are_the_same() -> None:
    expanded = read_intent(customer={"id": "cus_1", "object": "customer"})
    assert expanded == read_intent()


def test_a_charge_that_is_only_named_is_known_by_its_id_and_not_invented() -> None:
    view = read_intent(latest_charge="ch_9")
    assert (view.latest_charge, view.latest_charge_id) == (None, "ch_9")


def test_an_intent_refunded_in_full_is_not_paid() -> None:
    assert not read_intent(latest_charge=a_charge(amount_refunded=1200)).paid
    assert read_intent(latest_charge=a_charge(amount_refunded=1199)).paid


def test_the_reason_of_a_failed_charge_is_the_issuers() -> None:
    outcome = {
        "type": "issuer_declined",
        "reason": "insufficient_funds",
        "advice_code": "try_again_later",
    }
    failed = a_charge(
        status="failed", failure_code="card_declined", failure_message="No.", outcome=outcome
    )
    charge = read_intent(latest_charge=failed).latest_charge
    assert charge is not None
    assert charge.failure == Decline(
        "card_declined", "insufficient_funds", "try_again_later", "No."
    )


@pytest.mark.parametrize("field", ["id", "status", "amount", "currency", "created", "object"])
@pytest.mark.parametrize("value", [None, [], True, {"id": {}}], ids=str)
def test_a_field_of_the_wrong_shape_makes_the_answer_unreadable(field: str, value: object) -> None:
    answer = views.shown(an_intent(**{field: value}), {}, None, views.intent)
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.UNREADABLE_ANSWER


def test_a_status_from_the_future_is_unreadable_and_not_guessed() -> None:
    answer = views.shown(an_intent(status="half_succeeded"), {}, None, views.intent)
    assert answer == Unclear(Doubt.UNREADABLE_ANSWER, "unknown status half_succeeded")


def test_an_answer_about_another_intent_is_unreadable() -> None:
    answer = views.shown(an_intent(), {}, None, views.intent_named("pi_2"))
    assert answer == Unclear(Doubt.UNREADABLE_ANSWER, "asked for pi_2, shown pi_1")


def test_an_answer_to_another_request_is_unreadable() -> None:
    headers = {"Idempotency-Key": "charge_2"}
    assert isinstance(views.shown(an_intent(), headers, "charge_1", views.intent), Unclear)
    assert isinstance(views.shown(an_intent(), headers, "charge_2", views.intent), Shown)
    refusal = views.refused(402, json.dumps(a_decline()), headers, "charge_1")
    assert isinstance(refusal, Unclear)


def test_a_deleted_customer_is_shown_as_deleted() -> None:
    gone = {"id": "cus_1", "object": "customer", "deleted": True}
    assert views.customer(gone) == CustomerView("cus_1", deleted=True)
    assert views.customer({"id": "cus_1", "object": "customer"}) == CustomerView("cus_1")


@pytest.mark.parametrize(
    ("request_", "key"),
    [({"id": "req_1", "idempotency_key": "charge_1"}, "charge_1"), ({"id": None}, None)],
)
def test_an_event_names_its_object_and_the_key_behind_it(
    request_: dict[str, Any], key: str | None
) -> None:
    event = views.event(an_event(request=request_))
    assert event == EventView("evt_1", "payment_intent.succeeded", 1_790_000_001, "pi_1", key)


def test_an_event_that_nobody_requested_or_about_something_without_an_id_is_an_event() -> None:
    event = views.event(an_event(request=None, data={"object": {"object": "balance"}}))
    assert (event.object_id, event.idempotency_key) == ("", None)


def test_a_list_that_promises_more_and_shows_nothing_is_unreadable() -> None:
    assert isinstance(views.shown(a_list(more=True), {}, None, views.page(views.intent)), Unclear)


def test_one_unreadable_row_makes_a_page_unreadable() -> None:
    rows = a_list(an_intent(), an_intent(amount="12"))
    assert isinstance(views.shown(rows, {}, None, views.page(views.intent)), Unclear)


def test_a_decline_carries_all_that_the_bank_said() -> None:
    headers = {"Request-Id": "req_1", "Idempotent-Replayed": "true"}
    answer = views.refused(402, json.dumps(a_decline()), headers, None)
    assert isinstance(answer, Refused)
    assert (answer.status, answer.type, answer.code) == (402, "card_error", "card_declined")
    assert answer.decline == Decline(
        "card_declined",
        "insufficient_funds",
        "try_again_later",
        "Your card has insufficient funds.",
    )
    assert answer.intent is not None
    assert answer.intent.status is IntentStatus.REQUIRES_PAYMENT_METHOD
    assert (answer.charge_id, answer.request_id, answer.replayed) == ("ch_2", "req_1", True)


def test_only_a_card_error_is_a_decline() -> None:
    answer = views.refused(400, json.dumps(an_error(type="idempotency_error")), {}, None)
    assert isinstance(answer, Refused)
    assert (answer.type, answer.decline) == ("idempotency_error", None)


def test_what_stands_beside_a_refusal_may_be_unreadable_without_undoing_it() -> None:
    body = json.dumps(a_decline(payment_intent={"id": 7}, charge=["ch_2"]))
    answer = views.refused(402, body, {}, None)
    assert isinstance(answer, Refused)
    assert (answer.intent, answer.charge_id) == (None, None)


@pytest.mark.parametrize("body", [None, "", "<html>Forbidden</html>", "[]", '{"ok":1}', "[" * 9999])
@pytest.mark.parametrize("status", [400, 402, 403, 404, 409, 424, 429])
def test_a_4xx_without_stripes_error_object_did_not_come_from_stripe(
    status: int, body: str | None
) -> None:
    answer = views.refused(status, body, {}, None)
    assert isinstance(answer, Unclear)
    assert answer.cause is Doubt.UNREADABLE_ANSWER


@pytest.mark.parametrize("body", [None, "<html>Bad Gateway</html>", '{"error": "oops"}'])
def test_a_5xx_is_a_5xx_with_or_without_a_body(body: str | None) -> None:
    answer = views.refused(502, body, {"Request-Id": "req_1", "Retry-After": "7"}, None)
    assert isinstance(answer, Refused)
    assert (answer.status, answer.request_id, answer.retry_after) == (502, "req_1", 7)


@pytest.mark.parametrize("value", ["soon", "-1", "", "1.5", "²"])
def test_a_retry_after_that_is_no_number_of_seconds_is_left_out(value: str) -> None:
    answer = views.refused(429, json.dumps(an_error()), {"Retry-After": value}, None)
    assert isinstance(answer, Refused)
    assert answer.retry_after is None


@pytest.mark.parametrize("status", [304, 307])
def test_a_redirect_is_unreadable(status: int) -> None:
    assert isinstance(views.refused(status, json.dumps(an_error()), {}, None), Unclear)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["id", "object", "status", "amount", "customer", "metadata", "latest_charge", "data", "request"]
)


@given(data=JSON | st.dictionaries(FIELDS, JSON), reader=st.sampled_from(READERS))
def test_no_json_at_all_raises(data: object, reader: views.Read[object]) -> None:
    answer = views.shown(data, {}, None, reader)
    assert answer.value is not None if isinstance(answer, Shown) else answer.detail


@given(changes=st.dictionaries(FIELDS, JSON))
def test_no_damage_to_an_intent_raises(changes: dict[str, Any]) -> None:
    answer = views.shown(an_intent(**changes), {}, None, views.intent)
    assert answer.value.id if isinstance(answer, Shown) else answer.detail


@given(error=JSON, status=st.integers(300, 599))
def test_no_error_body_raises(error: object, status: int) -> None:
    answer = views.refused(status, json.dumps({"error": error}), {}, None)
    assert isinstance(answer, Refused | Unclear)
