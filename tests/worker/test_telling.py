"""News in and out by jobs: an event is acted on right after it came, and others hear of it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import aiohttp
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer
from standardwebhooks import Webhook
from stripe import WebhookSignature

from anchorhold import crypto
from anchorhold.domain.ids import ENDPOINT, SIGNING_SECRET
from anchorhold.entropy import wall_clock
from anchorhold.postman import place_of_secret
from anchorhold.signing_keys import place_of_signing_secret
from anchorhold.store import endpoints, signing_secrets
from anchorhold.web.site import site
from anchorhold.webhooks import signing
from anchorhold.worker.bell import bell
from tests.web.served import served
from tests.worker.test_jobs import working
from tests.worker.world import World

STRIPES = "whsec_of_stripe"


@dataclass
class Listener:
    """An endpoint of the user's."""

    secret: str = field(default_factory=signing.new_secret)
    heard: list[str] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        message = Webhook(self.secret).verify(await request.read(), dict(request.headers))
        self.heard.append(message["type"])
        return web.Response()


@pytest_asyncio.fixture(name="listener")
async def _listener(world: World) -> AsyncGenerator[Listener]:
    listener, db = Listener(), world.app.deps.db
    app = web.Application()
    app.router.add_post("/", listener.take)
    server: BaseTestServer = TestServer(app)
    async with server:
        (new,) = db.new_ids(ENDPOINT, 1)
        place = place_of_secret(world.scope, new)
        await endpoints.add(
            db, world.scope, new, url=str(server.make_url("/")), types=(), description="",
            secret=crypto.seal(world.app.secret_key, listener.secret, *place),
        )  # fmt: skip
        yield listener


async def test_a_payment_is_told_by_a_worker(world: World, listener: Listener) -> None:
    await world.invoices(2)
    async with working(world):
        await world.until(lambda: listener.heard.count("invoice.paid") == 2)
    assert world.settled()


async def test_an_event_that_came_in_is_acted_on_right_after(world: World) -> None:
    (invoice,) = await world.invoices(1)
    await _trust_stripe(world)
    async with working(world):
        await world.until(world.settled)
    event = json.dumps(_of_nothing()).encode()
    header = WebhookSignature.generate_signature_header(
        event.decode(), STRIPES, int(wall_clock().timestamp())
    )
    async with (
        bell(world.app) as workers,
        served(site(world.app, workers.ring)) as url,
        aiohttp.ClientSession() as session,
        working(world),
    ):
        answer = await session.post(
            f"{url}/stripe/{world.scope.account_id}",
            data=event,
            headers={"stripe-signature": header},
        )
        assert answer.status == 200
        await world.until(lambda: _state(world) == ["unmatched"])
    assert world.paid() == {invoice: 1}


def _state(world: World) -> list[str]:
    return [row[0] for row in world.sql("SELECT state FROM anchorhold.event WHERE id = 'evt_1'")]


async def _trust_stripe(world: World) -> None:
    db = world.app.deps.db
    (new,) = db.new_ids(SIGNING_SECRET, 1)
    place = place_of_signing_secret(world.scope, new)
    sealed = crypto.seal(world.app.secret_key, STRIPES, *place)
    assert await signing_secrets.add(db, world.scope, new, secret=sealed, last4="ripe", overlap_s=0)


def _of_nothing() -> dict[str, object]:
    """A refund of an intent that nobody knows: it waits for one that does."""
    refund = {"object": "refund", "id": "re_1", "payment_intent": "pi_nobody", "status": "pending"}
    return {
        "object": "event", "id": "evt_1", "type": "refund.created", "livemode": False,
        "created": int(wall_clock().timestamp()), "data": {"object": refund}, "request": None,
    }  # fmt: skip


async def test_many_rings_are_one_job(world: World) -> None:
    async with bell(world.app) as workers:
        await asyncio.gather(*(workers.ring(world.scope) for _ in range(50)))
    jobs = world.sql("SELECT count(*) FROM anchorhold.procrastinate_jobs WHERE task_name = 'news'")
    assert jobs == [(1,)]
