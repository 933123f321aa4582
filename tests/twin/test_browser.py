"""What a customer's browser meets at the twin: script, frame, bank, and what its key may do."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import pytest_asyncio

from anchorhold.twin import PUBLISHABLE_KEY, SECRET_KEY, Settings, Twin
from anchorhold.twin.server import TwinServer, serve

BACK = "https://shop.example/back?order=1"
CARD = {
    "payment_method_data[type]": "card",
    "payment_method_data[card][number]": "4000000000003220",
    "payment_method_data[card][exp_month]": "12",
    "payment_method_data[card][exp_year]": "2034",
    "payment_method_data[card][cvc]": "123",
}


@dataclass
class Browser:
    """A customer with the publishable key and a client secret."""

    server: TwinServer
    http: aiohttp.ClientSession

    async def call(
        self, method: str, path: str, key: str = PUBLISHABLE_KEY, **given: Any
    ) -> tuple[int, dict[str, Any]]:
        """Status and body of a call of Stripe's API."""
        headers = {"Authorization": f"Bearer {key}"}
        async with self.http.request(method, path, headers=headers, **given) as answer:
            return answer.status, await answer.json()

    async def intent(self) -> dict[str, Any]:
        """A new intent, made by the shop."""
        data = {"amount": "14900", "currency": "eur", "allowed_payment_method_types[0]": "card"}
        status, made = await self.call("POST", "/v1/payment_intents", SECRET_KEY, data=data)
        assert status == 200, made
        return made

    async def confirm(self, intent: dict[str, Any], **more: str) -> tuple[int, dict[str, Any]]:
        """The customer confirms with a card that asks its bank."""
        data = {**CARD, "client_secret": intent["client_secret"], "return_url": BACK, **more}
        return await self.call("POST", f"/v1/payment_intents/{intent['id']}/confirm", data=data)

    async def at_bank(self, url: str, passed: str) -> tuple[int, dict[str, list[str]]]:
        """Status, and the query of where the bank sends the customer."""
        async with self.http.post(url, data={"passed": passed}, allow_redirects=False) as answer:
            where = answer.headers.get("Location", "")
            return answer.status, parse_qs(urlsplit(where).query)


@pytest_asyncio.fixture(name="browser")
async def _browser() -> AsyncIterator[Browser]:
    server = await serve(Twin(seed=1))
    async with aiohttp.ClientSession(server.url) as http:
        yield Browser(server, http)
    await server.stop()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/js/v3", "javascript"), ("/js/v3/", "javascript"), ("/js/v3/element", "html")],
)
async def test_the_script_and_its_frame_are_served(path: str, kind: str, browser: Browser) -> None:
    async with browser.http.get(path) as answer:
        assert answer.status == 200
        assert kind in answer.headers["Content-Type"]


async def test_a_browser_sees_of_an_intent_what_stripe_shows_it(browser: Browser) -> None:
    intent = await browser.intent()
    query = {"client_secret": intent["client_secret"]}
    status, seen = await browser.call("GET", f"/v1/payment_intents/{intent['id']}", params=query)
    assert status == 200
    assert not {"metadata", "customer", "latest_charge"} & set(seen)


@pytest.mark.parametrize("secret", [None, "pi_1_secret_2"])
async def test_without_its_secret_an_intent_is_neither_shown_nor_paid(
    secret: str | None, browser: Browser
) -> None:
    intent = await browser.intent()
    given = {"client_secret": secret} if secret else {}
    path = f"/v1/payment_intents/{intent['id']}"
    assert (await browser.call("GET", path, params=given))[0] == 400
    assert (await browser.call("POST", f"{path}/confirm", data={**CARD, **given}))[0] == 400
    assert (await browser.call("POST", f"{path}/cancel", data=given))[0] == 401


@pytest.mark.parametrize(
    ("passed", "status", "redirect"),
    [("1", "succeeded", "succeeded"), ("0", "requires_payment_method", "failed")],
)
async def test_the_bank_asks_and_sends_the_customer_back(
    passed: str, status: str, redirect: str, browser: Browser
) -> None:
    intent = await browser.intent()
    waiting = (await browser.confirm(intent))[1]
    url = waiting["next_action"]["redirect_to_url"]["url"]
    assert url == f"{browser.server.url}/_twin/bank/{intent['id']}"
    async with browser.http.get(url) as shown:
        assert "14900 EUR" in await shown.text()
    code, query = await browser.at_bank(url, passed)
    assert code == 303
    assert query["order"] == ["1"]
    assert query["payment_intent"] == [intent["id"]]
    assert query["redirect_status"] == [redirect]
    after = browser.server.twin.account().payment_intents.get(intent["id"])
    assert after is not None
    assert after["status"] == status
    assert (await browser.at_bank(url, passed))[0] == 404, "the bank asks once"


async def test_a_bank_of_ones_own_stays(browser: Browser) -> None:
    own = Settings(action_url="https://bank.example/ask")
    server = await serve(Twin(seed=2, settings=own))
    try:
        assert server.twin.settings.action_url == "https://bank.example/ask"
    finally:
        await server.stop()
    async with browser.http.get("/_twin/bank/pi_nobody") as answer:
        assert answer.status == 404
