"""A real browser before a real page: one Chromium, and one account with its own Stripe twin.

Everything runs in one event loop: the page, the twin and Playwright's driver.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.page_link import Locale
from anchorhold.domain.scope import Scope
from anchorhold.engine.charge import charge
from anchorhold.engine.deps import Deps
from anchorhold.engine.page_links import make_link
from anchorhold.page_urls import PageUrls
from anchorhold.settings import load
from anchorhold.store import customers, holds, invoices, page_links
from anchorhold.store.invoices import NewInvoice
from anchorhold.twin import PUBLISHABLE_KEY, Twin
from anchorhold.twin.ledger import Ledger
from anchorhold.twin.server import TwinServer
from anchorhold.twin.server import serve as serve_twin
from anchorhold.web.site import site
from tests.web.served import served
from tests.worker.world import World, environment, world

CHROMIUM = Path(os.environ.get("ANCHORHOLD_TEST_CHROMIUM", "/usr/bin/chromium"))
GOOD = "4242 4242 4242 4242"
DECLINED = "4000 0000 0000 0002"
ASKS = "4000 0000 0000 3220"
PAID = "SELECT invoice_id FROM anchorhold.payment"
IBAN = "DE89 3704 0044 0532 0130 00"


def require_chromium() -> None:
    """Debian's Chromium is here; without it skipped locally and failed in CI."""
    if not CHROMIUM.exists():
        missing = f"there is no {CHROMIUM}: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """The one browser of a test process."""
    require_chromium()
    async with async_playwright() as driver:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Shop:
    """A business that collects with the hosted page, and one customer's browser before it."""

    world: World
    urls: PageUrls
    browser: Browser
    made: int = 0
    contexts: list[BrowserContext] = field(default_factory=list)

    @property
    def deps(self) -> Deps:
        """What use cases need."""
        return self.world.app.deps

    @property
    def scope(self) -> Scope:
        """The business's account in test mode."""
        return self.world.scope

    @property
    def twin(self) -> Twin:
        """Stripe."""
        return self.world.twin

    async def invoice(
        self, amount: int = 14900, method: str | None = None, currency: str = "eur"
    ) -> InvoiceId:
        """An open invoice, due in three years unless it has a card that is charged by itself."""
        self.made += 1
        name = f"R-{1000 + self.made}"
        due = datetime(2029, 12, 3, tzinfo=UTC)
        if method is not None:
            due = datetime(2026, 1, 1, tzinfo=UTC)
        row = NewInvoice(name, name, "ada@example.com", method, amount, currency, due)
        db, scope = self.world.app.deps.db, self.world.scope
        (taken,) = await invoices.take_in(db, scope, [row], actor="test")
        await customers.begin(
            db, scope, taken.customer_id, params={"email": "ada@example.com"},
            stripe_customer_id=None, payment_method=method,
        )  # fmt: skip
        return taken.id

    async def claim(self, invoice: InvoiceId) -> list[Claim]:
        """A worker holds the invoice for a charge."""
        claim = await holds.claim(
            self.deps.db, self.scope, self.deps.timing, invoice, AttemptKind.COLLECT, actor="test"
        )
        return [claim] if claim else []

    async def carry_out(self, claim: Claim) -> None:
        """The worker's charge goes through."""
        await charge(self.deps, claim)

    async def takes(self, *types: str) -> None:
        """PaymentIntents that are made from now on take these types."""
        self.world.sql("UPDATE anchorhold.connection SET payment_method_types = %s", list(types))

    async def looked(self, invoice: InvoiceId) -> None:
        """It is a while ago that anybody asked Stripe about the invoice."""
        self.world.sql(
            "UPDATE anchorhold.invoice SET followed_at = followed_at - interval '1 hour',"
            " provider_synced_at = provider_synced_at - interval '1 hour' WHERE id = %s",
            invoice,
        )

    async def audit(self) -> None:
        """Stripe's side: nobody paid an invoice twice, and every success is recorded here."""
        at_stripe = Ledger(self.twin).paid()
        assert set(at_stripe.values()) <= {0, 1}
        recorded = {str(name) for (name,) in self.world.sql(PAID)}
        assert {name for name, count in at_stripe.items() if count} == recorded

    async def link(self, invoice: InvoiceId, locale: Locale | None = None) -> str:
        """The address of a new link."""
        made = await make_link(self.world.app.deps, self.world.scope, invoice, locale=locale)
        return self.urls.of(self.world.scope, made.id)

    async def visit(self, url: str, **options: Any) -> Page:
        """A new customer's window on this address."""
        asked: dict[str, Any] = {"locale": "en-GB", **options}
        context = await self.browser.new_context(**asked)
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        page = await context.new_page()
        await page.goto(url)
        return page

    def paid(self, invoice: InvoiceId) -> int:
        """How many successes Stripe has for the invoice."""
        return Ledger(self.twin).paid().get(invoice, 0)

    def confirms(self, invoice: InvoiceId) -> int:
        """How many confirms of the invoice's intents reached Stripe."""
        ids = {intent["id"] for intent in self._intents(invoice)}
        paths = {f"/v1/payment_intents/{id_}/confirm" for id_ in ids}
        return sum(entry.path in paths for entry in self.twin.requests)

    def status(self, invoice: InvoiceId) -> str:
        """The invoice's status here."""
        ((found,),) = self.world.sql("SELECT status FROM anchorhold.invoice WHERE id = %s", invoice)
        return str(found)

    def intent(self, invoice: InvoiceId) -> dict[str, Any]:
        """The invoice's newest PaymentIntent at Stripe."""
        return self._intents(invoice)[-1]

    def _intents(self, invoice: InvoiceId) -> list[dict[str, Any]]:
        return [
            intent
            for intent in self.twin.account().payment_intents
            if intent["metadata"].get("anchorhold_invoice_id") == invoice
        ]


@asynccontextmanager
async def shop(database: str, folder: Path, browser: Browser) -> AsyncGenerator[Shop]:
    """A shop of its own, with the page served on a free port."""
    server: TwinServer = await serve_twin(Twin(seed="browser"))
    try:
        async with world(environment(database, server.url, folder), server) as made:
            await page_links.present(
                made.app.deps.db, made.scope, publishable_key=PUBLISHABLE_KEY,
                public_name="Harbour Books",
            )  # fmt: skip
            async with served(site(made.app)) as at:
                urls = PageUrls(
                    load({**made.env, "ANCHORHOLD_PUBLIC_URL": at}), made.app.secret_key
                )
                opened = Shop(made, urls, browser)
                yield opened
                for context in opened.contexts:
                    await context.close()
    finally:
        await server.stop()


async def ready(page: Page) -> None:
    """The form can be filled in."""
    await expect(page.locator("#button")).to_be_enabled()


async def fill(page: Page, number: str = GOOD) -> None:
    """The customer types a card."""
    await ready(page)
    inside = page.frame_locator("#element iframe")
    await inside.locator("#number").fill(number)
    await inside.locator("#expiry").fill("12 / 34")
    await inside.locator("#cvc").fill("123")


async def pay(page: Page, number: str = GOOD) -> None:
    """The customer types a card and presses the one button."""
    await fill(page, number)
    await page.locator("#button").click()


async def shows(page: Page, state: str) -> None:
    """The page comes to show this."""
    await expect(page.locator("#page")).to_have_attribute("data-state", state, timeout=10_000)
