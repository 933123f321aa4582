"""Payment methods: test cards and test bank accounts. Source: .../docs/api/payment_methods.

A literal id such as `pm_card_visa` stands wherever a real id can; a copy with an id of its own is
made whenever it is used. Which literal it came from decides what the copy does.
"""

from typing import Any

from anchorhold.twin.errors import StripeError, card_error, invalid, missing
from anchorhold.twin.events import emit
from anchorhold.twin.instruments import BY_LITERAL, BY_NUMBER, BY_TOKEN, Instrument
from anchorhold.twin.lists import empty, page
from anchorhold.twin.method_objects import put_new
from anchorhold.twin.method_params import ADDRESS
from anchorhold.twin.params import merged_metadata
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

SPENT = (
    "The provided PaymentMethod was previously used with a PaymentIntent without Customer "
    "attachment, shared with a connected account without Customer attachment, or was detached "
    "from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must "
    "attach it to a Customer first."
)
_NUMBER = {
    "card": "number",
    "us_bank_account": "account_number",
    "sepa_debit": "iban",
    "bacs_debit": "account_number",
}


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
    name = _NUMBER[kind]
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


def _changed(method: Obj, data: dict[str, Any]) -> Obj:
    new = dict(method)
    if "metadata" in data:
        new["metadata"] = merged_metadata(method["metadata"], data["metadata"])
    if "allow_redisplay" in data:
        new["allow_redisplay"] = data["allow_redisplay"]
    if "billing_details" in data:
        billing = {**method["billing_details"], **data["billing_details"]}
        address = data["billing_details"].get("address")
        billing["address"] = {**dict.fromkeys(ADDRESS), **(address or {})}
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


def renew(call: Call, id_: str) -> Obj:
    """The network tells Stripe that the card was replaced: the same number, three more years.

    Not a call of Stripe's API: the updates that .../payments/payment-methods/overview speaks of.
    """
    before = call.find("payment_method", id_, "payment_method")
    if before["type"] != "card":
        raise invalid("Only cards are updated by their network.")
    card = {**before["card"], "exp_year": before["card"]["exp_year"] + 3}
    after = call.account.payment_methods.put({**before, "card": card})
    emit(call, "payment_method.automatically_updated", after, before)
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
