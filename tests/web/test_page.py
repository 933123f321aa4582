"""The hosted page over HTTP: who is let in, and what every answer says to browsers."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psycopg
import pytest
import pytest_asyncio

from anchorhold.app import App, open_app
from anchorhold.domain.ids import ACCOUNT, PAGE_LINK, InvoiceId
from anchorhold.domain.page_link import Locale, Place, token_of
from anchorhold.domain.scope import Scope
from anchorhold.engine.page_links import make_link
from anchorhold.entropy import new_id
from anchorhold.providers import new_connection
from anchorhold.settings import STRIPE_API_BASE, load
from anchorhold.store import accounts, page_links
from anchorhold.twin import ACCOUNT as STRIPE_ACCOUNT
from anchorhold.twin import SECRET_KEY, Twin
from anchorhold.twin.server import serve
from anchorhold.web.page import guests, policy
from anchorhold.web.page.speech import speech
from anchorhold.web.page.words import WORDS, Screen
from anchorhold.web.site import site
from tests.web.served import served
from tests.worker.world import due_invoices, environment


@dataclass
class Site:
    """A page that is served, with one invoice and its link."""

    app: App
    scope: Scope
    url: str
    invoice: InvoiceId
    client: aiohttp.ClientSession

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and body, without following where it sends us."""
        async with self.client.get(
            f"{self.url}{path}", headers=headers, allow_redirects=False
        ) as response:
            return response.status, await response.text()

    async def link(self, locale: Locale | None = None, lasts_s: float = 3600) -> str:
        """The path of a new link."""
        made = await make_link(
            self.app.deps, self.scope, self.invoice, locale=locale, lasts_s=lasts_s
        )
        return f"/pay/{token_of(self.app.secret_key, Place(self.scope, made.id))}"


@pytest_asyncio.fixture(name="at")
async def _at(database: str, tmp_path: Path) -> AsyncGenerator[Site]:
    server = await serve(Twin(seed="page"))
    env = environment(database, server.url, tmp_path)
    async with open_app(load(env), actor="test") as app:
        scope = Scope(new_id(ACCOUNT), livemode=False)
        await accounts.create(app.deps.db, scope.account_id, "shop")
        connection = new_connection(app.secret_key, scope, SECRET_KEY, STRIPE_ACCOUNT)
        await accounts.connect(app.deps.db, scope, connection)
        await page_links.present(
            app.deps.db, scope, publishable_key="pk_test_1", public_name="Ada & <Sons>"
        )
        (invoice,) = await due_invoices(app.deps.db, scope, 1)
        async with served(site(app)) as url, aiohttp.ClientSession() as client:
            yield Site(app, scope, url, invoice, client)
    await server.stop()


async def test_the_page_names_amount_business_and_invoice(at: Site) -> None:
    status, text = await at.get(await at.link())
    assert status == 200
    assert "€9.90" in text
    assert "Ada &amp; &lt;Sons&gt;" in text
    assert 'data-secret="pi_' in text


async def test_nobody_keeps_the_page_and_only_stripe_may_add_to_it(at: Site) -> None:
    async with at.client.get(at.url + await at.link()) as response:
        headers, text = response.headers, await response.text()
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Robots-Tag"] == "noindex, nofollow"
    rules = headers["Content-Security-Policy"]
    assert "unsafe" not in rules
    assert "default-src 'none'" in rules
    assert "frame-ancestors 'none'" in rules
    nonces = set(re.findall(r'nonce="([^"]+)"', text))
    assert len(nonces) == 1
    assert f"'nonce-{nonces.pop()}'" in rules
    assert not re.findall(r"<script(?![^>]*src=)", text)


def test_in_production_the_script_is_stripes_own() -> None:
    rules = policy.OF_STRIPE.policy("n")
    assert policy.OF_STRIPE.script == "https://js.stripe.com/v3/"
    assert f"connect-src 'self' {STRIPE_API_BASE};" in rules


async def test_a_nonce_serves_once(at: Site) -> None:
    path = await at.link()
    pages = [(await at.get(path))[1] for _ in range(2)]
    nonces = {re.findall(r'nonce="([^"]+)"', text)[0] for text in pages}
    assert len(nonces) == 2


@pytest.mark.parametrize("token", ["x", "a" * 87, "%00", "é" * 87, "a" * 5000, "static"])
async def test_what_we_never_wrote_is_not_found(token: str, at: Site) -> None:
    for path in (f"/pay/{token}", f"/pay/{token}/state"):
        assert (await at.get(path))[0] == 404


async def test_a_link_of_another_key_or_mode_or_account_opens_nothing(at: Site) -> None:
    made = await make_link(at.app.deps, at.scope, at.invoice)
    live = Scope(at.scope.account_id, livemode=True)
    strange = Scope(new_id(ACCOUNT), livemode=False)
    tokens = [
        token_of(b"x" * 32, Place(at.scope, made.id)),
        token_of(at.app.secret_key, Place(live, made.id)),
        token_of(at.app.secret_key, Place(strange, made.id)),
        token_of(at.app.secret_key, Place(at.scope, new_id(PAGE_LINK))),
    ]
    assert [(await at.get(f"/pay/{token}"))[0] for token in tokens] == [404] * 4


async def test_a_link_that_has_expired_says_so_and_no_amount(at: Site) -> None:
    path = await at.link(lasts_s=60)
    with_sql(at, "UPDATE anchorhold.page_link SET expires_at = anchorhold.now()")
    status, text = await at.get(path)
    assert status == 410
    assert "This link has ended" in text
    assert "9.90" not in text
    assert "secret" not in text


async def test_strangers_who_guess_are_slowed_down(at: Site) -> None:
    said = [(await at.get(f"/pay/{n:087}"))[0] for n in range(25)]
    assert said[:20] == [404] * 20
    assert 429 in said[20:]
    assert (await at.get(await at.link()))[0] == 200, "a good link opens all the same"


async def test_without_a_publishable_key_nothing_can_be_paid(at: Site) -> None:
    with_sql(at, "UPDATE anchorhold.connection SET publishable_key = NULL")
    status, text = await at.get(await at.link())
    assert status == 503
    assert "pi_" not in text


async def test_a_key_that_stripe_refused_closes_the_page(at: Site) -> None:
    with_sql(at, "UPDATE anchorhold.connection SET refused_at = now(), refused_reason = '401'")
    status, text = await at.get(await at.link())
    assert status == 503
    assert "Nothing was charged" in text


async def test_a_held_invoice_shows_no_secret(at: Site) -> None:
    path = await at.link()
    await at.get(path)
    with_sql(
        at,
        "UPDATE anchorhold.invoice SET hold_attempt = 'att_1',"
        " hold_until = anchorhold.now() + interval '5 minutes'",
    )
    status, text = await at.get(path)
    assert status == 200
    assert "Please do not pay again" in text
    assert "secret" not in text
    assert '"being_confirmed"' in (await at.get(f"{path}/state"))[1]


async def test_the_way_back_leaves_the_secret_out_of_the_address(at: Site) -> None:
    path = await at.link()
    back = f"{path}/return?payment_intent=pi_1&payment_intent_client_secret=pi_1_secret_2"
    async with at.client.get(at.url + back, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, path)
    failed = f"{path}/return?redirect_status=failed"
    async with at.client.get(at.url + failed, allow_redirects=False) as response:
        assert response.headers["Location"] == f"{path}?again=1"


async def test_ten_visits_at_once_are_one_intent(at: Site) -> None:
    path = await at.link()
    statuses = await asyncio.gather(*(at.get(path) for _ in range(10)))
    assert 200 in {status for status, _ in statuses}
    assert with_sql(at, "SELECT count(*) FROM anchorhold.intent WHERE state = 'live'") == [(1,)]


def with_sql(at: Site, statement: str) -> list[tuple[object, ...]]:
    """The rows of any statement, outside of the program."""
    with psycopg.connect(at.app.conninfo, autocommit=True) as conn:
        cursor = conn.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_every_language_has_every_sentence_with_the_same_facts() -> None:
    for name, sentences in WORDS.items():
        assert set(sentences) == set(Locale), name
        facts = {frozenset(re.findall(r"{(\w+)}", said)) for said in sentences.values()}
        assert len(facts) == 1, name
        assert all(said.strip() for said in sentences.values()), name


def test_every_screen_has_a_title_and_a_text() -> None:
    for screen in Screen:
        assert f"{screen.value}.title" in WORDS
        assert screen is Screen.PAY or f"{screen.value}.text" in WORDS


@pytest.mark.parametrize(
    ("accept", "tag", "money"),
    [
        ("de-AT,de;q=0.9", "de-AT", "€ 149,00"),
        ("en-GB", "en-GB", "€149.00"),
        ("fr", "fr", "149,00 €"),
        ("ja,es;q=0.8", "es", "149,00 €"),
        ("xx-!!, ,;q=1", "en", "€149.00"),
        (None, "en", "€149.00"),
    ],
)
def test_amounts_are_written_as_the_browser_likes(accept: str | None, tag: str, money: str) -> None:
    spoken = speech(None, accept)
    assert spoken.tag == tag
    assert spoken.money(14900, "eur").replace("\xa0", " ") == money


@pytest.mark.parametrize(("amount", "currency", "digits"), [
    (5000, "jpy", "5,000"), (1230, "kwd", "1.230"), (101, "eur", "1.01"), (50000, "isk", "500"),
])  # fmt: skip
def test_g4_no_amount_is_rounded(amount: int, currency: str, digits: str) -> None:
    assert digits in speech(None, "en").money(amount, currency)


def test_a_visitor_gets_more_as_time_goes_by() -> None:
    now = [0.0]
    door = guests.Guests(lambda: now[0], burst=2, a_minute=60)
    assert [door.welcome("a") for _ in range(3)] == [True, True, False]
    assert door.welcome("b")
    now[0] = 1.0
    assert [door.welcome("a"), door.welcome("a")] == [True, False]
