"""A key gives its first answer again, for a day; nothing runs twice."""

import pytest

from anchorhold.twin import Broken, Clock, FaultKind, Rule, Twin
from tests.twin.client import Client

INTENTS = "/v1/payment_intents"


def faulty(twin: Twin, kind: FaultKind, seconds: float = 0.0, endpoint: str = "*") -> None:
    """The next call meets this fault."""
    twin.faults.replace([Rule(kind, endpoint, frozenset({1}), seconds=seconds)])


def test_the_same_request_gets_the_same_answer_and_runs_once(stripe: Client) -> None:
    first = stripe.post(INTENTS, "k", amount=500, currency="usd")
    again = stripe.post(INTENTS, "k", amount=500, currency="usd")
    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Original-Request"] == first.headers["Request-Id"]
    assert again.headers["Request-Id"] != first.headers["Request-Id"]
    assert again.headers["Idempotency-Key"] == "k"
    assert len(stripe.twin.account().payment_intents) == 1


def test_parameters_in_another_order_are_the_same_parameters(stripe: Client) -> None:
    first = stripe.done(INTENTS, "k", amount=500, currency="usd")
    assert stripe.done(INTENTS, "k", currency="usd", amount=500) == first


@pytest.mark.parametrize("change", [{"amount": 501}, {"description": "more"}])
def test_other_parameters_under_a_key_are_an_idempotency_error(
    stripe: Client, change: dict[str, object]
) -> None:
    stripe.done(INTENTS, "k", amount=500, currency="usd")
    refused = stripe.post(INTENTS, "k", **{"amount": 500, "currency": "usd", **change})
    assert (refused.status, refused.error["type"]) == (400, "idempotency_error")
    assert "code" not in refused.error
    assert len(stripe.twin.account().payment_intents) == 1


def test_another_endpoint_under_a_key_is_an_idempotency_error(stripe: Client) -> None:
    intent = stripe.done(INTENTS, "k", amount=500, currency="usd")
    refused = stripe.post(f"{INTENTS}/{intent['id']}/cancel", "k")
    assert refused.error["type"] == "idempotency_error"


def test_a_key_belongs_to_one_account(stripe: Client) -> None:
    stripe.twin.open_account("acct_other", "sk_test_other")
    other = Client(stripe.twin, "sk_test_other")
    first = stripe.done(INTENTS, "k", amount=500, currency="usd")
    assert other.done(INTENTS, "k", amount=700, currency="eur")["id"] != first["id"]


def test_a_decline_is_replayed_and_never_charges(stripe: Client) -> None:
    charge = {
        "amount": 500,
        "currency": "usd",
        "confirm": True,
        "off_session": True,
        "payment_method": "pm_card_chargeDeclined",
    }
    first = stripe.post(INTENTS, "k", **charge)
    again = stripe.post(INTENTS, "k", **charge)
    assert (again.status, again.body) == (402, first.body)
    assert len(stripe.twin.account().charges) == 1


def test_a_refusal_by_the_objects_state_is_saved(stripe: Client) -> None:
    intent = stripe.intent(confirm=True, off_session=True, payment_method="pm_card_visa")
    path = f"{INTENTS}/{intent['id']}/cancel"
    assert stripe.post(path, "k").status == 400
    again = stripe.post(path, "k")
    assert again.headers["Idempotent-Replayed"] == "true"


def test_refused_parameters_leave_the_key_free(stripe: Client) -> None:
    assert stripe.post(INTENTS, "k", amount=1, currency="usd").status == 400
    assert stripe.post(INTENTS, "k", amount=500, currency="usd").status == 200


@pytest.mark.parametrize("kind", [FaultKind.RATE_LIMIT, FaultKind.LOCK_TIMEOUT, FaultKind.CONFLICT])
def test_429_and_409_leave_the_key_free(stripe: Client, kind: FaultKind) -> None:
    faulty(stripe.twin, kind)
    assert stripe.post(INTENTS, "k", amount=500, currency="usd").status in {409, 429}
    assert stripe.post(INTENTS, "k", amount=700, currency="usd").status == 200


def test_a_request_without_a_key_that_counts_leaves_the_key_free(stripe: Client) -> None:
    stranger = Client(stripe.twin, "sk_test_stranger")
    assert stranger.post(INTENTS, "k", amount=500, currency="usd").status == 401
    assert stripe.post(INTENTS, "k", amount=700, currency="usd").status == 200


def test_a_500_is_saved_too(stripe: Client) -> None:
    faulty(stripe.twin, FaultKind.ERROR_500_WITH_EFFECT)
    assert stripe.post(INTENTS, "k", amount=500, currency="usd").status == 500
    again = stripe.post(INTENTS, "k", amount=500, currency="usd")
    assert (again.status, again.headers["Idempotent-Replayed"]) == (500, "true")
    assert len(stripe.twin.account().payment_intents) == 1


def test_a_key_is_forgotten_after_a_day_and_not_a_second_earlier(
    stripe: Client, clock: Clock
) -> None:
    clock.advance(0.9)
    first = stripe.done(INTENTS, "k", amount=500, currency="usd")
    clock.advance(86_399)
    assert stripe.done(INTENTS, "k", amount=500, currency="usd")["id"] == first["id"]
    clock.advance(1)
    assert stripe.done(INTENTS, "k", amount=500, currency="usd")["id"] != first["id"]


def test_pruning_forgets_only_what_is_old(stripe: Client, clock: Clock) -> None:
    keys = stripe.twin.account().keys
    stripe.done(INTENTS, "old", amount=500, currency="usd")
    clock.advance(50_000)
    stripe.done(INTENTS, "new", amount=500, currency="usd")
    assert keys.prune(clock.advance(40_000)) == 1
    assert len(keys) == 1


def test_a_key_is_409_while_its_first_request_runs(stripe: Client, clock: Clock) -> None:
    faulty(stripe.twin, FaultKind.LATE, seconds=30)
    lost = stripe.send("POST", INTENTS, {"amount": 500, "currency": "usd"}, idem="k")
    assert isinstance(lost, Broken)
    busy = stripe.post(INTENTS, "k", amount=500, currency="usd")
    assert (busy.status, busy.error["code"]) == (409, "idempotency_key_in_use")
    other = stripe.post(INTENTS, "k", amount=700, currency="usd")
    assert other.error["type"] == "idempotency_error"
    clock.advance(30)
    replay = stripe.post(INTENTS, "k", amount=500, currency="usd")
    assert (replay.status, replay.headers["Idempotent-Replayed"]) == (200, "true")
    assert len(stripe.twin.account().payment_intents) == 1


def test_a_key_means_nothing_to_a_get(stripe: Client) -> None:
    customer = stripe.customer()
    path = f"/v1/customers/{customer['id']}"
    for name in ("a", "b"):
        stripe.done(path, name=name)
        read = stripe.ask("GET", path, idem="k")
        assert (read.body["name"], "Idempotent-Replayed" in read.headers) == (name, False)


def test_a_key_longer_than_255_characters_is_refused(stripe: Client) -> None:
    assert stripe.post(INTENTS, "k" * 256, amount=500, currency="usd").status == 400
    assert stripe.post(INTENTS, "k" * 255, amount=500, currency="usd").status == 200
