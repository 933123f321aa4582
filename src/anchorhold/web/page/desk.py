"""From a link to what its page shows: the rows decide, Stripe is asked before money could move."""

from dataclasses import dataclass, replace
from typing import Final

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import PaymentStatus
from anchorhold.domain.page_link import LinkState, Locale, read_token
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.page import Page, PageState, closed_page, open_page
from anchorhold.engine.page_links import look_for_payment
from anchorhold.store import page_links
from anchorhold.store.page_links import Facts
from anchorhold.web.page.guests import Guests
from anchorhold.web.page.words import Screen

ACTOR: Final = "page"
SCREENS: Final = {
    PageState.PAY: Screen.PAY,
    PageState.CONFIRMING: Screen.CONFIRMING,
    PageState.PAID: Screen.PAID,
    PageState.VOID: Screen.VOID,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a link shows. With `PAY` come the secret and Stripe's key for browsers."""

    screen: Screen
    facts: Facts | None = None
    locale: Locale | None = None
    amount: int = 0
    client_secret: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that opens an invoice."""

    scope: Scope
    invoice_id: InvoiceId
    locale: Locale | None


class Desk:
    """Answers for the links of every account. `secret_key` is the process's own."""

    def __init__(self, deps: Deps, secret_key: bytes) -> None:
        self._deps = replace(deps, actor=ACTOR)
        self._secret_key = secret_key
        self._strangers = Guests(deps.db.monotonic, burst=20, a_minute=20)
        self._visits = Guests(deps.db.monotonic, burst=60, a_minute=60)
        self._looks = Guests(deps.db.monotonic, burst=5, a_minute=20)

    async def open(self, token: str, visitor: str) -> Opened | Seen:
        """The invoice that the link opens, or why it opens none.

        Who guesses is counted by address, who hammers a good link by link.
        """
        place = read_token(self._secret_key, token)
        if place is None:
            known = self._strangers.welcome(visitor)
            return Seen(Screen.NOT_FOUND if known else Screen.BUSY)
        if not self._visits.welcome(place.link_id):
            return Seen(Screen.BUSY)
        link = await page_links.one(self._deps.db, place.scope, place.link_id)
        if link is None:
            return Seen(Screen.NOT_FOUND)
        opened = Opened(place.scope, link.invoice_id, link.locale)
        if link.state is not LinkState.OPEN:
            return await self._seen(opened, Screen.EXPIRED)
        return opened

    async def show(self, link: Opened) -> Seen:
        """The page; the secret leaves only with the claim's proof (H5)."""
        try:
            await self.look(link)
            page = await open_page(self._deps, link.scope, link.invoice_id)
        except Refusal as refusal:
            return await self._refused(link, refusal)
        seen = await self._seen(link, _screen(page), page)
        if seen.screen is Screen.PAY and (seen.facts is None or not seen.facts.publishable_key):
            self._deps.log.error(
                "page.no_publishable_key",
                account=link.scope.account_id,
                next_step="anchorhold account page --publishable-key pk_…",
            )
            return replace(seen, screen=Screen.UNAVAILABLE, client_secret=None)
        return seen

    async def _refused(self, link: Opened, refusal: Refusal) -> Seen:
        """Paid in the meantime is paid; anything else is an invoice that cannot be paid now."""
        page = await closed_page(self._deps, link.scope, link.invoice_id)
        if page is not None:
            return await self._seen(link, _screen(page), page)
        self._deps.log.error(
            "page.refused", invoice=link.invoice_id, code=refusal.code.code, why=refusal.sentence
        )
        return await self._seen(link, Screen.UNAVAILABLE)

    async def look(self, link: Opened) -> None:
        """Stripe was asked what became of a payment on this page, if that is worth asking."""
        page = await closed_page(self._deps, link.scope, link.invoice_id)
        ended = page is not None and page.state is not PageState.CONFIRMING
        if not ended and self._looks.welcome(link.invoice_id):
            await look_for_payment(self._deps, link.scope, link.invoice_id)

    async def state(self, link: Opened) -> Seen:
        """What the page would show, without opening it: for a page that waits."""
        page = await closed_page(self._deps, link.scope, link.invoice_id)
        if page is not None and page.state is PageState.CONFIRMING:
            await self.look(link)
            page = await closed_page(self._deps, link.scope, link.invoice_id)
        return await self._seen(link, Screen.PAY if page is None else _screen(page), page)

    async def _seen(self, link: Opened, screen: Screen, page: Page | None = None) -> Seen:
        facts = await page_links.facts(self._deps.db, link.scope, link.invoice_id)
        if facts is None:
            return Seen(Screen.NOT_FOUND)
        processing = facts.payment_status is PaymentStatus.PROCESSING
        if screen is Screen.CONFIRMING and processing:
            screen = Screen.PROCESSING
        amount = facts.amount_due - facts.amount_paid
        if screen is Screen.PAID:
            amount = facts.amount_due
        elif page is not None:
            amount = page.amount
        secret = page.client_secret if page is not None else None
        return Seen(screen, facts, link.locale, amount, secret)


def _screen(page: Page) -> Screen:
    return SCREENS[page.state]
