"""A customer pays in a real browser: every way it can go, and never a second payment."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from anchorhold.engine import amend as amending
from anchorhold.engine import close as closing
from anchorhold.engine.page_links import revoke_link
from anchorhold.store import page_links
from anchorhold.twin import acts
from tests.browser.paying import ASKS, DECLINED, GOOD, IBAN, Shop, fill, pay, ready, shows

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def _once(shop: Shop) -> AsyncGenerator[None]:
    """After each test Stripe's side is looked at: nobody paid twice, nothing is lost."""
    yield
    await shop.audit()


async def test_a_card_pays_and_the_page_shows_the_receipt(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await expect(page.locator("h1")).to_have_text("€149.00")
    await pay(page)
    await shows(page, "paid")
    assert (shop.paid(invoice), shop.status(invoice)) == (1, "paid")
    assert "secret" not in page.url
    await expect(page.locator("dl")).to_contain_text("€149.00")


async def test_a_decline_is_said_and_another_card_pays(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await pay(page, DECLINED)
    await expect(page.locator("#said")).to_have_text("Your card was declined.")
    await pay(page, GOOD)
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_an_empty_form_is_not_sent(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await ready(page)
    await page.locator("#button").click()
    await expect(page.locator("#said")).to_be_visible()
    await expect(page.locator("#button")).to_be_enabled()
    assert shop.confirms(invoice) == 0


async def test_two_clicks_are_one_confirm(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await fill(page)
    await page.locator("#button").dblclick()
    await shows(page, "paid")
    assert shop.confirms(invoice) == 1


async def to_the_bank(shop: Shop, page: Page) -> None:
    await pay(page, ASKS)
    await page.wait_for_url("**/_twin/bank/**")


async def test_the_bank_says_yes(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await to_the_bank(shop, page)
    await page.get_by_role("button", name="Complete").click()
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_the_bank_says_no_and_another_card_pays(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await to_the_bank(shop, page)
    await page.get_by_role("button", name="Fail").click()
    await shows(page, "pay")
    await expect(page.locator("#again")).to_be_visible()
    await pay(page)
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_a24_the_bank_is_left_alone_and_the_same_intent_is_paid_later(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await to_the_bank(shop, page)
    intent = shop.intent(invoice)
    assert intent["status"] == "requires_action"
    await page.go_back()
    await shows(page, "pay")
    await pay(page)
    await shows(page, "paid")
    assert shop.intent(invoice)["id"] == intent["id"]
    assert shop.paid(invoice) == 1


async def test_e1_a_bank_debit_is_on_its_way_and_the_page_asks_for_nothing(shop: Shop) -> None:
    await shop.takes("card", "sepa_debit")
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await ready(page)
    inside = page.frame_locator("#element iframe")
    await inside.get_by_text("SEPA debit").click()
    for name, text in (("iban", IBAN), ("name", "Ada"), ("email", "ada@example.com")):
        await inside.locator(f"#{name}").fill(text)
    await page.locator("#button").click()
    await shows(page, "processing")
    await expect(page.get_by_role("button")).to_have_count(0)
    await expect(page.get_by_role("status")).to_contain_text("Please do not pay again")
    acts.end_debit(shop.twin, shop.intent(invoice)["id"])
    await shop.looked(invoice)
    await page.reload()
    await shows(page, "paid")
    await shop.takes("card")


async def test_a13_two_tabs_pay_once(shop: Shop) -> None:
    invoice = await shop.invoice()
    url = await shop.link(invoice)
    first, second = await shop.visit(url), await shop.visit(url)
    await fill(first)
    await fill(second)
    await first.locator("#button").click()
    await shows(first, "paid")
    await second.locator("#button").click()
    await shows(second, "paid")
    assert (shop.paid(invoice), shop.confirms(invoice)) == (1, 1)


async def test_a13_two_tabs_at_the_bank_pay_once(shop: Shop) -> None:
    invoice = await shop.invoice()
    url = await shop.link(invoice)
    first, second = await shop.visit(url), await shop.visit(url)
    await to_the_bank(shop, first)
    await pay(second)
    await shows(second, "paid")
    await first.get_by_role("button", name="Complete").click()
    await first.goto(url)
    await shows(first, "paid")
    assert shop.paid(invoice) == 1


async def test_a_reload_in_the_middle_and_the_back_button_find_the_truth(shop: Shop) -> None:
    invoice = await shop.invoice()
    url = await shop.link(invoice)
    page = await shop.visit("about:blank")
    await page.goto(url)
    await fill(page)
    await page.reload()
    await pay(page)
    await shows(page, "paid")
    await page.go_back()
    await page.go_forward()
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_a7_a_page_that_stays_open_while_the_charge_runs_asks_for_nothing(
    shop: Shop,
) -> None:
    invoice = await shop.invoice(method="pm_card_visa")
    page = await shop.visit(await shop.link(invoice))
    await fill(page)
    (claim,) = await shop.claim(invoice)
    await page.locator("#button").click()
    await shows(page, "being_confirmed")
    await expect(page.get_by_role("button")).to_have_count(0)
    assert shop.confirms(invoice) == 0
    await shop.carry_out(claim)
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_a7_a_page_that_pays_while_a_worker_charges_pays_once(shop: Shop) -> None:
    """The claim comes after the page's last look: both confirm the one intent."""
    invoice = await shop.invoice(method="pm_card_visa")
    page = await shop.visit(await shop.link(invoice))
    await fill(page)
    await page.route("**/state", lambda route: route.abort())
    (claim,) = await shop.claim(invoice)
    await page.locator("#button").click()
    await shows(page, "being_confirmed")
    await shop.carry_out(claim)
    await page.unroute("**/state")
    await shows(page, "paid")
    assert shop.paid(invoice) == 1


async def test_an_invoice_that_became_void_is_not_paid_by_an_open_page(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await fill(page)
    await closing.void(shop.deps, shop.scope, invoice, reason="made twice")
    await page.route("**/state", lambda route: route.abort())
    await page.locator("#button").click()
    await shows(page, "void")
    assert shop.paid(invoice) == 0


async def test_an_open_page_shows_and_takes_the_new_amount(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await fill(page)
    await amending.amend(shop.deps, shop.scope, invoice, amount_due=9900, reason="late")
    await page.route("**/state", lambda route: route.abort())
    await page.locator("#button").click()
    await expect(page.locator("h1")).to_have_text("€99.00")
    await page.unroute("**/state")
    await pay(page)
    await shows(page, "paid")
    assert shop.intent(invoice)["amount_received"] == 9900


async def test_an_open_page_notices_by_itself_what_happened_elsewhere(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await ready(page)
    await closing.void(shop.deps, shop.scope, invoice, reason="made twice")
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await shows(page, "void")


async def test_a_link_that_was_revoked_opens_nothing(shop: Shop) -> None:
    invoice = await shop.invoice()
    url = await shop.link(invoice)
    (link,) = await page_links.of_invoice(shop.deps.db, shop.scope, invoice)
    await revoke_link(shop.deps, shop.scope, link.id)
    page = await shop.visit(url)
    await shows(page, "expired")
    await expect(page.locator("body")).not_to_contain_text("149")


async def test_a_customer_whose_script_is_blocked_is_told(shop: Shop) -> None:
    page = await shop.visit("about:blank")
    await page.route("**/js/v3/", lambda route: route.abort())
    await page.goto(await shop.link(await shop.invoice()))
    await expect(page.locator("#not-loaded")).to_be_visible()
    await expect(page.locator("#button")).to_be_disabled()


async def test_a_customer_without_javascript_reads_the_state(shop: Shop) -> None:
    page = await shop.visit(await shop.link(await shop.invoice()), java_script_enabled=False)
    await expect(page.locator("h1")).to_have_text("€149.00")
    assert "please allow JavaScript" in await page.content()


async def test_the_keyboard_alone_pays(shop: Shop) -> None:
    invoice = await shop.invoice()
    page = await shop.visit(await shop.link(invoice))
    await ready(page)
    for text in ("4242424242424242", "12/34", "123"):
        await page.keyboard.press("Tab")
        await page.keyboard.type(text)
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.id") == "button"
    await page.keyboard.press("Enter")
    await shows(page, "paid")
    assert shop.paid(invoice) == 1
