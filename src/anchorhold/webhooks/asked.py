"""What an endpoint may be asked to be: an address that can be posted to, and types that exist."""

from collections.abc import Sequence

from anchorhold.domain.refusals import Refusal, WebhookCode
from anchorhold.domain.webhook import TYPES


def require_types(wanted: Sequence[str]) -> None:
    """Messages of these types exist. Refuses otherwise (MESSAGE_TYPE_UNKNOWN)."""
    known = [row.name for row in TYPES]
    for name in wanted:
        if name not in known:
            raise Refusal(WebhookCode.MESSAGE_TYPE_UNKNOWN, type=name, known=", ".join(known))


def require_url(url: str, *, livemode: bool) -> None:
    """An address that messages can be posted to; of live mode only over TLS.

    Refuses otherwise (ENDPOINT_URL_INVALID).
    """
    scheme, _, rest = url.partition("://")
    if not rest or (scheme != "https" and (livemode or scheme != "http")):
        raise Refusal(WebhookCode.ENDPOINT_URL_INVALID, url=url)
