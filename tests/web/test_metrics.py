"""`/metrics` where a process answers anyway, or on a listener of its own."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from anchorhold.app import App, open_app
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.metrics import Meters
from anchorhold.settings import load
from anchorhold.web import metrics
from anchorhold.web.beside import beside
from anchorhold.web.site import site
from tests.web.served import served
from tests.worker.world import SECRET, url_of


@pytest.fixture
def env(database: str, tmp_path: Path) -> dict[str, str]:
    return {
        "ANCHORHOLD_DATABASE_URL": url_of(database),
        "ANCHORHOLD_DATA_DIR": str(tmp_path),
        "ANCHORHOLD_SECRET_KEY": SECRET,
    }


@pytest.fixture
def meters() -> Meters:
    return Meters()


@pytest_asyncio.fixture
async def app(env: dict[str, str], meters: Meters) -> AsyncGenerator[App]:
    async with open_app(load(env), actor="test", meter=meters) as opened:
        yield opened


async def get(url: str) -> tuple[int, str, str]:
    """Status, content type and text."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, response.headers["content-type"], await response.text()


async def test_it_is_in_the_format_of_prometheus(app: App, meters: Meters) -> None:
    text = metrics.exposition(app, meters).text
    async with served(site(app, text=text)) as url:
        status, kind, said = await get(f"{url}/metrics")
    assert (status, kind.partition(";")[0]) == (200, "text/plain")
    names = {family.name for family in text_string_to_metric_families(said)}
    assert {"anchorhold_database_up", "anchorhold_holds", "process_cpu_seconds"} <= names


async def test_without_it_nothing_is_shown(app: App) -> None:
    async with served(site(app)) as url:
        assert (await get(f"{url}/metrics"))[0] == 404


async def test_a_listener_of_its_own_answers_metrics_and_health_and_nothing_else(
    app: App, meters: Meters, env: dict[str, str]
) -> None:
    listener = metrics.bind(load({**env, "ANCHORHOLD_METRICS_LISTEN": "127.0.0.1:0"}))
    assert listener is not None
    port = listener.getsockname()[1]
    with listener:
        async with metrics.served(app, metrics.exposition(app, meters).text, listener):
            found = {
                path: (await get(f"http://127.0.0.1:{port}{path}"))[0]
                for path in ("/metrics", "/healthz", "/readyz", "/stripe/default")
            }
    assert found == {"/metrics": 200, "/healthz": 200, "/readyz": 200, "/stripe/default": 404}


def test_no_listener_is_made_unless_it_is_asked_for(env: dict[str, str]) -> None:
    assert metrics.bind(load(env)) is None


def test_an_address_of_another_machine_is_refused_by_the_name_of_the_setting(
    env: dict[str, str],
) -> None:
    with pytest.raises(Refusal) as refusal:
        metrics.bind(load({**env, "ANCHORHOLD_METRICS_LISTEN": "192.0.2.1:0"}))
    assert refusal.value.code is Code.SETTINGS_INVALID
    assert "ANCHORHOLD_METRICS_LISTEN" in refusal.value.sentence


async def test_what_runs_beside_tells_when_it_ended() -> None:
    ended = asyncio.Event()

    async def soon() -> None:
        """Ends at once."""

    async with beside(soon(), ended=ended.set):
        await ended.wait()
