"""The provider as the engine sees it: one small Protocol.

Each verb is sent exactly once and ends in one `Result`; it raises nothing but cancellation.
`deadline` is absolute: looked at before the first byte (`NothingSent(DEADLINE_PASSED)`), and when
it passes during the call the connection is reset (`Unclear(DEADLINE)`).
"""

from collections.abc import Mapping
from typing import Protocol

from anchorhold.domain.answer import (
    ChargeView,
    CustomerView,
    Deadline,
    EventView,
    IntentView,
    Page,
    Result,
    Slice,
)
from anchorhold.domain.disputes import DisputeView
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.refund import RefundView

Params = Mapping[str, object]
"""Request parameters, nested as Stripe documents them, sent exactly as stored."""


class Provider(Protocol):
    """One Stripe account in one mode."""

    async def create_customer(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[CustomerView]:
        """POST /v1/customers under an idempotency key."""
        ...

    async def retrieve_customer(self, customer: str, deadline: Deadline) -> Result[CustomerView]:
        """GET /v1/customers/{id}; a deleted one is shown as deleted."""
        ...

    async def attach_payment_method(
        self, payment_method: str, customer: str, key: str, deadline: Deadline
    ) -> Result[str]:
        """POST /v1/payment_methods/{id}/attach; the id of the attached payment method."""
        ...

    async def create_intent(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[IntentView]:
        """POST /v1/payment_intents under an idempotency key."""
        ...

    async def confirm_intent(
        self, intent: str, params: Params, key: str, deadline: Deadline
    ) -> Result[IntentView]:
        """POST /v1/payment_intents/{id}/confirm. Never sent while the breaker is open."""
        ...

    async def cancel_intent(self, intent: str, deadline: Deadline) -> Result[IntentView]:
        """POST /v1/payment_intents/{id}/cancel, never under a key used before (a saved answer
        would be replayed): cancelling twice is harmless."""
        ...

    async def retrieve_intent(self, intent: str, deadline: Deadline) -> Result[IntentView]:
        """GET /v1/payment_intents/{id} with `latest_charge` expanded; not through the breaker."""
        ...

    async def retrieve_secret(self, intent: str, deadline: Deadline) -> Result[str]:
        """GET /v1/payment_intents/{id}: its client secret, for the customer's browser alone."""
        ...

    async def list_intents(
        self, customer: str, created_gte: int | None, deadline: Deadline
    ) -> Result[Page[IntentView]]:
        """Every page of GET /v1/payment_intents of a customer; not through the breaker."""
        ...

    async def list_charges(self, intent: str, deadline: Deadline) -> Result[Page[ChargeView]]:
        """Every page of GET /v1/charges of one intent; not through the breaker."""
        ...

    async def list_events(
        self, types: tuple[str, ...], created_gte: int, deadline: Deadline
    ) -> Result[Page[EventView]]:
        """Every page of GET /v1/events of these types since then; not through the breaker."""
        ...

    async def page_of_intents(
        self, created_gte: int, after: str | None, deadline: Deadline
    ) -> Result[Slice[IntentView]]:
        """One page of GET /v1/payment_intents of all customers; not through the breaker."""
        ...

    async def page_of_changes(
        self, created_gte: int, after: str | None, deadline: Deadline
    ) -> Result[Slice[IntentView]]:
        """One page of GET /v1/events about PaymentIntents, each as it was at its event.

        `after` is the id of an event. Not through the breaker.
        """
        ...

    async def list_news(
        self, types: tuple[str, ...], created_gte: int, created_lt: int, deadline: Deadline
    ) -> Result[Page[StripeEvent]]:
        """Every page of GET /v1/events of these types in that time; not through the breaker."""
        ...

    async def create_refund(
        self, params: Params, key: str, deadline: Deadline
    ) -> Result[RefundView]:
        """POST /v1/refunds under an idempotency key. Never sent while the breaker is open."""
        ...

    async def list_refunds(self, intent: str, deadline: Deadline) -> Result[Page[RefundView]]:
        """Every page of GET /v1/refunds of one intent; not through the breaker."""
        ...

    async def retrieve_dispute(self, dispute: str, deadline: Deadline) -> Result[DisputeView]:
        """GET /v1/disputes/{id}; not through the breaker."""
        ...

    async def retrieve_account(self, deadline: Deadline) -> Result[str]:
        """GET /v1/account: the id of the account that the key belongs to."""
        ...

    def deadline(self, seconds: float) -> Deadline:
        """The instant this many seconds from now on the clock that the verbs look at."""
        ...
