"""What a PaymentIntent's endpoints take, as tables. Source: .../docs/api/payment_intents."""

from anchorhold.twin import method_types
from anchorhold.twin.customers import ADDRESS
from anchorhold.twin.lists import DATED
from anchorhold.twin.method_params import DATA
from anchorhold.twin.params import (
    Bool,
    CurrencyCode,
    Hash,
    Int,
    ListOf,
    Metadata,
    NotSimulated,
    OffSession,
    OneOf,
    Opaque,
    Param,
    Str,
)
from anchorhold.twin.versions import Dated

ONLY_WITH_CONFIRM = (
    "off_session",
    "error_on_requires_action",
    "mandate",
    "mandate_data",
    "return_url",
)
CLOSED_TO_UPDATE = ("canceled", "processing", "requires_capture", "succeeded")

_ONLINE = Hash({"ip_address": Str(), "user_agent": Str()}, ("ip_address", "user_agent"))
_MANDATE_DATA = Hash(
    {
        "customer_acceptance": Hash(
            {
                "type": OneOf(("offline", "online")),
                "accepted_at": Int(),
                "offline": Opaque(),
                "online": _ONLINE,
            },
            ("type",),
        )
    },
    ("customer_acceptance",),
    clear=True,
)
_SHIPPING = Hash(
    {
        "address": Hash(ADDRESS),
        "name": Str(),
        "phone": Str(clear=True),
        "carrier": Str(),
        "tracking_number": Str(),
    },
    ("address", "name"),
    clear=True,
)
_USAGE = OneOf(("off_session", "on_session"), clear=True)
_METHOD: dict[str, Dated] = {
    "payment_method": Str(),
    "payment_method_data": Hash(DATA, ("type",)),
    "payment_method_options": Opaque(),
    **method_types.PARAMS,
}
_UNSIMULATED: dict[str, Param] = dict.fromkeys(
    (
        "amount_details",
        "application_fee_amount",
        "customer_account",
        "excluded_payment_method_types",
        "hooks",
        "payment_details",
        "payment_method_configuration",
        "transfer_data",
        "transfer_group",
    ),
    NotSimulated(),
)
_BOTH: dict[str, Dated] = {
    **_METHOD,
    **_UNSIMULATED,
    "capture_method": OneOf(("automatic", "automatic_async")),
    "customer": Str(),
    "description": Str(1000),
    "expand": ListOf(),
    "metadata": Metadata(),
    "receipt_email": Str(clear=True),
    "setup_future_usage": _USAGE,
    "shipping": _SHIPPING,
    "statement_descriptor": Str(22),
    "statement_descriptor_suffix": Str(22),
}
_AUTOMATIC = Hash({"enabled": Bool(), "allow_redirects": OneOf(("always", "never"))}, ("enabled",))
_CONFIRMING: dict[str, Param] = {
    "confirmation_token": NotSimulated(),
    "error_on_requires_action": Bool(),
    "mandate": Str(),
    "mandate_data": _MANDATE_DATA,
    "off_session": OffSession(),
    "radar_options": Opaque(),
    "return_url": Str(),
    "use_stripe_sdk": Bool(),
}
CREATE: dict[str, Dated] = {
    **_BOTH,
    **_CONFIRMING,
    "amount": Int(1),
    "automatic_payment_methods": _AUTOMATIC,
    "confirm": Bool(),
    "confirmation_method": OneOf(("automatic",)),
    "currency": CurrencyCode(),
    "on_behalf_of": NotSimulated(),
}
UPDATE: dict[str, Dated] = {**_BOTH, "amount": Int(1), "currency": CurrencyCode()}
CONFIRM: dict[str, Dated] = {
    **_METHOD,
    **_CONFIRMING,
    "amount_details": NotSimulated(),
    "amount_to_confirm": NotSimulated(),
    "capture_method": OneOf(("automatic", "automatic_async")),
    "client_secret": Str(),
    "excluded_payment_method_types": NotSimulated(),
    "expand": ListOf(),
    "hooks": NotSimulated(),
    "payment_details": NotSimulated(),
    "receipt_email": Str(clear=True),
    "setup_future_usage": _USAGE,
    "shipping": _SHIPPING,
}
CANCEL: dict[str, Param] = {
    "cancellation_reason": OneOf(("abandoned", "duplicate", "fraudulent", "requested_by_customer")),
    "expand": ListOf(),
}
RETRIEVE: dict[str, Param] = {"client_secret": Str(), "expand": ListOf()}
LIST: dict[str, Param] = {**DATED, "customer": Str(), "customer_account": NotSimulated()}
