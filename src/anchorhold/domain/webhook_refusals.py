"""The refusals about webhooks, in and out, as `refusals.py` has them."""

from enum import unique

from anchorhold.domain.refusal_kinds import Coded, Kind, Row


@unique
class WebhookCode(Coded):
    """What is refused about endpoints, deliveries and signing secrets."""

    ENDPOINT_NOT_FOUND = Row(
        Kind.MISSING, "There is no endpoint {id}.", "List them with `anchorhold webhook list`."
    )
    ENDPOINT_EXISTS = Row(
        Kind.STATE,
        "{url} is told of what happens already.",
        "See its types with `anchorhold webhook list`.",
    )
    ENDPOINT_DISABLED = Row(
        Kind.STATE,
        "Endpoint {id} is switched off: its last answer was {reason}.",
        "Switch it on with `anchorhold webhook enable {id}` once it works.",
    )
    ENDPOINT_URL_INVALID = Row(
        Kind.INPUT,
        "'{url}' is no address that messages can be posted to.",
        "Write it with https://; in test mode http:// will do as well.",
    )
    SECRET_OVERLAPS = Row(
        Kind.STATE,
        "Endpoint {id} has an old secret that still signs, until {until}.",
        "Rotate again after that: a receiver may know either of the two.",
    )
    MESSAGE_TYPE_UNKNOWN = Row(
        Kind.INPUT,
        "No message is of type '{type}'.",
        "Choose from {known}.",
    )
    DELIVERY_NOT_RESENT = Row(
        Kind.STATE,
        "Delivery {id} waits already, or its endpoint is switched off, or there is none.",
        "See it with `anchorhold webhook deliveries`.",
    )
    SIGNING_SECRET_INVALID = Row(
        Kind.INPUT,
        "That is no signing secret of Stripe's, which begins with whsec_.",
        "Copy it from the endpoint's page in Stripe's dashboard.",
    )
    MODE_NOT_CONNECTED = Row(
        Kind.STATE,
        "Account {account} is not connected to Stripe in {mode} mode.",
        "Connect it with `anchorhold account connect {account}`.",
    )
