"""Whatever is asked in whatever order: an intent takes its money at most once."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from typing_extensions import override

from anchorhold.twin import Clock, FaultKind, Response, Rule, Settings, Twin, acts
from anchorhold.twin.errors import StripeError
from tests.openapi import validate_object
from tests.twin.client import Client

METHODS = st.sampled_from(
    [
        "pm_card_visa",
        "pm_card_chargeDeclined",
        "pm_card_authenticationRequired",
        "pm_card_createDispute",
        "pm_card_refundFail",
        "pm_usBankAccount_success",
        "pm_usBankAccount_insufficientFunds",
        "pm_usBankAccount_processing",
        "pm_usBankAccount_dispute",
    ]
)
MANDATE = {"customer_acceptance": {"type": "offline"}}


class Stripe(RuleBasedStateMachine):
    """One twin, a few intents, and everything that can happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.twin = Twin(clock=self.clock, settings=Settings(confirms_before_cancel=4))
        self.stripe = Client(self.twin)
        self.sent = 0

    def intents(self) -> list[dict[str, Any]]:
        return list(self.twin.account().payment_intents)

    def pick(self, data: st.DataObject) -> dict[str, Any]:
        return data.draw(st.sampled_from(self.intents()))

    def post(self, path: str, params: dict[str, Any], key: int | None) -> None:
        self.sent += 1
        idem = f"k{key}" if key is not None else f"s{self.sent}"
        answer = self.stripe.send("POST", path, params, idem=idem)
        assert not isinstance(answer, Response) or answer.status in {200, 400, 402, 409, 429, 500}

    @rule(kind=st.sampled_from(FaultKind), seconds=st.integers(0, 60))
    def break_the_next(self, kind: FaultKind, seconds: int) -> None:
        self.twin.faults.replace([Rule(kind, "POST *", frozenset({1}), seconds=seconds)])

    @precondition(lambda self: len(self.intents()) < 4)
    @rule(amount=st.integers(50, 60), method=METHODS, confirm=st.booleans())
    def create(self, amount: int, method: str, confirm: bool) -> None:
        extra = {"off_session": True, "mandate_data": MANDATE} if confirm else {}
        params = {"amount": amount, "currency": "usd", "confirm": confirm,
                  "payment_method": method, **extra}  # fmt: skip
        self.post("/v1/payment_intents", params, None)

    @precondition(lambda self: self.intents())
    @rule(data=st.data(), method=METHODS, away=st.booleans(), key=st.none() | st.integers(0, 3))
    def confirm(self, data: st.DataObject, method: str, away: bool, key: int | None) -> None:
        path = f"/v1/payment_intents/{self.pick(data)['id']}/confirm"
        params = {"payment_method": method, "off_session": away, "mandate_data": MANDATE,
                  "return_url": "https://example.com"}  # fmt: skip
        self.post(path, params, key)

    @precondition(lambda self: self.intents())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.post(f"/v1/payment_intents/{self.pick(data)['id']}/cancel", {}, None)

    @precondition(lambda self: self.intents())
    @rule(data=st.data(), amount=st.integers(50, 60))
    def change(self, data: st.DataObject, amount: int) -> None:
        self.post(f"/v1/payment_intents/{self.pick(data)['id']}", {"amount": amount}, None)

    @precondition(lambda self: self.intents())
    @rule(data=st.data(), amount=st.none() | st.integers(1, 60))
    def refund(self, data: st.DataObject, amount: int | None) -> None:
        part = {} if amount is None else {"amount": amount}
        self.post("/v1/refunds", {"payment_intent": self.pick(data)["id"], **part}, None)

    @precondition(lambda self: self.intents())
    @rule(data=st.data(), passed=st.booleans())
    def come_back_from_the_bank(self, data: st.DataObject, passed: bool) -> None:
        intent = self.pick(data)
        if intent["status"] == "requires_action":
            acts.authenticate(self.twin, intent["id"], passed=passed)
            return
        with pytest.raises(StripeError, match="payment_intent_unexpected_state"):
            acts.authenticate(self.twin, intent["id"], passed=passed)

    @rule(seconds=st.sampled_from([1, 30, 86_400]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.twin.run_due()

    @invariant()
    def an_intent_succeeds_at_most_once_and_shows_it(self) -> None:
        account = self.twin.account()
        for intent in account.payment_intents:
            charges = account.charges.where("payment_intent", intent["id"])
            paid = [charge for charge in charges if charge["status"] == "succeeded"]
            assert len(paid) == (intent["status"] == "succeeded")
            assert intent["amount_received"] == sum(charge["amount_captured"] for charge in paid)
            if paid:
                assert intent["latest_charge"] == paid[0]["id"] == charges[-1]["id"]
                assert intent["amount"] == paid[0]["amount"]

    @invariant()
    def no_more_goes_back_than_came(self) -> None:
        account = self.twin.account()
        for charge in account.charges:
            standing = sum(
                refund["amount"]
                for refund in account.refunds.where("charge", charge["id"])
                if refund["status"] != "failed"
            )
            assert standing == charge["amount_refunded"] <= charge["amount_captured"]

    @override
    def teardown(self) -> None:
        account = self.twin.account()
        for table in account.tables.values():
            for obj in table:
                validate_object(obj)


TestStripe = Stripe.TestCase
TestStripe.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
