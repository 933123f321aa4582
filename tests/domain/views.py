"""Intents and charges as Stripe shows them, with only what a test is about."""

from anchorhold.domain.answer import (
    ChargeView,
    Decline,
    IntentStatus,
    IntentView,
    Refused,
    Shown,
)

SUCCEEDED = IntentStatus.SUCCEEDED


def intent(
    status: IntentStatus = SUCCEEDED,
    charge: ChargeView | None = None,
    *,
    id_: str = "pi_1",
    created: int = 100,
    last_error: Decline | None = None,
) -> IntentView:
    """An intent over 10.00 EUR."""
    return IntentView(
        id=id_,
        status=status,
        amount=1000,
        amount_received=1000 if status is SUCCEEDED else 0,
        currency="eur",
        customer="cus_1",
        payment_method=None,
        created=created,
        metadata={},
        latest_charge=charge,
        last_error=last_error,
    )


def charge(
    status: str = "succeeded",
    *,
    id_: str = "ch_1",
    refunded: int = 0,
    created: int = 100,
    method: str | None = "pm_1",
) -> ChargeView:
    """A charge of 10.00 EUR."""
    failure = Decline("card_declined", "generic_decline") if status == "failed" else None
    return ChargeView(id_, status, 1000, refunded, "eur", method, created, failure)


def shown(status: IntentStatus) -> Shown[IntentView]:
    """A 200 with an intent of this status."""
    return Shown(intent(status))


def refused(status: int, **error: object) -> Refused:
    """An error answer."""
    fields: dict[str, object] = {"type": "invalid_request_error", **error}
    return Refused(status, **fields)  # pyrefly: ignore[bad-argument-type] - the error's own fields
