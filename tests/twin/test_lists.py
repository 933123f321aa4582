"""Pages: newest first, with every filter, and complete."""

from typing import Any

import pytest

from anchorhold.twin import Clock, ClockTime, GoneCustomer, Settings, Twin
from tests.twin.client import Client

INTENTS = "/v1/payment_intents"


def ids(page: dict[str, Any]) -> list[str]:
    return [obj["id"] for obj in page["data"]]


def walk(stripe: Client, path: str, **params: Any) -> list[str]:
    """Every id, by pages."""
    found: list[str] = []
    while True:
        page = stripe.get(path, **params).body
        found += ids(page)
        if not page["has_more"]:
            return found
        params["starting_after"] = found[-1]


def test_a_list_is_newest_first_ten_at_a_time(stripe: Client) -> None:
    made = [stripe.intent()["id"] for _ in range(12)]
    page = stripe.get(INTENTS).body
    assert (page["object"], page["url"], page["has_more"]) == ("list", INTENTS, True)
    assert ids(page) == made[:1:-1]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_of_any_size_show_everything_once(stripe: Client, limit: int) -> None:
    customer, other = stripe.customer(), stripe.customer()
    made = []
    for _ in range(7):
        made.append(stripe.intent(customer=customer["id"])["id"])
        stripe.intent(customer=other["id"])
    assert walk(stripe, INTENTS, customer=customer["id"], limit=limit) == made[::-1]


def test_new_objects_between_two_pages_move_nothing(stripe: Client) -> None:
    made = [stripe.intent()["id"] for _ in range(4)]
    first = stripe.get(INTENTS, limit=2).body
    stripe.intent()
    second = stripe.get(INTENTS, limit=2, starting_after=ids(first)[-1]).body
    assert ids(first) + ids(second) == made[::-1]
    assert not second["has_more"]


def test_ending_before_gives_the_newer_neighbours_newest_first(stripe: Client) -> None:
    made = [stripe.intent()["id"] for _ in range(5)]
    page = stripe.get(INTENTS, ending_before=made[1], limit=2).body
    assert ids(page) == [made[3], made[2]]
    assert page["has_more"]
    rest = stripe.get(INTENTS, ending_before=made[3], limit=2).body
    assert (ids(rest), rest["has_more"]) == ([made[4]], False)


def test_bad_pages_are_refused(stripe: Client) -> None:
    one = stripe.intent()["id"]
    for params in (
        {"limit": 0},
        {"limit": 101},
        {"starting_after": "pi_0"},
        {"starting_after": one, "ending_before": one},
        {"status": "succeeded"},
    ):
        assert stripe.get(INTENTS, **params).status == 400, params


def test_created_filters_are_exact_to_the_second(stripe: Client, clock: Clock) -> None:
    made = []
    for _ in range(4):
        made.append(stripe.intent())
        clock.advance(10)
    second = made[1]["created"]
    newest_first = [one["id"] for one in reversed(made)]
    cases = {"gt": newest_first[:2], "gte": newest_first[:3], "lt": newest_first[3:],
             "lte": newest_first[2:]}  # fmt: skip
    for bound, expected in cases.items():
        assert ids(stripe.get(INTENTS, created={bound: second}).body) == expected, bound
    assert ids(stripe.get(INTENTS, created=second).body) == [made[1]["id"]]


def test_charges_are_expanded_in_a_list_and_in_one_object(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    intent = stripe.intent(customer=customer["id"])
    stripe.confirm(intent["id"], payment_method=customer["method"])
    page = stripe.get(INTENTS, expand=["data.latest_charge.payment_intent", "data.customer"]).body
    row = page["data"][0]
    assert row["latest_charge"]["payment_intent"]["id"] == intent["id"]
    assert row["customer"]["id"] == customer["id"]
    one = stripe.get(f"{INTENTS}/{intent['id']}", expand=["payment_method"]).body
    assert one["payment_method"]["card"]["last4"] == "4242"
    plain = stripe.get(f"{INTENTS}/{intent['id']}").body
    assert isinstance(plain["latest_charge"], str)


def test_charges_of_one_intent_or_one_customer(stripe: Client) -> None:
    customer = stripe.customer("pm_card_chargeCustomerFail")
    first, second = (stripe.intent(customer=customer["id"]) for _ in range(2))
    for intent in (first, first, second):
        stripe.confirm(intent["id"], payment_method=customer["method"])
    assert len(stripe.get("/v1/charges", payment_intent=first["id"]).body["data"]) == 2
    assert len(stripe.get("/v1/charges", customer=customer["id"]).body["data"]) == 3
    assert len(stripe.get("/v1/charges").body["data"]) == 3


def test_a_list_for_a_customer_who_is_gone_is_refused_or_shown(clock: Clock) -> None:
    for mode in GoneCustomer:
        stripe = Client(Twin(clock=clock, settings=Settings(gone_customer=mode)))
        gone = stripe.customer()["id"]
        intent = stripe.intent(customer=gone)["id"]
        stripe.ask("DELETE", f"/v1/customers/{gone}")
        deleted, unknown = (stripe.get(INTENTS, customer=one) for one in (gone, "cus_0"))
        if mode is GoneCustomer.REFUSED:
            for refused in (deleted, unknown):
                assert (refused.status, refused.error["code"]) == (400, "resource_missing")
        else:
            assert (ids(deleted.body), ids(unknown.body)) == ([intent], [])


@pytest.mark.parametrize("mode", ClockTime)
def test_a_test_clocks_objects_live_in_its_time_and_off_the_general_list(
    clock: Clock, mode: ClockTime
) -> None:
    stripe = Client(Twin(clock=clock, settings=Settings(clock_time=mode)))
    frozen = int(clock.now) + 86_400 * 40
    test_clock = stripe.done("/v1/test_helpers/test_clocks", frozen_time=frozen)["id"]
    customer = stripe.customer(test_clock=test_clock)["id"]
    intent = stripe.intent(customer=customer)
    assert intent["created"] == (frozen if mode is ClockTime.FROZEN else int(clock.now))
    assert ids(stripe.get(INTENTS).body) == []
    assert ids(stripe.get(INTENTS, customer=customer).body) == [intent["id"]]
    assert ids(stripe.get("/v1/customers").body) == []
    assert ids(stripe.get("/v1/customers", test_clock=test_clock).body) == [customer]


def test_there_are_no_test_clocks_in_live_mode(stripe: Client) -> None:
    stripe.twin.open_account("acct_live", "sk_live_x", livemode=True)
    live = Client(stripe.twin, "sk_live_x")
    assert live.customer()["livemode"]
    assert live.post("/v1/test_helpers/test_clocks", frozen_time=1_700_000_000).status == 400


def test_a_test_clock_moves_forward_only_and_takes_its_customers_along(stripe: Client) -> None:
    clocks = "/v1/test_helpers/test_clocks"
    one = stripe.done(clocks, frozen_time=1_700_000_000, name="long ago")
    customer = stripe.customer(test_clock=one["id"])["id"]
    path = f"{clocks}/{one['id']}"
    assert stripe.post(f"{path}/advance", frozen_time=1_600_000_000).status == 400
    later = stripe.done(f"{path}/advance", frozen_time=1_800_000_000)
    assert stripe.get(path).body == later
    assert ids(stripe.get(clocks).body) == [one["id"]]
    assert stripe.ask("DELETE", path).body["deleted"]
    assert stripe.get(path).status == 404
    assert stripe.get(f"/v1/customers/{customer}").body["deleted"]
