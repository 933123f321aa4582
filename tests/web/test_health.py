"""Whether the process lives, and whether it can work."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import psycopg
import pytest
import pytest_asyncio

from anchorhold.app import App, open_app
from anchorhold.domain.answer import Refused
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.settings import Listen, load
from anchorhold.web import health, serving
from anchorhold.web.site import site
from tests.web.served import served
from tests.worker.world import SECRET, url_of


@pytest_asyncio.fixture
async def app(fresh_database: str, tmp_path: Path) -> AsyncGenerator[App]:
    """An open app on a database of its own."""
    env = {
        "ANCHORHOLD_DATABASE_URL": url_of(fresh_database),
        "ANCHORHOLD_DATA_DIR": str(tmp_path),
        "ANCHORHOLD_SECRET_KEY": SECRET,
    }
    async with open_app(load(env), actor="test") as opened:
        yield opened


@pytest_asyncio.fixture
async def url(app: App) -> AsyncGenerator[str]:
    """Where the app's health is served."""
    async with served(site(app)) as at:
        yield at


async def get(url: str) -> tuple[int, object]:
    """Status and body."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.json()


async def test_a_process_that_answers_lives(url: str) -> None:
    assert await get(f"{url}/healthz") == (200, {"status": "alive"})


async def test_a_database_that_answers_with_this_schema_is_ready(url: str) -> None:
    assert await get(f"{url}/readyz") == (200, {"status": "ready", "breaker": "closed"})


async def test_an_open_breaker_is_told_and_the_process_is_ready_all_the_same(
    url: str, app: App
) -> None:
    breaker = app.wires.breaker
    for _ in range(5):
        permit = breaker.admit()
        assert permit is not None
        breaker.record(permit, Refused(503))
    assert await get(f"{url}/readyz") == (200, {"status": "ready", "breaker": "open"})


async def test_another_schema_is_not_ready(url: str, fresh_database: str) -> None:
    with psycopg.connect(fresh_database) as conn:
        conn.execute("UPDATE anchorhold.schema_version SET version_num = '0001'")
    status, body = await get(f"{url}/readyz")
    assert status == 503
    assert isinstance(body, dict)
    assert body["code"] == "schema_outdated"
    assert await get(f"{url}/healthz") == (200, {"status": "alive"})


async def test_a_database_that_is_gone_is_not_ready(
    url: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection")

    monkeypatch.setattr(health.schema, "require_current", gone)
    status, body = await get(f"{url}/readyz")
    assert status == 503
    assert isinstance(body, dict)
    assert body["code"] == "database_unreachable"


async def test_a_database_that_hangs_is_not_ready(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(health.schema, "require_current", hangs)
    monkeypatch.setattr(health, "ANSWER_S", 0.01)
    assert (await get(f"{url}/readyz"))[0] == 503


async def test_nothing_else_is_served(url: str) -> None:
    for path in ("/", "/docs", "/openapi.json", "/v2/invoices"):
        assert (await get(f"{url}{path}"))[0] == 404


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refusal) as refusal:
            serving.bind(Listen("127.0.0.1", port))
    assert refusal.value.code is Code.PORT_TAKEN
    assert f"127.0.0.1:{port}" in refusal.value.sentence


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(Refusal) as refusal:
        serving.bind(Listen(host, 0))
    assert refusal.value.code is Code.SETTINGS_INVALID
    assert "ANCHORHOLD_LISTEN" in refusal.value.sentence
