"""A real browser before a real page: one Chromium, and one account with its own Stripe twin.

Everything runs in one event loop: the page, the twin and Playwright's driver.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Frame, Page, async_playwright, expect

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.page_link import Locale
from anchorhold.engine import tick
from anchorhold.engine.page_links import make_link
from anchorhold.page_urls import PageUrls
from anchorhold.settings import load
from anchorhold.store import customers, invoices, page_links
from anchorhold.store.invoices import NewInvoice
from anchorhold.twin import ACCOUNT, PUBLISHABLE_KEY, Twin
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
        await self.tick()
        return taken.id

    async def tick(self) -> None:
        """What workers do every hour."""
        await tick.tick(self.world.app.deps, self.world.scope)

    async def link(self, invoice: InvoiceId, locale: Locale | None = None) -> str:
        """The address of a new link."""
        made = await make_link(self.world.app.deps, self.world.scope, invoice, locale=locale)
        return self.urls.of(self.world.scope, made.id)

    async def visit(self, url: str, **options: Any) -> Page:
        """A new customer's window on this address."""
        context = await self.browser.new_context(**{"locale": "en-GB", **options})
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        page = await context.new_page()
        await page.goto(url)
        return page

    def paid(self, invoice: InvoiceId) -> int:
        """How many successes Stripe has for the invoice."""
        return Ledger(self.twin).paid().get(invoice, 0)

    def status(self, invoice: InvoiceId) -> str:
        """The invoice's status here."""
        ((found,),) = self.world.sql("SELECT status FROM anchorhold.invoice WHERE id = %s", invoice)
        return str(found)

    def intent(self, invoice: InvoiceId) -> dict[str, Any]:
        """The invoice's newest PaymentIntent at Stripe."""
        found = [
            intent
            for intent in self.twin.account().payment_intents
            if intent["metadata"].get("anchorhold_invoice_id") == invoice
        ]
        return found[-1]


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


def form(page: Page) -> Frame:
    """The frame of Stripe's form."""
    return next(frame for frame in page.frames if "/js/v3/element" in frame.url)


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


Act = Callable[[], Any]
EXPECTED_ACCOUNT = ACCOUNT
