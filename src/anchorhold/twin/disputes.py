"""Disputes: opened by disputing test cards and accounts, closed by the tester's word.

Source: https://docs.stripe.com/api/disputes. Evidence is not simulated.
"""

from anchorhold.twin.errors import invalid
from anchorhold.twin.events import emit
from anchorhold.twin.lists import DATED, page_of_charge
from anchorhold.twin.params import ListOf, Metadata, NotSimulated, Param, Str, merged_metadata
from anchorhold.twin.state import Call
from anchorhold.twin.versions import Dated, Since
from anchorhold.twin.wire import Obj

RETRIEVE: dict[str, Param] = {"expand": ListOf()}
UPDATE: dict[str, Dated] = {
    "evidence": NotSimulated(),
    "expand": ListOf(),
    "intended_submission_method": Since("2026-10-28", NotSimulated()),
    "metadata": Metadata(),
    "submit": NotSimulated(),
}
LIST: dict[str, Param] = {**DATED, "charge": Str(), "payment_intent": Str()}

_TEXT = (
    "access_activity_log", "billing_address", "cancellation_policy",
    "cancellation_policy_disclosure", "cancellation_rebuttal", "customer_communication",
    "customer_email_address", "customer_name", "customer_purchase_ip", "customer_signature",
    "duplicate_charge_documentation", "duplicate_charge_explanation", "duplicate_charge_id",
    "product_description", "receipt", "refund_policy", "refund_policy_disclosure",
    "refund_refusal_explanation", "service_date", "service_documentation", "shipping_address",
    "shipping_carrier", "shipping_date", "shipping_documentation", "shipping_tracking_number",
    "uncategorized_file", "uncategorized_text",
)  # fmt: skip


def open_(call: Call, charge_id: str, reason: str) -> Obj:
    """A dispute about the charge's whole amount. `inquiry` opens as a warning."""
    charge = call.find("charge", charge_id)
    inquiry = reason == "inquiry"
    disputed = call.account.charges.put({**charge, "disputed": True})
    dispute = call.account.disputes.put(
        {
            "id": call.ids.new("du"),
            "object": "dispute",
            "amount": charge["amount"],
            "balance_transactions": [],
            "charge": charge_id,
            "created": call.now,
            "currency": charge["currency"],
            "enhanced_eligibility_types": [],
            "evidence": {**dict.fromkeys(_TEXT), "enhanced_evidence": {}},
            "evidence_details": {
                "due_by": call.now + 9 * 86_400,
                "enhanced_eligibility": {},
                "has_evidence": False,
                "past_due": False,
                "submission_count": 0,
                "submission_method": "not_submitted",
            },
            "is_charge_refundable": inquiry,
            "livemode": call.account.livemode,
            "metadata": {},
            "payment_intent": charge["payment_intent"],
            "reason": "general" if inquiry else reason,
            "status": "warning_needs_response" if inquiry else "needs_response",
        }
    )
    emit(call, "charge.dispute.created", dispute)
    emit(call, "charge.updated", disputed, charge)
    return dispute


def close(call: Call, id_: str, *, won: bool) -> Obj:
    """The bank decides. Not a call of Stripe's API that a merchant can make."""
    before = call.find("dispute", id_)
    if before["status"] in {"won", "lost", "warning_closed"}:
        raise invalid("This dispute is closed already.")
    status = "won" if won else "lost"
    if before["status"].startswith("warning"):
        status = "warning_closed"
    after = call.account.disputes.put({**before, "status": status})
    emit(call, "charge.dispute.closed", after, before)
    return after


def update(call: Call) -> Obj:
    """POST /v1/disputes/{id}: its metadata; evidence is not simulated."""
    before = call.find("dispute", call.path[0])
    if "metadata" not in call.params:
        return before
    metadata = merged_metadata(before["metadata"], call.params["metadata"])
    after = call.account.disputes.put({**before, "metadata": metadata})
    emit(call, "charge.dispute.updated", after, before)
    return after


def accept(call: Call) -> Obj:
    """POST /v1/disputes/{id}/close: the merchant gives in; the dispute is lost."""
    return close(call, call.path[0], won=False)


def retrieve(call: Call) -> Obj:
    """GET /v1/disputes/{id}."""
    return call.find("dispute", call.path[0])


def list_(call: Call) -> Obj:
    """GET /v1/disputes: all, or those of one charge or one intent."""
    return page_of_charge(call.account.disputes, call.params, "/v1/disputes")
