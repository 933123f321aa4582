"""A customer pays in a real browser, and never twice."""

import pytest
from playwright.async_api import expect

from tests.browser.paying import Shop, pay, shows

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_card_pays_and_the_page_shows_the_receipt(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await expect(page.locator("h1")).to_have_text("€149.00")
    await pay(page)
    await shows(page, "paid")
    assert (shop.paid(invoice), shop.status(invoice)) == (1, "paid")
    assert "secret" not in page.url
