"""Confirming a PaymentIntent: what a test card or bank account makes of it.

Source: https://docs.stripe.com/payments/paymentintents/lifecycle, .../declines, .../testing.
A PaymentIntent succeeds at most once, and a cancelled one never.
"""

from collections.abc import Callable

from anchorhold.twin import charges, debits, disputes, method_types
from anchorhold.twin.errors import StripeError, card_error, invalid, unexpected_state
from anchorhold.twin.events import emit
from anchorhold.twin.instruments import (
    NEEDS_CUSTOMER,
    NOT_HANDLED,
    Authentication,
    Decline,
)
from anchorhold.twin.outcomes import fail, succeed
from anchorhold.twin.state import Call, Hidden
from anchorhold.twin.wire import Obj

CONFIRMABLE = ("requires_payment_method", "requires_confirmation", "requires_action")
_COPIED = ("receipt_email", "setup_future_usage", "shipping", "capture_method")  # fmt: skip

GetMethod = Callable[[Call, Obj], Obj | None]


def confirm_intent(call: Call, intent: Obj, method_of: GetMethod | None = None) -> Obj:
    """The intent after the confirm, stored, with its charge and events.

    402 when the bank declines; 400 when the intent cannot be confirmed as it is. `method_of` reads
    the payment method from the request's parameters, if the caller has not done so.
    """
    _check_state(intent)
    params = call.params
    new = {**intent, **{name: params[name] for name in _COPIED if name in params}}
    new |= method_types.changed(intent, params, intent["currency"])
    given = method_of(call, new) if method_of is not None else None
    if given is not None:
        new["payment_method"] = given["id"]
    if new["payment_method"] is None:
        raise unexpected_state(
            "You cannot confirm this PaymentIntent because it's missing a payment method. You can "
            "either update the PaymentIntent with a payment method and then confirm it again, or "
            "confirm it again directly with a payment method or ConfirmationToken.",
            intent,
        )
    method = call.named("payment_method", new["payment_method"], "payment_method")
    hidden = call.account.hidden[method["id"]]
    _check_method(call, new, method, hidden)
    return _attempt(call, new, method, hidden)


def _check_state(intent: Obj) -> None:
    status = intent["status"]
    if status == "succeeded":
        raise unexpected_state(
            "You cannot confirm this PaymentIntent because it has already succeeded after being "
            "previously confirmed.",
            intent,
        )
    if status not in CONFIRMABLE:
        raise unexpected_state(
            f"You cannot confirm this PaymentIntent because it has a status of {status}. Only a "
            "PaymentIntent with one of the following statuses may be confirmed: "
            "requires_confirmation, requires_payment_method, requires_action.",
            intent,
        )


def _check_method(call: Call, intent: Obj, method: Obj, hidden: Hidden) -> None:
    kind, params = method["type"], call.params
    if kind not in intent["payment_method_types"]:
        raise invalid(
            f"The PaymentMethod provided ({kind}) is not allowed for this PaymentIntent. Please "
            "attach a PaymentMethod of one of the following types: "
            f"{', '.join(intent['payment_method_types'])}.",
            code="payment_intent_incompatible_payment_method",
            param="payment_method",
        )
    automatic = intent["automatic_payment_methods"]
    redirects = automatic is not None and automatic["allow_redirects"] == "always"
    if redirects and not params.get("return_url") and not params.get("off_session"):
        raise invalid(
            "This PaymentIntent is configured to accept payment methods enabled in your "
            "Dashboard. Because some of these payment methods might redirect your customer off of "
            "your page, you must provide a `return_url`. If you don't want to accept "
            "redirect-based payment methods, set `automatic_payment_methods[enabled]` to `true` "
            "and `automatic_payment_methods[allow_redirects]` to `never` when creating Setup "
            "Intents and Payment Intents.",
            param="return_url",
        )
    if kind != "card":
        debits.check_mandate(call, intent, hidden)


def _attempt(call: Call, intent: Obj, method: Obj, hidden: Hidden) -> Obj:
    if method["type"] != "card":
        return debits.start(call, intent, method)
    away = bool(call.params.get("off_session"))
    if not _must_authenticate(hidden, away=away):
        return charge(call, intent, method)
    if away:
        raise _decline(call, intent, method, NEEDS_CUSTOMER)
    if call.params.get("error_on_requires_action"):
        raise _decline(call, intent, method, NOT_HANDLED)
    return _ask_customer(call, intent, method)


def _must_authenticate(hidden: Hidden, *, away: bool) -> bool:
    match hidden.instrument.authentication:
        case Authentication.NEVER:
            return False
        case Authentication.ALWAYS:
            return True
        case Authentication.UNLESS_SET_UP:
            return not (away and hidden.set_up)
        case Authentication.ON_SESSION:
            return not away


def charge(call: Call, intent: Obj, method: Obj) -> Obj:
    """Take the money now: the succeeded intent, or 402 with a failed charge."""
    hidden = call.account.hidden[method["id"]]
    made = charges.blank(call, intent, method)
    why = hidden.instrument.decline
    if why is not None:
        failed = call.account.charges.put(charges.declined(made, why))
        emit(call, "charge.failed", failed)
        raise _decline(call, intent, method, why, failed)
    paid = call.account.charges.put(charges.succeeded(made))
    done = succeed(call, intent, method, paid)
    if hidden.instrument.dispute is not None:
        reason = hidden.instrument.dispute
        call.later(call.settings.dispute_s, lambda then: disputes.open_(then, paid["id"], reason))
    return done


def _decline(
    call: Call, intent: Obj, method: Obj, why: Decline, failed: Obj | None = None
) -> StripeError:
    error: Obj = {
        "code": why.code,
        "decline_code": why.decline_code,
        "doc_url": f"https://stripe.com/docs/error-codes/{why.code.replace('_', '-')}",
        "message": why.message,
        "payment_method": method,
        "type": "card_error",
    }
    if why.advice is not None:
        error["advice_code"] = why.advice
    if why.param is not None:
        error["param"] = why.param
    if failed is not None:
        error["charge"] = failed["id"]
    after = fail(call, intent, error, failed)
    extra = {name: error[name] for name in error if name not in {"code", "message", "type"}}
    return card_error(why.message, why.code, {**extra, "payment_intent": after})


def _ask_customer(call: Call, intent: Obj, method: Obj) -> Obj:
    back = call.params.get("return_url")
    action: Obj
    if back is not None:
        url = f"{call.settings.action_url}/{intent['id']}"
        action = {"type": "redirect_to_url", "redirect_to_url": {"return_url": back, "url": url}}
    else:
        action = {
            "type": "use_stripe_sdk",
            "use_stripe_sdk": {"type": "three_d_secure_redirect", "source": intent["id"]},
        }
    waiting = {
        **intent,
        "next_action": action,
        "payment_method": method["id"],
        "status": "requires_action",
    }
    call.account.payment_intents.put(waiting)
    emit(call, "payment_intent.requires_action", waiting)
    return waiting


def authenticate(call: Call, id_: str, *, passed: bool) -> Obj:
    """The customer comes back from the bank: the intent goes on, or fails.

    Not a call of Stripe's API: what the customer does on the bank's page. 400 unless the intent is
    in `requires_action`. A decline by the bank after it is the intent's `last_payment_error`.
    """
    intent = call.find("payment_intent", id_, "intent")
    if intent["status"] != "requires_action":
        raise unexpected_state("This PaymentIntent does not wait for authentication.", intent)
    method = call.named("payment_method", intent["payment_method"], "payment_method")
    if not passed:
        message = (
            "We are unable to authenticate your payment method. Please choose a different payment "
            "method and try again."
        )
        code = "payment_intent_authentication_failure"
        error = invalid(message, code=code).error
        return fail(call, intent, {**error, "payment_method": method}, None)
    try:
        return charge(call, intent, method)
    except StripeError:
        return call.find("payment_intent", id_, "intent")
