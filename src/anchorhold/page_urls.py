"""Where a customer finds the payment page of a link."""

from anchorhold.domain.ids import PageLinkId
from anchorhold.domain.page_link import Place, token_of
from anchorhold.domain.scope import Scope
from anchorhold.settings import Settings


class PageUrls:
    """Writes addresses of the hosted page; the same link always gets the same."""

    def __init__(self, settings: Settings, secret_key: bytes) -> None:
        """`secret_key` is the process's own, the same in every process (`settings.secret_key`)."""
        self._base = settings.public_url or f"http://{settings.listen}"
        self._secret_key = secret_key

    def of(self, scope: Scope, link_id: PageLinkId) -> str:
        """The address that opens the page; whoever has it can see and pay the invoice."""
        return f"{self._base}/pay/{token_of(self._secret_key, Place(scope, link_id))}"
