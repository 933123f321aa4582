"""Refunds: full or partial, never more than was taken. Source: .../docs/api/refunds."""

from typing import Any

from anchorhold.twin.currencies import shown
from anchorhold.twin.errors import invalid
from anchorhold.twin.events import emit
from anchorhold.twin.instruments import RefundFate
from anchorhold.twin.lists import DATED, page_of_charge
from anchorhold.twin.params import (
    Bool,
    Int,
    ListOf,
    Metadata,
    NotSimulated,
    OneOf,
    Param,
    Str,
    merged_metadata,
)
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

CREATE: dict[str, Param] = {
    "amount": Int(1),
    "charge": Str(),
    "expand": ListOf(),
    "metadata": Metadata(),
    "payment_intent": Str(),
    "reason": OneOf(("duplicate", "fraudulent", "requested_by_customer")),
    "refund_application_fee": Bool(),
    "reverse_transfer": Bool(),
    **dict.fromkeys(("currency", "customer", "instructions_email", "origin"), NotSimulated()),
}
UPDATE: dict[str, Param] = {"metadata": Metadata(), "expand": ListOf()}
RETRIEVE: dict[str, Param] = {"expand": ListOf()}
LIST: dict[str, Param] = {**DATED, "charge": Str(), "payment_intent": Str()}


def check_create(params: dict[str, Any]) -> None:
    """400 when neither a charge nor an intent is named."""
    if "charge" not in params and "payment_intent" not in params:
        raise invalid(
            "One of the following params should be provided for this request: payment_intent or "
            "charge.",
            code="parameter_missing",
        )


def create(call: Call) -> Obj:
    """POST /v1/refunds of a charge, or of an intent's successful charge."""
    charge = _charge(call)
    amount = _amount(call.params.get("amount"), charge)
    fate = call.account.hidden[charge["payment_method"]].instrument.refund
    refund = call.account.refunds.put(_new(call, charge, amount, fate))
    emit(call, "refund.created", refund)
    _set_refunded(call, charge["id"])
    if fate is not RefundFate.SUCCEEDS:
        call.later(call.settings.debit_s, lambda then: _end(then, refund["id"], fate))
    return refund


def _charge(call: Call) -> Obj:
    params = call.params
    if "charge" in params:
        charge = call.named("charge", params["charge"], "charge")
        if params.get("payment_intent", charge["payment_intent"]) != charge["payment_intent"]:
            raise invalid("The charge is not one of this PaymentIntent.", param="charge")
    else:
        intent = call.named("payment_intent", params["payment_intent"], "payment_intent")
        if intent["latest_charge"] is None:
            raise invalid(
                f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund.",
                param="payment_intent",
            )
        charge = call.named("charge", intent["latest_charge"], "charge")
    if charge["status"] != "succeeded":
        raise invalid(f"Charge {charge['id']} has not been paid, so it cannot be refunded.")
    return charge


def _amount(asked: int | None, charge: Obj) -> int:
    left: int = charge["amount_captured"] - charge["amount_refunded"]
    if charge["disputed"]:
        raise invalid(
            f"Charge {charge['id']} has been charged back; cannot issue a refund.",
            code="charge_disputed",
        )
    if left == 0:
        raise invalid(
            f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded"
        )
    if asked is not None and asked > left:
        currency = charge["currency"]
        raise invalid(
            f"Refund amount ({shown(asked, currency)}) is greater than unrefunded amount on "
            f"charge ({shown(left, currency)})",
            param="amount",
        )
    return left if asked is None else asked


def _new(call: Call, charge: Obj, amount: int, fate: RefundFate) -> Obj:
    kind = charge["payment_method_details"]["type"]
    details: Obj = {"type": kind}
    if kind == "card":
        details["card"] = {"type": "refund", "reference_status": "pending",
                           "reference_type": "acquirer_reference_number"}  # fmt: skip
    return {
        "id": call.ids.new("re"),
        "object": "refund",
        "amount": amount,
        "balance_transaction": None,
        "charge": charge["id"],
        "created": call.now,
        "currency": charge["currency"],
        "customer": charge["customer"],
        "customer_account": None,
        "destination_details": details,
        "metadata": merged_metadata({}, call.params.get("metadata")),
        "payment_intent": charge["payment_intent"],
        "payment_method": charge["payment_method"],
        "reason": call.params.get("reason"),
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "pending" if fate is RefundFate.PENDING else "succeeded",
        "transfer_reversal": None,
    }


def _set_refunded(call: Call, charge_id: str) -> None:
    before = call.find("charge", charge_id)
    standing = sum(
        refund["amount"]
        for refund in call.account.refunds.where("charge", charge_id)
        if refund["status"] not in {"failed", "canceled"}
    )
    after = {**before, "amount_refunded": standing, "refunded": standing == before["amount"]}
    call.account.charges.put(after)
    more = standing > before["amount_refunded"]
    emit(call, "charge.refunded" if more else "charge.updated", after, before)


def _end(call: Call, id_: str, fate: RefundFate) -> None:
    before = call.find("refund", id_)
    if fate is RefundFate.PENDING:
        after = call.account.refunds.put({**before, "status": "succeeded"})
        emit(call, "refund.updated", after, before)
        return
    after = call.account.refunds.put({**before, "failure_reason": "unknown", "status": "failed"})
    emit(call, "refund.failed", after, before)
    _set_refunded(call, before["charge"])


def update(call: Call) -> Obj:
    """POST /v1/refunds/{id}: its metadata."""
    before = call.find("refund", call.path[0])
    if "metadata" not in call.params:
        return before
    metadata = merged_metadata(before["metadata"], call.params["metadata"])
    after = call.account.refunds.put({**before, "metadata": metadata})
    emit(call, "refund.updated", after, before)
    emit(call, "charge.refund.updated", after, before)
    return after


def retrieve(call: Call) -> Obj:
    """GET /v1/refunds/{id}."""
    return call.find("refund", call.path[0])


def list_(call: Call) -> Obj:
    """GET /v1/refunds: all, or those of one charge or one intent."""
    return page_of_charge(call.account.refunds, call.params, "/v1/refunds")
