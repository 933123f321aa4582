"""Each kind of fault: what Stripe did, what the client meets, what a repetition finds."""

import re
from typing import Any

import pytest

from anchorhold.twin import (
    Break,
    Broken,
    Clock,
    FaultKind,
    Request,
    Response,
    Rule,
    Twin,
    rule_from_json,
    rule_from_text,
)
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import SECRET_KEY
from tests.twin.client import Client

INTENTS = "/v1/payment_intents"
PAY = {
    "amount": 500,
    "currency": "usd",
    "confirm": True,
    "off_session": True,
    "payment_method": "pm_card_visa",
}


def once(kind: FaultKind, seconds: float = 0.0, endpoint: str = "*") -> Rule:
    return Rule(kind, endpoint, frozenset({1}), seconds=seconds)


def pay(stripe: Client, rule: Rule) -> Response | Broken:
    stripe.twin.faults.replace([rule])
    return stripe.send("POST", INTENTS, PAY, idem="k")


def successes(twin: Twin) -> int:
    return sum(charge["status"] == "succeeded" for charge in twin.account().charges)


LOST = [
    (FaultKind.REFUSED, Break.REFUSED, False),
    (FaultKind.DROPPED_BEFORE, Break.DROPPED, False),
    (FaultKind.DROPPED_AFTER, Break.DROPPED, True),
    (FaultKind.CUT, Break.CUT, True),
    (FaultKind.LATE, Break.NEVER, False),
]


@pytest.mark.parametrize(("kind", "how", "executed"), LOST)
def test_a_lost_answer_says_nothing_and_a_repetition_pays_once(
    stripe: Client, kind: FaultKind, how: Break, executed: bool
) -> None:
    lost = pay(stripe, once(kind))
    assert isinstance(lost, Broken)
    assert (lost.how, lost.executed, successes(stripe.twin)) == (how, executed, int(executed))
    again = stripe.post(INTENTS, "k", **PAY)
    assert again.body["status"] == "succeeded"
    assert ("Idempotent-Replayed" in again.headers) == (executed or kind is FaultKind.LATE)
    assert successes(stripe.twin) == 1


def test_a_cut_answer_has_its_headers_and_half_of_its_body(stripe: Client) -> None:
    lost = pay(stripe, once(FaultKind.CUT))
    assert isinstance(lost, Broken)
    whole = int(lost.headers["Content-Length"])
    assert (lost.status, len(lost.sent)) == (200, whole // 2)
    assert lost.sent.startswith(b'{"id":"pi_')


@pytest.mark.parametrize(
    ("kind", "effect"),
    [(FaultKind.ERROR_500_WITHOUT_EFFECT, 0), (FaultKind.ERROR_500_WITH_EFFECT, 1)],
)
def test_a_500_hides_whether_it_had_its_effect(
    stripe: Client, kind: FaultKind, effect: int
) -> None:
    stripe.twin.faults.replace([once(kind)])
    failed = stripe.post(INTENTS, "k", **PAY)
    assert (failed.status, failed.error["type"]) == (500, "api_error")
    assert successes(stripe.twin) == effect
    assert stripe.post(INTENTS, "k", **PAY).status == 500
    assert successes(stripe.twin) == effect


def test_a_500_can_have_its_effect_later(stripe: Client, clock: Clock) -> None:
    stripe.twin.faults.replace([once(FaultKind.ERROR_500_LATE_EFFECT, seconds=100_000)])
    assert stripe.post(INTENTS, "k", **PAY).status == 500
    clock.advance(99_999)
    assert stripe.get(INTENTS).body["data"] == []
    clock.advance(1)
    assert [one["status"] for one in stripe.get(INTENTS).body["data"]] == ["succeeded"]


def test_a_late_request_is_carried_out_by_the_clock(stripe: Client, clock: Clock) -> None:
    start = clock.now
    pay(stripe, once(FaultKind.LATE, seconds=90))
    assert stripe.twin.next_due() == start + 90
    clock.advance(89)
    assert stripe.get(INTENTS).body["data"] == []
    clock.advance(500)
    made = stripe.get(INTENTS).body["data"]
    assert [(one["status"], one["created"]) for one in made] == [("succeeded", int(start) + 90)]
    entry = stripe.twin.requests[0]
    assert (entry.at, entry.executed_at) == (start, start + 90)


def test_a_late_request_whose_key_does_not_count_is_refused_at_once(stripe: Client) -> None:
    stripe.twin.add_key(SECRET_KEY, state=KeyState.REVOKED)
    stripe.twin.faults.replace([once(FaultKind.LATE, seconds=90)])
    assert stripe.post("/v1/customers").status == 401
    stripe.twin.add_key(SECRET_KEY, state=KeyState.VALID)
    assert stripe.twin.run_late() == 0


def test_a_late_request_can_be_carried_out_at_will(stripe: Client) -> None:
    pay(stripe, once(FaultKind.LATE, seconds=9e9))
    assert stripe.twin.run_late() == 1
    assert successes(stripe.twin) == 1
    assert stripe.twin.next_due() is None


def test_a_late_confirm_locks_its_intent_for_others(stripe: Client, clock: Clock) -> None:
    intent = stripe.intent()
    path = f"{INTENTS}/{intent['id']}"
    stripe.twin.faults.replace([once(FaultKind.LATE, 30, f"POST {INTENTS}/{{id}}/confirm")])
    fields = {"payment_method": "pm_card_visa", "off_session": True}
    assert isinstance(stripe.send("POST", f"{path}/confirm", fields, idem="c"), Broken)
    for verb in ("/confirm", "/cancel", ""):
        busy = stripe.post(f"{path}{verb}")
        assert (busy.status, busy.error["code"]) == (429, "lock_timeout"), verb
        assert busy.headers["Stripe-Should-Retry"] == "true"
    assert stripe.get(path).body["status"] == "requires_payment_method"
    clock.advance(30)
    assert stripe.get(path).body["status"] == "succeeded"
    assert stripe.post(f"{path}/cancel").error["code"] == "payment_intent_unexpected_state"


def test_a_late_update_locks_its_customer_for_other_updates(stripe: Client) -> None:
    path = f"/v1/customers/{stripe.customer()['id']}"
    stripe.twin.faults.replace([once(FaultKind.LATE, 30)])
    assert isinstance(stripe.send("POST", path, {"name": "Ada"}), Broken)
    assert stripe.post(path, name="Grace").error["code"] == "lock_timeout"
    assert stripe.get(path).body["name"] is None
    stripe.twin.run_late()
    assert stripe.get(path).body["name"] == "Ada"


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (FaultKind.RATE_LIMIT, 429, "rate_limit"),
        (FaultKind.LOCK_TIMEOUT, 429, "lock_timeout"),
        (FaultKind.CONFLICT, 409, "idempotency_key_in_use"),
    ],
)
def test_a_busy_stripe_does_nothing(
    stripe: Client, kind: FaultKind, status: int, code: str
) -> None:
    stripe.twin.faults.replace([once(kind)])
    busy = stripe.post(INTENTS, "k", **PAY)
    assert (busy.status, busy.error["code"]) == (status, code)
    assert len(stripe.twin.account().payment_intents) == 0


def test_a_slow_answer_is_right_and_says_how_late_it_comes(stripe: Client) -> None:
    slow = pay(stripe, once(FaultKind.SLOW, 12))
    assert isinstance(slow, Response)
    assert (slow.status, slow.delay_s) == (200, 12)


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_of_fault_can_meet_any_request_and_is_over_after_it(kind: FaultKind) -> None:
    stripe = Client(Twin(clock=Clock(), faults=[once(kind)]))
    stripe.send("GET", "/v1/balance")
    assert stripe.twin.requests[0].fault is kind
    assert stripe.get("/v1/balance").status == 200


def test_a_rule_counts_only_what_it_matches(stripe: Client) -> None:
    rule = Rule(FaultKind.RATE_LIMIT, "POST /v1/payment_intents*", frozenset({2}))
    stripe.twin.faults.replace([rule])
    assert stripe.post("/v1/customers").status == 200
    assert stripe.get(INTENTS).status == 200
    intent = stripe.intent()
    assert stripe.post(f"{INTENTS}/{intent['id']}/cancel").status == 429
    assert stripe.post(f"{INTENTS}/{intent['id']}/cancel").status == 200


def test_a_rule_may_be_about_one_key_or_one_account_only(stripe: Client) -> None:
    stripe.twin.open_account("acct_b", "sk_test_b", "sk_test_c")
    b, c = Client(stripe.twin, "sk_test_b"), Client(stripe.twin, "sk_test_c")
    stripe.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1, key="sk_test_b")])
    assert [one.get("/v1/balance").status for one in (stripe, b, c)] == [200, 429, 200]
    stripe.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1, account="acct_b")])
    assert [one.get("/v1/balance").status for one in (stripe, b, c)] == [200, 429, 429]


def test_a_rule_can_be_limited_to_so_many_times(stripe: Client) -> None:
    stripe.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1, most=2)])
    assert [stripe.get("/v1/balance").status for _ in range(4)] == [429, 429, 200, 200]


def outcome(seed: int) -> list[int]:
    rules = [Rule(FaultKind.RATE_LIMIT, probability=0.3), Rule(FaultKind.CONFLICT, probability=0.2)]
    stripe = Client(Twin(seed=seed, clock=Clock(), faults=rules))
    return [stripe.get("/v1/balance").status for _ in range(60)]


def test_the_same_seed_gives_the_same_faults_and_another_seed_others() -> None:
    assert outcome(7) == outcome(7) != outcome(8)
    assert {200, 409, 429} == set(outcome(7))


def test_new_rules_keep_the_seed_unless_given_another(stripe: Client) -> None:
    rules = [Rule(FaultKind.RATE_LIMIT, probability=0.5)]
    runs = []
    for seed in (None, None, 99):
        stripe.twin.faults.replace(rules, seed)
        runs.append([stripe.get("/v1/balance").status for _ in range(40)])
    assert runs[0] == runs[1] != runs[2]


def test_the_same_seed_gives_the_same_ids() -> None:
    one, two = (Client(Twin(seed=3, clock=Clock())) for _ in range(2))
    assert one.intent() == two.intent()


def test_a_rule_can_be_written_in_a_line() -> None:
    assert rule_from_text("dropped_after 2% POST /v1/payment_intents*") == Rule(
        FaultKind.DROPPED_AFTER, "POST /v1/payment_intents*", probability=0.02
    )
    assert rule_from_text("late:30 #1,#4") == Rule(
        FaultKind.LATE, "*", frozenset({1, 4}), seconds=30
    )


def test_a_rule_survives_json() -> None:
    rule = Rule(FaultKind.LATE, "POST *", frozenset({2}), seconds=3, account="acct_x", most=1)
    assert rule_from_json(rule.shown()) == rule


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": "late"}, "either `calls` or `probability`"),
    ({"kind": "late", "calls": [1], "probability": 0.5}, "either `calls` or `probability`"),
    ({"kind": "late", "probability": 2}, "between 0 and 1"),
    ({"kind": "late", "calls": [0]}, "count from 1"),
    ({"kind": "late", "calls": [1], "seconds": -1}, "not negative"),
    ({"kind": "nonsense", "calls": [1]}, "nonsense"),
    ({"kind": "late", "calls": [1], "color": "red"}, "unknown in a fault rule: color"),
]


@pytest.mark.parametrize(("given", "why"), WRONG)
def test_a_wrong_rule_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        rule_from_json(given)


def test_the_request_log_says_what_each_fault_did(stripe: Client) -> None:
    pay(stripe, once(FaultKind.DROPPED_AFTER))
    stripe.post(INTENTS, "k", **PAY)
    first, second = stripe.twin.requests
    assert (first.fault, first.executed, first.status, first.delivered) == (
        FaultKind.DROPPED_AFTER,
        True,
        200,
        False,
    )
    assert (second.replayed, second.executed, second.delivered) == (True, False, True)
    assert first.shown()["fault"] == "dropped_after"


def test_without_faults_is_the_other_way_in(stripe: Client) -> None:

    stripe.twin.faults.replace([Rule(FaultKind.RATE_LIMIT, probability=1)])
    request = Request("GET", "/v1/balance", {"authorization": f"Bearer {stripe.key}"})
    assert stripe.twin.handle(request).status == 200
