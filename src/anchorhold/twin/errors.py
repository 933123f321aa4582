"""Stripe's refusals: status, body and the sentences that clients match on.

Shape and codes: the schema `api_errors` of Stripe's OpenAPI document and
https://docs.stripe.com/error-codes.
"""

from anchorhold.twin.wire import Obj


class StripeError(Exception):
    """An answer that is not 2xx. `error` is the object under `error` in the body."""

    def __init__(self, status: int, error: Obj, *, retry: bool | None = None) -> None:
        super().__init__(f"{status} {error.get('code')}: {error.get('message')}")
        self.status = status
        self.error = error
        self.retry = retry
        """What the header `Stripe-Should-Retry` says; None leaves it out."""


def _error(kind: str, message: str, code: str | None, param: str | None) -> Obj:
    error: Obj = {"message": message, "type": kind}
    if code is not None:
        error["code"] = code
        error["doc_url"] = f"https://stripe.com/docs/error-codes/{code.replace('_', '-')}"
    if param is not None:
        error["param"] = param
    return error


def invalid(
    message: str, *, code: str | None = None, param: str | None = None, status: int = 400
) -> StripeError:
    """An `invalid_request_error`: the request asks for something that cannot be."""
    return StripeError(status, _error("invalid_request_error", message, code, param))


def missing(noun: str, value: str, param: str, status: int = 404) -> StripeError:
    """404 (or 400 for a list's filter) `resource_missing`: no such object in this account."""
    return invalid(
        f"No such {noun}: '{value}'", code="resource_missing", param=param, status=status
    )


def unknown_parameter(name: str) -> StripeError:
    """400 `parameter_unknown`."""
    return invalid(f"Received unknown parameter: {name}", code="parameter_unknown", param=name)


def not_simulated(name: str) -> StripeError:
    """400 for what Stripe has and the twin has not: loud, so that no test passes by accident."""
    return invalid(f"Stripe knows `{name}`, this twin does not simulate it.", param=name)


def unexpected_state(message: str, intent: Obj) -> StripeError:
    """400 `payment_intent_unexpected_state` with the intent, as it is, inside."""
    refusal = invalid(message, code="payment_intent_unexpected_state")
    refusal.error["payment_intent"] = intent
    return refusal


def card_error(message: str, code: str, extra: Obj) -> StripeError:
    """402 `card_error`; `extra` holds decline_code, charge, payment_intent and the like."""
    error = {**_error("card_error", message, code, None), **extra}
    return StripeError(402, error, retry=False)


def unauthorized(message: str, code: str | None = None) -> StripeError:
    """401: no key, or none that counts."""
    return invalid(message, code=code, status=401)


def forbidden(message: str, code: str | None = None) -> StripeError:
    """403: the key counts, and may not do this."""
    return invalid(message, code=code, status=403)


def key_reused(key: str) -> StripeError:
    """400 `idempotency_error`: the key came before with another endpoint or other parameters."""
    message = (
        "Keys for idempotent requests can only be used with the same parameters they were first "
        f"used with. Try using a key other than '{key}' if you meant to execute a different "
        "request."
    )
    return StripeError(400, _error("idempotency_error", message, None, None))


def key_in_use(key: str) -> StripeError:
    """409 `idempotency_key_in_use`: the first request with this key is still running."""
    message = (
        "There is currently another in-progress request using this Idempotent Key (that probably "
        "means you submitted twice, and the other request is still going through): "
        f"{key}. Please try again later."
    )
    error = _error("invalid_request_error", message, "idempotency_key_in_use", None)
    return StripeError(409, error, retry=True)


def lock_timeout() -> StripeError:
    """429 `lock_timeout`: another request is at work on the same object."""
    message = (
        "This object cannot be accessed right now because another API request or Stripe process "
        "is currently accessing it. If you see this error intermittently, retry the request. If "
        "you see this error frequently and are making multiple concurrent requests to a single "
        "object, make your requests serially or at a lower rate."
    )
    error = _error("invalid_request_error", message, "lock_timeout", None)
    return StripeError(429, error, retry=True)


def rate_limit() -> StripeError:
    """429 `rate_limit`: the limiter stands before everything else; nothing was executed."""
    message = "Request rate limit exceeded. Learn more: https://stripe.com/docs/rate-limits"
    return StripeError(429, _error("invalid_request_error", message, "rate_limit", None))


def server_error() -> StripeError:
    """500 `api_error`: what Stripe did is not said."""
    message = (
        "Sorry! There was an error while talking to one of our backends. Support has been notified."
    )
    return StripeError(500, _error("api_error", message, None, None))


def unrecognized_url(method: str, path: str) -> StripeError:
    """404: no such endpoint, here or in this twin."""
    message = (
        f"Unrecognized request URL ({method}: {path}). Please see https://stripe.com/docs or we "
        "can help at https://support.stripe.com/."
    )
    return invalid(message, status=404)
