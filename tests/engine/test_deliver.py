"""What others hear, from a payment to a verified message at a real endpoint."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Any

import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestServer
from standardwebhooks import Webhook

from anchorhold import crypto
from anchorhold.domain.ids import ENDPOINT, EndpointId
from anchorhold.domain.payment import Source
from anchorhold.engine.deliver import deliver_due, make
from anchorhold.engine.deps import Deps
from anchorhold.logs import logger
from anchorhold.postman import SigningPostman, place_of_secret
from anchorhold.store import endpoints, payments
from anchorhold.webhooks import signing
from anchorhold.webhooks.sender import Sender
from tests.store.scene import ACTOR, OURS, Scene, scene, success

KEY = b"k" * 32


class NoProviders:
    """Telling others asks Stripe nothing."""

    async def of(self, scope: object) -> None:
        raise AssertionError(f"Stripe was asked about {scope}")


@dataclass
class World:
    """A database with one endpoint, which keeps what came and answers as it is told."""

    scene: Scene
    secret: str = field(default_factory=signing.new_secret)
    status: int = 200
    came: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    sender: Sender = field(default_factory=lambda: Sender([ip_network("127.0.0.0/8")]))
    endpoint_id: EndpointId = field(default=EndpointId(""))

    @property
    def deps(self) -> Deps:
        return Deps(self.scene.db, NoProviders(), self.scene.timing, logger(), ACTOR)

    async def take(self, request: web.Request) -> web.Response:
        self.came.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status)

    async def listen(self, url: str) -> None:
        (new,) = self.scene.db.new_ids(ENDPOINT, 1)
        sealed = crypto.seal(KEY, self.secret, *place_of_secret(OURS, new))
        assert await endpoints.add(
            self.scene.db, OURS, new, url=url, types=(), description="", secret=sealed
        )
        self.endpoint_id = new

    async def paid(self) -> None:
        (invoice,) = await self.scene.due()
        news = success(invoice)
        await payments.settle(self.scene.db, OURS, invoice, news, Source.FOLLOWER, actor=ACTOR)

    async def tell(self, key: bytes = KEY) -> dict[str, int]:
        await make(self.deps, OURS)
        return await deliver_due(self.deps, SigningPostman(key, self.sender), OURS)

    def heard(self, *secrets: str) -> list[dict[str, Any]]:
        """What came, verified by the library of the standard."""
        return [
            Webhook(secret).verify(body, headers)
            for headers, body in self.came
            for secret in secrets or (self.secret,)
        ]


@pytest_asyncio.fixture(name="world")
async def _world(database: str) -> AsyncGenerator[World]:
    async with scene(database) as made:
        world = World(made)
        app = web.Application()
        app.router.add_post("/hook", world.take)
        server: BaseTestServer = TestServer(app)
        async with server:
            await world.listen(str(server.make_url("/hook")))
            yield world
        await world.sender.close()


async def test_a_payment_is_heard_of_verified_and_once(world: World) -> None:
    await world.paid()
    assert await world.tell() == {"O1": 1}
    (message,) = world.heard()
    assert (message["type"], message["data"]["status"]) == ("invoice.paid", "paid")
    assert await world.tell() == {}


async def test_what_was_not_heard_comes_again_under_the_same_id(world: World) -> None:
    world.status = 500
    await world.paid()
    assert await world.tell() == {"O5": 1}
    assert await world.tell() == {}, "it waits for its time"
    world.scene.sql("UPDATE anchorhold.webhook_delivery SET next_try_at = anchorhold.now()")
    world.status = 200
    assert await world.tell() == {"O1": 1}
    first, second = (headers["webhook-id"] for headers, _ in world.came)
    assert first == second


async def test_one_invoice_is_told_in_order(world: World) -> None:
    (claim,) = await world.scene.claimed()
    for amount in (100, 14900):
        news = success(claim.token.invoice_id, amount=amount)
        await payments.settle(
            world.scene.db,
            OURS,
            claim.token.invoice_id,
            replace(news, intent_id=f"pi_{amount}"),
            Source.FOLLOWER,
            actor=ACTOR,
        )
    await world.tell()
    numbers = [message["sequence"] for message in world.heard()]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)


async def test_while_a_secret_is_rotated_both_verify(world: World) -> None:
    new = signing.new_secret()
    sealed = crypto.seal(KEY, new, *place_of_secret(OURS, world.endpoint_id))
    await endpoints.rotate(world.scene.db, OURS, world.endpoint_id, secret=sealed, overlap_s=3600)
    await world.paid()
    await world.tell()
    assert len(world.heard(world.secret, new)) == 2


async def test_an_endpoint_that_is_gone_is_switched_off(world: World) -> None:
    world.status = 410
    await world.paid()
    assert await world.tell() == {"O3": 1}
    (off,) = await endpoints.all_of(world.scene.db, OURS)
    assert off.disabled_reason == "410"


async def test_nothing_leaves_unsigned(world: World) -> None:
    await world.paid()
    assert await world.tell(key=b"x" * 32) == {"O9": 1}
    assert world.came == []


async def test_no_message_is_large_and_none_names_a_card(world: World) -> None:
    await world.paid()
    await world.tell()
    ((_, body),) = world.came
    assert len(body) < 20_000
    assert not {"card", "payment_method", "client_secret"} & set(_keys(json.loads(body)))


def _keys(value: object) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [*value, *(key for inner in value.values() for key in _keys(inner))]
