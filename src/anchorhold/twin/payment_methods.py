"""Payment methods: test cards and test bank accounts. Source: .../docs/api/payment_methods.

A literal id such as `pm_card_visa` stands wherever a real id can; a copy with an id of its own is
made whenever it is used. Which literal it came from decides what the copy does.
"""

from typing import Any

from anchorhold.twin.errors import StripeError, card_error, invalid, missing
from anchorhold.twin.events import emit
from anchorhold.twin.instruments import BY_LITERAL, BY_NUMBER, BY_TOKEN, Instrument
from anchorhold.twin.lists import PAGING, empty, page
from anchorhold.twin.params import (
    Hash,
    Int,
    ListOf,
    Metadata,
    NotSimulated,
    OneOf,
    Opaque,
    Param,
    Str,
    merged_metadata,
)
from anchorhold.twin.state import Call, Hidden
from anchorhold.twin.wire import Obj

TYPES = ("card", "us_bank_account", "sepa_debit")
"""The types that the twin simulates."""

_ADDRESS = ("city", "country", "line1", "line2", "postal_code", "state")
_BILLING: dict[str, Param] = {
    "address": Hash(dict.fromkeys(_ADDRESS, Str(clear=True)), clear=True),
    "email": Str(clear=True),
    "name": Str(clear=True),
    "phone": Str(clear=True),
    "tax_id": Str(),
}
_CARD: dict[str, Param] = {
    "number": Str(),
    "exp_month": Int(1, 12),
    "exp_year": Int(),
    "cvc": Str(),
    "token": Str(),
    "networks": Opaque(),
}
_BANK: dict[str, Param] = {
    "account_number": Str(),
    "routing_number": Str(),
    "account_holder_type": OneOf(("company", "individual")),
    "account_type": OneOf(("checking", "savings")),
}
_OTHER_TYPES = (
    "acss_debit affirm afterpay_clearpay alipay alma amazon_pay au_becs_debit bacs_debit "
    "bancontact billie bizum blik boleto cashapp crypto customer_balance eps fpx giropay grabpay "
    "ideal interac_present kakao_pay klarna konbini kr_card link mb_way mobilepay multibanco "
    "naver_pay nz_bank_account oxxo p24 pay_by_bank payco paynow paypal payto pix promptpay "
    "revolut_pay samsung_pay satispay scalapay sofort sunbit swish twint upi wechat_pay zip"
)
DATA: dict[str, Param] = {
    **dict.fromkeys(_OTHER_TYPES.split(), NotSimulated()),
    "type": OneOf(TYPES),
    "card": Hash(_CARD),
    "us_bank_account": Hash(_BANK),
    "sepa_debit": Hash({"iban": Str()}, ("iban",)),
    "billing_details": Hash(_BILLING),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
    "metadata": Metadata(),
    "radar_options": Opaque(),
}
CREATE: dict[str, Param] = {
    **DATA,
    **dict.fromkeys(("custom", "customer", "payment_method"), NotSimulated()),
    "expand": ListOf(),
}
UPDATE: dict[str, Param] = {
    "billing_details": Hash(_BILLING),
    "metadata": Metadata(),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
    "card": Hash({"exp_month": Int(1, 12), "exp_year": Int(), "networks": Opaque()}),
    "expand": ListOf(),
    "payto": NotSimulated(),
    "us_bank_account": NotSimulated(),
}
ATTACH: dict[str, Param] = {
    "customer": Str(),
    "customer_account": NotSimulated(),
    "expand": ListOf(),
}
DETACH: dict[str, Param] = {"expand": ListOf()}
RETRIEVE: dict[str, Param] = {"expand": ListOf()}
LIST: dict[str, Param] = {
    **PAGING,
    "customer": Str(),
    "customer_account": NotSimulated(),
    "type": OneOf(TYPES),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
}
LIST_OF_CUSTOMER: dict[str, Param] = {
    name: param for name, param in LIST.items() if not name.startswith("customer")
}

SPENT = (
    "The provided PaymentMethod was previously used with a PaymentIntent without Customer "
    "attachment, shared with a connected account without Customer attachment, or was detached "
    "from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must "
    "attach it to a Customer first."
)


def create(call: Call) -> Obj:
    """POST /v1/payment_methods from a card number, a token, or bank details."""
    return from_data(call, call.params)


def from_data(call: Call, data: dict[str, Any], at: str = "") -> Obj:
    """A new payment method from `payment_method_data` or a create's parameters."""
    kind = data.get("type") or ("card" if "card" in data else "")
    if not kind:
        raise invalid("Missing required param: type.", code="parameter_missing", param=f"{at}type")
    given = data.get(kind)
    if given is None:
        raise invalid(f"Missing required param: {kind}.", code="parameter_missing", param=kind)
    method = put_new(call, _instrument(call, kind, given))
    changed = _changed(method, data)
    if kind == "card" and "exp_year" in given:
        dates = {name: given[name] for name in ("exp_month", "exp_year") if name in given}
        changed = {**changed, "card": {**changed["card"], **dates}}
    return call.account.payment_methods.put(changed)


def _instrument(call: Call, kind: str, given: dict[str, Any]) -> Instrument:
    if "token" in given:
        found = BY_TOKEN.get(given["token"])
        if found is None:
            raise missing("token", given["token"], "card[token]", status=400)
        return found
    if kind == "card" and not call.settings.raw_card_numbers:
        message = (
            "Sending credit card numbers directly to the Stripe API is generally unsafe. To "
            "continue processing use Stripe.js, the Stripe mobile bindings, or Stripe Elements."
        )
        raise invalid(message, status=402)
    name = {"card": "number", "us_bank_account": "account_number", "sepa_debit": "iban"}[kind]
    number = (given.get(name) or "").replace(" ", "")
    found = BY_NUMBER.get(number)
    if found is None or found.type != kind:
        raise _wrong_number(kind, name)
    return found


def _wrong_number(kind: str, name: str) -> StripeError:
    if kind == "card":
        return card_error("Your card number is incorrect.", "incorrect_number", {"param": "number"})
    message = f"The {name} provided is not one of the twin's test accounts."
    return invalid(message, param=f"{kind}[{name}]")


def put_new(call: Call, instrument: Instrument) -> Obj:
    """A fresh copy of a test instrument, stored."""
    method: Obj = {
        "id": call.ids.new("pm"),
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {
            "address": dict.fromkeys(_ADDRESS),
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
    fingerprint = f"{abs(hash_of(one.number)):016x}"
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
    return {
        "bank_code": one.number[4:12],
        "branch_code": "",
        "country": one.country,
        "fingerprint": fingerprint,
        "generated_from": {"charge": None, "setup_attempt": None},
        "last4": one.number[-4:],
    }


def hash_of(text: str) -> int:
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


def _changed(method: Obj, data: dict[str, Any]) -> Obj:
    new = dict(method)
    if "metadata" in data:
        new["metadata"] = merged_metadata(method["metadata"], data["metadata"])
    if "allow_redisplay" in data:
        new["allow_redisplay"] = data["allow_redisplay"]
    if "billing_details" in data:
        billing = {**method["billing_details"], **data["billing_details"]}
        address = data["billing_details"].get("address")
        billing["address"] = {**dict.fromkeys(_ADDRESS), **(address or {})}
        new["billing_details"] = billing
    return new


def usable(call: Call, id_: str, param: str = "payment_method") -> Obj:
    """The payment method to use: a copy for a literal test id, the object for a real id.

    400 `resource_missing` when there is none; 400 when it was detached or used up.
    """
    literal = BY_LITERAL.get(id_)
    if literal is not None:
        return put_new(call, literal)
    method = call.named("payment_method", id_, param)
    if call.account.hidden[id_].spent:
        raise invalid(SPENT)
    return method


def attach(call: Call) -> Obj:
    """POST /v1/payment_methods/{id}/attach: to one customer and for good."""
    if "customer" not in call.params:
        raise invalid("Missing required param: customer.", code="parameter_missing",
                      param="customer")  # fmt: skip
    customer = call.customer(call.params["customer"])
    return attach_to(call, call.path[0], customer)


def attach_to(call: Call, id_: str, customer: Obj) -> Obj:
    """The payment method, attached to the customer; a literal id is copied first.

    402 when the bank declines the card at attaching; 400 when it is another customer's.
    """
    method = usable(call, id_)
    if method["customer"] is not None and method["customer"] != customer["id"]:
        raise invalid("The payment method you provided has already been attached to a customer.")
    instrument = call.account.hidden[method["id"]].instrument
    if instrument.decline is not None and not instrument.attaches:
        why = instrument.decline
        extra: Obj = {"decline_code": why.decline_code}
        raise card_error(why.message, why.code, extra)
    attached = call.account.payment_methods.put({**method, "customer": customer["id"]})
    if attached != method:
        emit(call, "payment_method.attached", attached)
    return attached


def detach(call: Call) -> Obj:
    """POST /v1/payment_methods/{id}/detach: it can never be used or attached again."""
    method = call.find("payment_method", call.path[0], "payment_method")
    if method["customer"] is None:
        raise invalid(
            "The payment method you provided is not attached to a customer so detachment is "
            "impossible."
        )
    call.account.hidden[method["id"]].spent = True
    detached = call.account.payment_methods.put({**method, "customer": None})
    emit(call, "payment_method.detached", detached, method)
    return detached


def update(call: Call) -> Obj:
    """POST /v1/payment_methods/{id}: billing details, metadata, expiry."""
    before = call.find("payment_method", call.path[0], "payment_method")
    after = _changed(before, call.params)
    if "card" in call.params:
        after["card"] = {**before["card"], **call.params["card"]}
        after["card"].pop("networks", None)
        after["card"]["networks"] = before["card"]["networks"]
    call.account.payment_methods.put(after)
    if after != before and after["customer"] is not None:
        emit(call, "payment_method.updated", after, before)
    return after


def retrieve(call: Call) -> Obj:
    """GET /v1/payment_methods/{id}; a literal test id shows a copy."""
    literal = BY_LITERAL.get(call.path[0])
    if literal is not None:
        return put_new(call, literal)
    return call.find("payment_method", call.path[0], "payment_method")


def list_(call: Call) -> Obj:
    """GET /v1/payment_methods: those of a customer; without one the page is empty."""
    url = "/v1/payment_methods"
    customer = call.params.get("customer")
    if customer is None:
        return empty(url)
    call.customer(customer)
    return _page(call, customer, url)


def list_of_customer(call: Call) -> Obj:
    """GET /v1/customers/{id}/payment_methods."""
    call.customer(call.path[0])
    return _page(call, call.path[0], f"/v1/customers/{call.path[0]}/payment_methods")


def retrieve_of_customer(call: Call) -> Obj:
    """GET /v1/customers/{id}/payment_methods/{payment_method}."""
    customer, method = call.path
    found = call.find("payment_method", method, "payment_method")
    if found["customer"] != customer:
        raise missing("PaymentMethod", method, "customer")
    return found


def _page(call: Call, customer: str, url: str) -> Obj:
    kind, shown = call.params.get("type"), call.params.get("allow_redisplay")

    def keep(method: Obj) -> bool:
        right_type = kind is None or method["type"] == kind
        return right_type and (shown is None or method["allow_redisplay"] == shown)

    return page(
        call.account.payment_methods, call.params, url, of=("customer", customer), keep=keep
    )
