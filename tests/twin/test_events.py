"""Every change makes an event that names its cause."""

import stripe as official

from anchorhold.twin import Clock, acts
from anchorhold.twin.webhooks import Hook, signature
from tests.twin.client import Client

EVENTS = "/v1/events"


def types(stripe: Client, **params: object) -> list[str]:
    """Oldest first."""
    page = stripe.get(EVENTS, limit=100, **params).body
    return [event["type"] for event in page["data"]][::-1]


def test_a_payment_makes_its_events_in_order(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    intent = stripe.intent(customer=customer["id"])
    stripe.confirm(intent["id"], payment_method="pm_card_chargeDeclined")
    stripe.confirm(intent["id"], payment_method=customer["method"])
    stripe.done("/v1/refunds", payment_intent=intent["id"])
    assert types(stripe) == [
        "customer.created",
        "payment_method.attached",
        "payment_intent.created",
        "charge.failed",
        "payment_intent.payment_failed",
        "charge.succeeded",
        "payment_intent.succeeded",
        "refund.created",
        "charge.refunded",
    ]


def test_other_ends_make_their_events(stripe: Client, clock: Clock) -> None:
    stripe.done(f"/v1/payment_intents/{stripe.intent()['id']}/cancel")
    asked = stripe.intent(
        confirm=True, payment_method="pm_card_threeDSecureRequired", return_url="https://x.example"
    )
    acts.authenticate(stripe.twin, asked["id"], passed=False)
    mandate = {"customer_acceptance": {"type": "offline"}}
    stripe.intent(
        confirm=True, off_session=True, payment_method="pm_usBankAccount_dispute",
        mandate_data=mandate,
    )  # fmt: skip
    clock.advance(20)
    assert types(stripe) == [
        "payment_intent.created",
        "payment_intent.canceled",
        "payment_intent.created",
        "payment_intent.requires_action",
        "payment_intent.payment_failed",
        "payment_intent.created",
        "charge.pending",
        "payment_intent.processing",
        "charge.succeeded",
        "payment_intent.succeeded",
        "charge.dispute.created",
        "charge.updated",
    ]


def test_what_is_undone_makes_its_events_too(stripe: Client, clock: Clock) -> None:
    customer = stripe.customer("pm_card_visa")
    stripe.done(f"/v1/payment_methods/{customer['method']}/detach")
    stripe.ask("DELETE", f"/v1/customers/{customer['id']}")
    paid = stripe.intent(confirm=True, off_session=True, payment_method="pm_card_refundFail")
    stripe.done("/v1/refunds", payment_intent=paid["id"])
    clock.advance(20)
    assert types(stripe)[2:4] == ["payment_method.detached", "customer.deleted"]
    assert types(stripe)[-4:] == [
        "refund.created",
        "charge.refunded",
        "refund.failed",
        "charge.updated",
    ]


def test_an_event_names_the_request_and_its_key(stripe: Client, clock: Clock) -> None:
    confirm = {"confirm": True, "off_session": True, "amount": 500, "currency": "usd"}
    mandate = {"customer_acceptance": {"type": "offline"}}
    answer = stripe.post(
        "/v1/payment_intents", "the-key", payment_method="pm_usBankAccount_success",
        mandate_data=mandate, **confirm,
    )  # fmt: skip
    clock.advance(20)
    caused, by_itself = stripe.get(EVENTS).body["data"][-1], stripe.get(EVENTS).body["data"][0]
    request = {"id": answer.headers["Request-Id"], "idempotency_key": "the-key"}
    assert caused["request"] == request
    assert by_itself["type"] == "payment_intent.succeeded"
    assert by_itself["request"] == {"id": None, "idempotency_key": None}


def test_an_event_keeps_the_object_as_it_was(stripe: Client) -> None:
    intent = stripe.intent()
    stripe.confirm(intent["id"], payment_method="pm_card_visa")
    created = stripe.get(EVENTS, type="payment_intent.created").body["data"][0]
    assert created["data"]["object"] == intent
    assert stripe.get(f"{EVENTS}/{created['id']}").body == created


def test_an_update_names_what_was_there_before(stripe: Client) -> None:
    customer = stripe.customer(name="Ada")
    path = f"/v1/customers/{customer['id']}"
    stripe.done(path, name="Grace")
    stripe.done(path, name="Grace")
    (updated,) = stripe.get(EVENTS, type="customer.updated").body["data"]
    assert updated["data"]["previous_attributes"] == {"name": "Ada"}


def test_events_are_filtered_by_type_types_and_time(stripe: Client, clock: Clock) -> None:
    stripe.customer()
    clock.advance(10)
    intent = stripe.intent()
    stripe.done(f"/v1/payment_intents/{intent['id']}/cancel")
    assert types(stripe, type="customer.created") == ["customer.created"]
    assert types(stripe, type="payment_intent.*") == [
        "payment_intent.created",
        "payment_intent.canceled",
    ]
    assert types(stripe, types=["customer.created", "payment_intent.canceled"]) == [
        "customer.created",
        "payment_intent.canceled",
    ]
    assert types(stripe, created={"gte": intent["created"]})[0] == "payment_intent.created"
    assert stripe.get(EVENTS, type="a", types=["b"]).status == 400
    assert stripe.get(EVENTS, types=["x"] * 21).status == 400


def test_events_are_listed_for_thirty_days(stripe: Client, clock: Clock) -> None:
    stripe.customer()
    clock.advance(30 * 86_400)
    assert types(stripe) == ["customer.created"]
    clock.advance(1)
    assert types(stripe) == []


def test_a_listener_hears_every_event(stripe: Client) -> None:
    heard: list[str] = []
    stripe.twin.listeners.append(lambda _account, event: heard.append(event["type"]))
    stripe.intent()
    assert heard == ["payment_intent.created"]


def test_the_official_library_accepts_the_signature_of_each_secret() -> None:
    body, now = '{"id":"evt_1","name":"Ä"}', 1_750_000_000
    header = signature(body.encode(), now, ["whsec_old", "whsec_new"])
    assert header.count("v1=") == 2
    for secret in ("whsec_old", "whsec_new"):
        verified = official.WebhookSignature.verify_header(body, header, secret, tolerance=None)
        assert verified


def test_a_hook_gets_only_what_it_wants() -> None:
    hook = Hook("http://x", ("s",), types=("charge.*", "refund.created"), account="acct_a")
    assert hook.wants("acct_a", "charge.failed")
    assert hook.wants("acct_a", "refund.created")
    assert not hook.wants("acct_a", "refund.updated")
    assert not hook.wants("acct_b", "charge.failed")


def test_a_card_that_its_network_renews_keeps_its_id(stripe: Client) -> None:
    customer = stripe.customer("pm_card_visa")
    before = stripe.get(f"/v1/payment_methods/{customer['method']}").body
    after = acts.renew_card(stripe.twin, customer["method"])
    assert after["card"]["exp_year"] == before["card"]["exp_year"] + 3
    [event] = stripe.get(EVENTS, type="payment_method.automatically_updated").body["data"]
    assert event["data"]["previous_attributes"]["card"] == before["card"]
    assert event["request"] == {"id": None, "idempotency_key": None}
