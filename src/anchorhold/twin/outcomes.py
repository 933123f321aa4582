"""What an attempt leaves behind: the intent succeeded, or payable again."""

from anchorhold.twin.events import emit
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj


def succeed(call: Call, intent: Obj, method: Obj, paid: Obj) -> Obj:
    """The intent, succeeded by this charge, stored."""
    done = {
        **intent,
        "amount_received": paid["amount_captured"],
        "last_payment_error": None,
        "latest_charge": paid["id"],
        "next_action": None,
        "payment_method": method["id"],
        "status": "succeeded",
    }
    call.account.payment_intents.put(done)
    emit(call, "charge.succeeded", paid)
    emit(call, "payment_intent.succeeded", done)
    _keep_method(call, done, method)
    return done


def _keep_method(call: Call, intent: Obj, method: Obj) -> None:
    hidden = call.account.hidden[method["id"]]
    if intent["setup_future_usage"] is not None and intent["customer"] is not None:
        hidden.set_up = hidden.mandated = True
        if method["customer"] is None:
            kept = {**method, "customer": intent["customer"]}
            call.account.payment_methods.put(kept)
            emit(call, "payment_method.attached", kept)
    elif method["customer"] is None:
        hidden.spent = True


def fail(call: Call, intent: Obj, error: Obj, failed: Obj | None) -> Obj:
    """The intent after a failed attempt, stored: payable again, or cancelled after too many.

    `error` names the `payment_method`. Source for the type beside it: https://docs.stripe.com/
    changelog/endive/2026-09-30/payment-method-type-payment-failures.
    """
    kind = error["payment_method"]["type"]
    after = {
        **intent,
        "last_payment_error": {**error, "payment_method_type": kind},
        "latest_charge": failed["id"] if failed is not None else intent["latest_charge"],
        "next_action": None,
        "payment_method": None,
        "status": "requires_payment_method",
    }
    tries = call.account.confirms.get(intent["id"], 0) + 1
    call.account.confirms[intent["id"]] = tries
    call.account.payment_intents.put(after)
    emit(call, "payment_intent.payment_failed", after)
    most = call.settings.confirms_before_cancel
    if most is not None and tries >= most:
        after = {
            **after,
            "canceled_at": call.now,
            "cancellation_reason": "automatic",
            "status": "canceled",
        }
        call.account.payment_intents.put(after)
        emit(call, "payment_intent.canceled", after)
    return after
