"""Charges: made by confirming an intent, retrieved, listed. Source: .../docs/api/charges."""

from typing import Any

from anchorhold.twin.events import emit
from anchorhold.twin.instruments import Decline
from anchorhold.twin.lists import DATED, page
from anchorhold.twin.params import ListOf, Metadata, NotSimulated, Param, Str, merged_metadata
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

RETRIEVE: dict[str, Param] = {"expand": ListOf()}
UPDATE: dict[str, Param] = {
    "description": Str(40000, clear=True),
    "metadata": Metadata(),
    "receipt_email": Str(clear=True),
    "expand": ListOf(),
    **dict.fromkeys(("customer", "fraud_details", "shipping", "transfer_group"), NotSimulated()),
}
LIST: dict[str, Param] = {
    **DATED,
    "customer": Str(),
    "payment_intent": Str(),
    "transfer_group": NotSimulated(),
}


def blank(call: Call, intent: Obj, method: Obj) -> Obj:
    """A charge of the intent's whole amount, neither paid nor failed yet; not stored."""
    return {
        "id": call.ids.new("ch" if method["type"] == "card" else "py"),
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": 0,
        "amount_refunded": 0,
        "application": None,
        "application_fee": None,
        "application_fee_amount": None,
        "balance_transaction": None,
        "billing_details": method["billing_details"],
        "calculated_statement_descriptor": "TWIN",
        "captured": False,
        "created": call.now,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "description": intent["description"],
        "disputed": False,
        "failure_balance_transaction": None,
        "failure_code": None,
        "failure_message": None,
        "fraud_details": {},
        "livemode": intent["livemode"],
        "metadata": intent["metadata"],
        "on_behalf_of": None,
        "outcome": None,
        "paid": False,
        "payment_intent": intent["id"],
        "payment_method": method["id"],
        "payment_method_details": _details(method, intent["amount"]),
        "radar_options": {},
        "receipt_email": intent["receipt_email"],
        "receipt_number": None,
        "receipt_url": None,
        "refunded": False,
        "review": None,
        "shipping": intent["shipping"],
        "source_transfer": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": intent["statement_descriptor_suffix"],
        "status": "pending",
        "transfer_data": None,
        "transfer_group": None,
    }


def _details(method: Obj, amount: int) -> Obj:
    kind = method["type"]
    shown = method[kind]
    if kind == "card":
        return {"type": kind, kind: _card_details(shown, amount)}
    if kind == "us_bank_account":
        names = ("account_holder_type", "account_type", "bank_name", "fingerprint", "last4",
                 "routing_number")  # fmt: skip
        details = {name: shown[name] for name in names}
        return {"type": kind, kind: {**details, "payment_reference": None}}
    names = ("bank_code", "branch_code", "country", "fingerprint", "last4")
    if kind == "bacs_debit":
        names = ("fingerprint", "last4", "sort_code")
    return {"type": kind, kind: {**{name: shown[name] for name in names}, "mandate": None}}


def _card_details(card: Obj, amount: int) -> Obj:
    return {
        "amount_authorized": amount,
        "authorization_code": None,
        "brand": card["brand"],
        "checks": card["checks"],
        "country": card["country"],
        "exp_month": card["exp_month"],
        "exp_year": card["exp_year"],
        "fingerprint": card["fingerprint"],
        "funding": card["funding"],
        "installments": None,
        "last4": card["last4"],
        "mandate": None,
        "network": card["brand"],
        "network_token": {"used": False},
        "network_transaction_id": None,
        "regulated_status": card["regulated_status"],
        "three_d_secure": None,
        "wallet": None,
    }


def succeeded(charge: Obj) -> Obj:
    """The charge with its money taken."""
    return {
        **charge,
        "amount_captured": charge["amount"],
        "captured": True,
        "outcome": _outcome("approved_by_network", "authorized", "Payment complete."),
        "paid": True,
        "receipt_url": f"https://pay.stripe.com/receipts/payment/{charge['id']}",
        "status": "succeeded",
    }


def declined(charge: Obj, why: Decline) -> Obj:
    """The charge refused by the bank, or blocked before it got there."""
    blocked = why.decline_code == "fraudulent"
    outcome = _outcome(
        "not_sent_to_network" if blocked else "declined_by_network",
        "blocked" if blocked else "issuer_declined",
        "Stripe blocked this payment as too risky."
        if blocked
        else "The bank did not return any further details with this decline.",
    )
    outcome["reason"] = "highest_risk_level" if blocked else why.decline_code
    outcome["advice_code"] = why.advice
    return failed({**charge, "outcome": outcome}, why.code, why.message)


def failed(charge: Obj, code: str, message: str) -> Obj:
    """The charge without money taken, for this reason."""
    return {**charge, "failure_code": code, "failure_message": message, "status": "failed"}


def _outcome(network_status: str, type_: str, seller_message: str) -> Obj:
    return {
        "advice_code": None,
        "network_advice_code": None,
        "network_decline_code": None,
        "network_status": network_status,
        "reason": None,
        "risk_level": "normal",
        "risk_score": 20,
        "seller_message": seller_message,
        "type": type_,
    }


def retrieve(call: Call) -> Obj:
    """GET /v1/charges/{id}."""
    return call.find("charge", call.path[0])


def update(call: Call) -> Obj:
    """POST /v1/charges/{id}: description, receipt address, metadata."""
    before = call.find("charge", call.path[0])
    given: dict[str, Any] = dict(call.params)
    given.pop("expand", None)
    if "metadata" in given:
        given["metadata"] = merged_metadata(before["metadata"], given["metadata"])
    after = call.account.charges.put({**before, **given})
    if after != before:
        emit(call, "charge.updated", after, before)
    return after


def list_(call: Call) -> Obj:
    """GET /v1/charges: all, or those of one intent or one customer."""
    params = call.params
    intent, customer = params.get("payment_intent"), params.get("customer")
    if intent is not None:
        call.named("payment_intent", intent, "payment_intent")
    of = None
    if intent is not None:
        of = ("payment_intent", intent)
    elif customer is not None:
        of = ("customer", customer)

    def keep(charge: Obj) -> bool:
        return customer is None or charge["customer"] == customer

    return page(call.account.charges, params, "/v1/charges", of=of, keep=keep)
