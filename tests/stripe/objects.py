"""Stripe's objects as a server sends them, for tests without a twin."""

from typing import Any

Obj = dict[str, Any]


def a_charge(**changes: Any) -> Obj:
    """A succeeded charge of 12.00 EUR."""
    return {
        "id": "ch_1",
        "object": "charge",
        "status": "succeeded",
        "amount": 1200,
        "amount_refunded": 0,
        "currency": "eur",
        "payment_method": "pm_1",
        "created": 1_790_000_000,
        "failure_code": None,
        "failure_message": None,
        "outcome": {"type": "authorized", "reason": None},
        **changes,
    }


def an_intent(**changes: Any) -> Obj:
    """A succeeded PaymentIntent of 12.00 EUR, its charge expanded."""
    return {
        "id": "pi_1",
        "object": "payment_intent",
        "status": "succeeded",
        "amount": 1200,
        "amount_received": 1200,
        "currency": "eur",
        "customer": "cus_1",
        "payment_method": "pm_1",
        "created": 1_790_000_000,
        "metadata": {"anchorhold_invoice_id": "inv_1"},
        "latest_charge": a_charge(),
        "last_payment_error": None,
        **changes,
    }


def an_event(**changes: Any) -> Obj:
    """A payment_intent.succeeded that a request caused."""
    return {
        "id": "evt_1",
        "object": "event",
        "type": "payment_intent.succeeded",
        "created": 1_790_000_001,
        "data": {"object": an_intent()},
        "request": {"id": "req_1", "idempotency_key": "charge_1"},
        **changes,
    }


def a_list(*rows: Obj, more: bool = False) -> Obj:
    """One page of a list."""
    return {"object": "list", "url": "/v1/x", "data": list(rows), "has_more": more}


def an_error(**fields: Any) -> Obj:
    """Stripe's error body."""
    return {"error": {"type": "invalid_request_error", "message": "No.", **fields}}


def a_decline(**changes: Any) -> Obj:
    """The body of a 402: the card was declined, the intent is inside."""
    error = {
        "type": "card_error",
        "code": "card_declined",
        "decline_code": "insufficient_funds",
        "advice_code": "try_again_later",
        "message": "Your card has insufficient funds.",
        "charge": "ch_2",
        "payment_intent": an_intent(
            status="requires_payment_method",
            amount_received=0,
            latest_charge="ch_2",
            last_payment_error={"type": "card_error", "code": "card_declined"},
        ),
    }
    return {"error": {**error, **changes}}
