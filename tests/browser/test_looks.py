"""The page for everybody: axe-core finds nothing serious, in light and dark, narrow and wide."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from anchorhold.domain.page_link import Locale
from anchorhold.engine import close as closing
from tests.browser.paying import Shop, fill, ready, shows
from tests.node import node_modules

pytestmark = pytest.mark.asyncio(loop_scope="session")

NARROW = {"width": 360, "height": 740}
WIDE = {"width": 1280, "height": 900}
GRAVE = {"serious", "critical"}
RUN = """
async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
    .map((found) => [found.impact, found.id, found.nodes.map((node) => node.target).join(" ")])
"""


@pytest.fixture(name="axe", scope="module")
def _axe() -> str:
    folder = node_modules("axe-core")
    return Path(folder / "axe-core" / "axe.min.js").read_text("utf-8")


async def findings(page: Page, axe: str) -> list[Any]:
    """What axe-core finds on the page and in Stripe's form."""
    found: list[Any] = []
    for frame in page.frames:
        await frame.evaluate(axe)
        more = await frame.evaluate(RUN)
        # A frame is no page: it needs no landmarks and no heading of its own.
        found += more if frame is page.main_frame else [row for row in more if row[0] in GRAVE]
    return found


async def visit(shop: Shop, state: str, **options: Any) -> Page:
    """The page in this state."""
    invoice = await shop.invoice(method="pm_card_visa")
    page = await shop.visit(await shop.link(invoice), **options)
    match state:
        case "pay":
            await fill(page)
        case "being_confirmed":
            await ready(page)
            (claim,) = await shop.claim(invoice)
            await page.reload()
            await shows(page, state)
            await shop.carry_out(claim)
        case "void":
            await closing.void(shop.deps, shop.scope, invoice, reason="made twice")
            await page.reload()
        case _:
            await page.goto(page.url[:-4] + "xxxx")
    await shows(page, state)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", ["pay", "void", "not_found"])
async def test_axe_finds_nothing(state: str, scheme: str, shop: Shop, axe: str) -> None:
    page = await visit(shop, state, color_scheme=scheme, viewport=NARROW)
    assert await findings(page, axe) == []


async def test_axe_finds_nothing_on_the_bank_page(shop: Shop, axe: str) -> None:
    page = await visit(shop, "pay")
    await page.frame_locator("#element iframe").locator("#number").fill("4000000000003220")
    await page.locator("#button").click()
    await page.wait_for_url("**/_twin/bank/**")
    assert await findings(page, axe) == []


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["narrow", "wide"])
async def test_nothing_is_wider_than_the_window(size: Any, shop: Shop) -> None:
    invoice = await shop.invoice(amount=99_999_999)
    page = await shop.visit(await shop.link(invoice, Locale.ES), viewport=size)
    await ready(page)
    wide = await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide


async def test_the_language_is_the_links_or_the_browsers(shop: Shop) -> None:
    invoice = await shop.invoice()
    german = await shop.visit(await shop.link(invoice, Locale.DE))
    assert await german.locator("html").get_attribute("lang") == "de"
    french = await shop.visit(await shop.link(invoice), locale="fr-CH")
    assert await french.locator("html").get_attribute("lang") == "fr-CH"


async def test_nothing_breaks_the_policy_of_the_page(shop: Shop) -> None:
    said: list[str] = []
    page = await shop.visit("about:blank")
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    await page.goto(await shop.link(await shop.invoice()))
    await ready(page)
    assert said == []
