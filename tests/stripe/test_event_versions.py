"""What we read of an event is the same in every API version that an endpoint may have."""

from typing import Any

import pytest

from anchorhold.domain.news import TYPES
from anchorhold.stripe import views
from anchorhold.twin import API_VERSION, Clock, Twin, acts
from anchorhold.twin.events import rendered
from tests.twin.client import Client

VERSIONS = ("2020-08-27", "2022-08-01", "2022-11-15", "2023-10-16", "2024-06-20",
            "2025-02-24.acacia", "2025-09-30.clover", "2026-05-27.dahlia", API_VERSION)  # fmt: skip


def busy() -> Twin:
    """A Stripe that made an event of each type in question that it can make."""
    clock = Clock()
    twin = Twin(seed=1, clock=clock)
    stripe = Client(twin)
    off: dict[str, Any] = {"confirm": True, "off_session": True, "metadata": {"a": "b"}}
    intent = stripe.intent()
    stripe.confirm(intent["id"], payment_method="pm_card_chargeDeclined")
    stripe.confirm(intent["id"], payment_method="pm_card_visa")
    stripe.done("/v1/refunds", payment_intent=intent["id"], amount=1)
    failing = stripe.intent(payment_method="pm_card_refundFail", **off)
    refund = stripe.done("/v1/refunds", payment_intent=failing["id"])
    stripe.done(f"/v1/refunds/{refund['id']}", metadata={"c": "d"})
    debit = {**off, "mandate_data": {"customer_acceptance": {"type": "offline"}}}
    stripe.intent(payment_method="pm_success_de", currency="eur", **debit)
    stripe.done(f"/v1/payment_intents/{stripe.intent()['id']}/cancel")
    stripe.intent(payment_method="pm_card_createDispute", **off)
    dispute = stripe.get("/v1/disputes").body["data"][0]
    stripe.done(f"/v1/disputes/{dispute['id']}", metadata={"e": "f"})
    acts.close_dispute(twin, dispute["id"], won=True)
    customer = stripe.customer("pm_card_visa")
    stripe.done(f"/v1/payment_methods/{customer['method']}", metadata={"g": "h"})
    acts.renew_card(twin, customer["method"])
    stripe.done(f"/v1/customers/{customer['id']}", name="Ada")
    stripe.ask("DELETE", f"/v1/customers/{customer['id']}")
    clock.advance(60)
    twin.run_due()
    return twin


NOT_MADE = {
    "payment_intent.amount_capturable_updated", "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
}  # fmt: skip
"""In question, and not made by the twin."""


@pytest.fixture(scope="module")
def twin() -> Twin:
    return busy()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_event_says_the_same_in_every_version(twin: Twin, version: str) -> None:
    account = twin.account()
    for newest in account.newest_events.values():
        shown = rendered(account, newest, version)
        assert shown["api_version"] == version
        assert views.news(shown) == views.news(newest), newest["type"]


def test_every_type_in_question_is_among_them(twin: Twin) -> None:
    made = {event["type"] for event in twin.account().newest_events.values()}
    assert set(TYPES) - made == NOT_MADE
