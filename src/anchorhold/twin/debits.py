"""Bank debits: `processing` first, and days (here: seconds) later the end.

Sources: .../docs/payments/ach-direct-debit, .../payments/sepa-debit and .../payments/bacs-debit,
with their test accounts. After a success a bank's late no comes as a dispute.
"""

from anchorhold.twin import charges, disputes
from anchorhold.twin.errors import invalid
from anchorhold.twin.events import emit
from anchorhold.twin.instruments import Debit, Instrument
from anchorhold.twin.method_types import CURRENCY
from anchorhold.twin.outcomes import fail, succeed
from anchorhold.twin.state import Call, Hidden
from anchorhold.twin.wire import Obj


def check_mandate(call: Call, intent: Obj, hidden: Hidden) -> None:
    """400 without a mandate; the intent then stays in `requires_confirmation`."""
    kind = hidden.instrument.type
    if intent["currency"] != CURRENCY[kind]:
        raise invalid(
            f"The currency provided ({intent['currency']}) is invalid for one or more payment "
            f"method types on this PaymentIntent: {kind} takes {CURRENCY[kind]}.",
            param="currency",
        )
    if call.params.get("mandate_data") is not None or call.params.get("mandate"):
        hidden.mandated = True
    if hidden.mandated:
        return
    call.account.payment_intents.put({**intent, "status": "requires_confirmation"})
    raise invalid(
        "This PaymentIntent requires a mandate, but no existing mandate was found. Collect mandate "
        "acceptance from the customer and try again, providing acceptance data in the "
        "mandate_data parameter.",
        code="payment_intent_mandate_invalid",
    )


def start(call: Call, intent: Obj, method: Obj) -> Obj:
    """The intent in `processing`, its charge pending; how it ends is due later."""
    pending = call.account.charges.put(charges.blank(call, intent, method))
    under_way = {
        **intent,
        "latest_charge": pending["id"],
        "next_action": None,
        "payment_method": method["id"],
        "status": "processing",
    }
    call.account.payment_intents.put(under_way)
    emit(call, "charge.pending", pending)
    emit(call, "payment_intent.processing", under_way)
    instrument = call.account.hidden[method["id"]].instrument
    if instrument.debit is not Debit.NEVER_ENDS:
        wait = call.settings.slow_debit_s if instrument.slow else call.settings.debit_s
        call.later(wait, lambda then: end(then, intent["id"]))
    return under_way


def end(call: Call, id_: str) -> Obj:
    """The bank's word on a debit: the intent afterwards. Nothing when it is not processing."""
    intent = call.find("payment_intent", id_, "intent")
    if intent["status"] != "processing":
        return intent
    pending = call.find("charge", intent["latest_charge"])
    instrument = call.account.hidden[pending["payment_method"]].instrument
    if instrument.failure is not None:
        return _fail(call, intent, pending, instrument)
    method = call.find("payment_method", pending["payment_method"])
    paid = call.account.charges.put(charges.succeeded(pending))
    done = succeed(call, intent, method, paid)
    if instrument.debit is Debit.PAYS_THEN_DISPUTED:
        call.later(
            call.settings.dispute_s,
            lambda then: disputes.open_(then, paid["id"], "debit_not_authorized"),
        )
    return done


def _fail(call: Call, intent: Obj, pending: Obj, instrument: Instrument) -> Obj:
    message = "The payment failed."
    failed = call.account.charges.put(
        charges.failed(pending, instrument.failure or "generic_could_not_process", message)
    )
    emit(call, "charge.failed", failed)
    error = invalid(message, code="payment_intent_payment_attempt_failed").error
    method = call.find("payment_method", pending["payment_method"])
    error = {**error, "charge": failed["id"], "payment_method": method}
    if instrument.type == "bacs_debit" and instrument.failure == "debit_not_authorized":
        call.account.hidden[method["id"]].spent = True
    return fail(call, intent, error, failed)


def stoppable(call: Call, intent: Obj) -> bool:
    """Whether a debit under way can still be cancelled: the test account that never ends."""
    if intent["status"] != "processing":
        return False
    hidden = call.account.hidden[intent["payment_method"]]
    return hidden.instrument.debit is Debit.NEVER_ENDS


def stop(call: Call, intent: Obj) -> None:
    """The charge of a debit that was cancelled in time fails."""
    if intent["status"] == "processing":
        pending = call.find("charge", intent["latest_charge"])
        stopped = charges.failed(pending, "payment_intent_canceled", "The payment was canceled.")
        emit(call, "charge.failed", call.account.charges.put(stopped))
