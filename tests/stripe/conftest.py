"""Every asynchronous test of this room runs on asyncio's own loop and on uvloop."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping

import pytest
import pytest_asyncio
import uvloop

from anchorhold.domain.answer import Deadline
from anchorhold.stripe.api import StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport
from tests.stripe.loopback import Loopback

LOOPS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": uvloop.new_event_loop,
}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Both loops: sockets are closed and reset by different code in each."""
    return LOOPS


@pytest_asyncio.fixture
async def server() -> AsyncGenerator[Loopback]:
    """A server on a loopback port that answers as the test tells it to."""
    async with Loopback() as loopback:
        yield loopback


@pytest_asyncio.fixture
async def transport() -> AsyncGenerator[Transport]:
    """The transport with its default settings."""
    wire = Transport()
    yield wire
    await wire.close_async()


@pytest.fixture
def provider(server: Loopback, transport: Transport) -> StripeProvider:
    """The provider, pointed at the loopback server."""
    return StripeProvider(
        "sk_test_anchorhold",
        transport,
        breaker=Breaker(),
        limiter=Limiter(per_endpoint=10_000, per_account=10_000),
        base=server.base,
    )


@pytest.fixture
def soon() -> Deadline:
    """A deadline that no test of a prompt server comes near."""
    return Deadline(time.monotonic() + 20)
