"""Payment method objects: a fresh copy of a test instrument in Stripe's shape."""

from anchorhold.twin.instruments import Instrument
from anchorhold.twin.method_params import ADDRESS
from anchorhold.twin.state import Call, Hidden
from anchorhold.twin.wire import Obj


def put_new(call: Call, instrument: Instrument) -> Obj:
    """A fresh copy of a test instrument, stored."""
    method: Obj = {
        "id": call.ids.new("pm"),
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {
            "address": dict.fromkeys(ADDRESS),
            "email": None,
            "name": None,
            "phone": None,
            "tax_id": None,
        },
        instrument.type: _details(instrument, call),
        "created": call.now,
        "customer": None,
        "customer_account": None,
        "livemode": call.account.livemode,
        "metadata": {},
        "type": instrument.type,
    }
    call.account.hidden[method["id"]] = Hidden(instrument)
    return call.account.payment_methods.put(method)


def _details(one: Instrument, call: Call) -> Obj:
    fingerprint = f"{abs(_hash(one.number)):016x}"
    if one.type == "card":
        return _card(one, fingerprint, call.now)
    if one.type == "us_bank_account":
        return {
            "account_holder_type": "individual",
            "account_type": "checking",
            "bank_name": "STRIPE TEST BANK",
            "financial_connections_account": None,
            "fingerprint": fingerprint,
            "last4": one.number[-4:],
            "networks": {"preferred": "ach", "supported": ["ach"]},
            "routing_number": "110000000",
            "status_details": {},
        }
    if one.type == "bacs_debit":
        return {"fingerprint": fingerprint, "last4": one.number[-4:], "sort_code": "108800"}
    return {
        "bank_code": one.number[4:12],
        "branch_code": "",
        "country": one.country,
        "fingerprint": fingerprint,
        "generated_from": {"charge": None, "setup_attempt": None},
        "last4": one.number[-4:],
    }


def _hash(text: str) -> int:
    """A number that stands for a text, the same in every process."""
    value = 14695981039346656037
    for byte in text.encode():
        value = ((value ^ byte) * 1099511628211) % 2**64
    return value


def _card(one: Instrument, fingerprint: str, now: int) -> Obj:
    return {
        "brand": one.brand,
        "checks": {
            "address_line1_check": None,
            "address_postal_code_check": None,
            "cvc_check": "pass",
        },
        "country": one.country,
        "display_brand": one.brand,
        "exp_month": 12,
        "exp_year": 1972 + now // 31_556_952,
        "fingerprint": fingerprint,
        "funding": one.funding,
        "generated_from": None,
        "last4": one.number[-4:],
        "networks": {"available": [one.brand], "preferred": None},
        "regulated_status": "unregulated",
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }
