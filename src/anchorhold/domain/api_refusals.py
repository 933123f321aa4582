"""The refusals about requests to the API, as `refusals.py` has them."""

from enum import unique

from anchorhold.domain.refusal_kinds import Coded, Kind, Row


@unique
class ApiCode(Coded):
    """What is refused before a request is acted on, and what became of one card."""

    KEY_MISSING = Row(
        Kind.UNKNOWN_CALLER,
        "The request has no API key.",
        "Send it as `Authorization: Bearer sk_test_…`; make one with `anchorhold key create`.",
    )
    KEY_INVALID = Row(
        Kind.UNKNOWN_CALLER,
        "There is no API key {shown}, or it was revoked or has expired.",
        "List the keys with `anchorhold key list`, or make one with `anchorhold key create`.",
    )
    KEY_NOT_FOUND = Row(
        Kind.MISSING, "There is no API key {id}.", "List them with `anchorhold key list`."
    )
    KEY_ENDED = Row(
        Kind.STATE,
        "API key {id} was revoked or has expired.",
        "Make another one with `anchorhold key create`.",
    )
    GRANT_MISSING = Row(
        Kind.FORBIDDEN,
        "The key {shown} may not {access} {noun}.",
        "Use a secret key, or one that was made with `--grant {noun}:{access}`.",
    )
    GRANT_UNKNOWN = Row(
        Kind.INPUT,
        "'{text}' is no right of a key; {suggestion}.",
        "Write a noun and read or write, for example invoices:read.",
    )
    RATE_LIMITED = Row(
        Kind.TOO_MANY,
        "The key {shown} sent more than {limit} requests in a second.",
        "Wait for as long as Retry-After says, then send it again.",
    )
    IDEMPOTENCY_KEY_REQUIRED = Row(
        Kind.INPUT,
        "A request that can move money needs an Idempotency-Key.",
        "Send a new random one with each act, and the same one when you repeat it.",
    )
    IDEMPOTENCY_KEY_INVALID = Row(
        Kind.INPUT,
        "An Idempotency-Key has 1 to 255 printable ASCII characters.",
        "Send a random one, a UUID for example.",
    )
    IDEMPOTENCY_KEY_IN_USE = Row(
        Kind.UNDER_WAY,
        "A request with this Idempotency-Key is still being worked on.",
        "Repeat it with the same key in a moment: the answer is then there.",
    )
    IDEMPOTENCY_KEY_REUSED = Row(
        Kind.REUSED,
        "This Idempotency-Key was sent before with another request.",
        "Send a new key with each act; a repeated request has to be the same to the letter.",
    )
    STILL_RUNNING = Row(
        Kind.SLOW,
        "The request takes longer than {seconds} s and goes on; what it asks of Stripe is "
        "being confirmed.",
        "Repeat it with the same Idempotency-Key to learn its end; never with another one.",
    )
    PAYMENT_DECLINED = Row(
        Kind.DECLINED,
        "The charge for invoice {invoice} was declined: {reason}.",
        "Ask the customer for another way to pay; see `last_error` of the invoice.",
    )
    FIELD_UNKNOWN = Row(
        Kind.INPUT,
        "There is no field '{name}' here; {suggestion}.",
        "Correct its name or leave it out; nothing was done.",
    )
    FIELD_INVALID = Row(
        Kind.INPUT,
        "The field '{name}' is wrong: {reason}.",
        "Correct it and send the request again; nothing was done.",
    )
    BODY_UNREADABLE = Row(
        Kind.INPUT,
        "The body of the request is not a JSON object: {reason}.",
        "Send JSON in UTF-8 with `Content-Type: application/json`; nothing was done.",
    )
    VERSION_UNKNOWN = Row(
        Kind.INPUT,
        "There is no version '{text}' of the API.",
        "Leave anchorhold-Version out, or send {known}.",
    )
    INVOICE_DIFFERS = Row(
        Kind.STATE,
        "There is an invoice with the reference {reference} already, and it differs.",
        "Give the new one another reference, or change that one with `amend`.",
    )
    CUSTOMER_EXISTS = Row(
        Kind.STATE,
        "There is a customer with the reference {reference} already.",
        "Use it, or give the new one another reference.",
    )
    REFUND_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no refund {id}.",
        "See a payment's refunds with `anchorhold payment show`.",
    )
    ROUTE_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no {method} {path}.",
        "See what there is at `/v1/openapi.json`.",
    )
    METHOD_NOT_ALLOWED = Row(
        Kind.WRONG_METHOD,
        "{path} does not take {method}.",
        "See what it takes at `/v1/openapi.json`.",
    )
