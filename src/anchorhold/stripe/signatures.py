"""Whether one of our secrets signed a delivery (Stripe: Webhook signatures).

The HMAC over the raw body is compared by Stripe's own library; which secret it was and how old the
signature is are read here, because the library looks at one secret and at one side of the clock.
"""

import re
from collections.abc import Sequence
from typing import Final

from stripe import SignatureVerificationError, WebhookSignature

from anchorhold.domain.event_delivery import Signature, Signed

_TIME: Final = re.compile(r"(?:^|,)t=(\d{1,12})(?:,|$)", re.ASCII)
_PLAIN: Final = re.compile(r"[!-~]{1,4096}", re.ASCII)


def read(body: bytes, header: str | None, secrets: Sequence[str], now_s: int) -> Signed:
    """What the `Stripe-Signature` header says of the raw body at `now_s`, seconds since 1970.

    With several secrets (one is being rolled) the first that made one of the signatures counts.
    """
    usable = [(place, secret) for place, secret in enumerate(secrets) if secret.strip()]
    if not usable:
        return Signed(Signature.CLOSED)
    if not header:
        return Signed(Signature.MISSING)
    at = _time(header)
    text = _text(body)
    if at is None or text is None:
        return Signed(Signature.UNREADABLE)
    age_s = now_s - at
    for place, secret in usable:
        if _made(text, header, secret):
            return Signed(Signature.VALID, place, age_s)
    return Signed(Signature.FORGED, age_s=age_s)


def _time(header: str) -> int | None:
    if _PLAIN.fullmatch(header) is None:
        return None
    found = _TIME.search(header)
    return int(found[1]) if found else None


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _made(text: str, header: str, secret: str) -> bool:
    try:
        return WebhookSignature.verify_header(text, header, secret)
    except SignatureVerificationError:
        return False
