"""TABLE: the writes about webhooks, in and out, as `writes.py` has them."""

from dataclasses import replace
from typing import Any

from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.ids import (
    DELIVERY,
    ENDPOINT,
    EVENT_DELIVERY,
    SIGNING_SECRET,
    EndpointId,
    SigningSecretId,
)
from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.store import endpoints, event_deliveries, messages, payments, signing_secrets
from anchorhold.store.db import Db
from anchorhold.store.event_deliveries import Delivery, Taking
from anchorhold.store.messages import Due, Try
from tests.store import news
from tests.store.scene import ACTOR, Scene, success

BATCH = 3
DELIVERED = Try("O1", "200", 12, "thank you", delivered=True, wait_s=None)
URL = "https://example.com/hook"


async def nothing(_: Scene) -> None:
    return None


async def new_endpoint(db: Db, scope: Scope, id_: Any) -> Any:
    return await endpoints.add(db, scope, id_, url=URL, types=(), description="", secret=b"sealed")


async def an_id(scene: Scene) -> Any:
    return scene.db.new_ids(ENDPOINT, 1)[0]


async def listening(scene: Scene) -> Any:
    """An endpoint that hears of everything; its id."""
    made = await new_endpoint(scene.db, scene.scope, await an_id(scene))
    assert made
    return made.id


async def happened(scene: Scene) -> Any:
    """Something that is not told yet."""
    id_ = await listening(scene)
    for invoice in await scene.due(2 * BATCH):
        said = success(invoice)
        await payments.settle(scene.db, scene.scope, invoice, said, Source.FOLLOWER, actor=ACTOR)
    return id_


async def waiting(scene: Scene) -> Any:
    """Deliveries whose time has come."""
    id_ = await happened(scene)
    assert await messages.make(scene.db, scene.scope, limit=2 * BATCH)
    return id_


async def taken(scene: Scene) -> Due:
    await waiting(scene)
    return (await messages.take(scene.db, scene.scope, limit=1))[0]


async def delivered(scene: Scene) -> Due:
    due = await taken(scene)
    assert await messages.end_try(scene.db, scene.scope, due, DELIVERED)
    return due


async def replayed(scene: Scene) -> Any:
    id_ = await waiting(scene)
    now = scene.now()
    return id_, scene.db.new_ids(DELIVERY, 1)[0], now.replace(year=now.year - 1), now


async def switched_off(scene: Scene) -> Any:
    id_ = await listening(scene)
    scene.sql(
        """
        UPDATE anchorhold.webhook_endpoint
           SET disabled_at = anchorhold.now(), disabled_reason = '410'
        """
    )
    return id_


async def replay(db: Db, scope: Scope, state: Any) -> int:
    id_, again, since, until = state
    return await messages.replay(db, scope, id_, again, since=since, until=until)


async def take_in(db: Db, scope: Scope) -> Any:
    event = news.event_of(1)
    delivery = Delivery(
        db.new_ids(EVENT_DELIVERY, 1)[0], "valid", 9, "::1", SigningSecretId("sgn_1"), 0,
        event.id, event.type,
    )  # fmt: skip
    taking = Taking(delivery, event, kept=True)
    return (await event_deliveries.take_in(db, scope, "acct_1", [taking]))[0]


STRANGER = Delivery(EVENT_DELIVERY.wrap("edl_1"), "forged", 9, "::1")


async def old_ones(scene: Scene) -> None:
    for number in range(3):
        stranger = replace(STRANGER, id=EVENT_DELIVERY.wrap(f"edl_{number}"))
        await event_deliveries.refuse(scene.db, scene.scope, stranger, Verdict.FORGED)
    scene.sql("UPDATE anchorhold.event_delivery SET received_at = received_at - interval '90 days'")


async def a_secret(scene: Scene) -> Any:
    return scene.db.new_ids(SIGNING_SECRET, 1)[0]


async def add_secret(db: Db, scope: Scope, id_: Any) -> Any:
    return await signing_secrets.add(db, scope, id_, secret=b"sealed", last4="1234", overlap_s=3600)


async def everything(scene: Scene) -> None:
    """An endpoint with what waits for it, and a signing secret."""
    await waiting(scene)
    await endpoints.add(
        scene.db, scene.scope, EndpointId("whe_trial"), url="https://example.com/trial", types=(),
        description="", secret=b"sealed",
    )  # fmt: skip
    await add_secret(scene.db, scene.scope, await a_secret(scene))
    await event_deliveries.refuse(scene.db, scene.scope, STRANGER, Verdict.FORGED)


ITSELF = "no invoice is touched: its row is the record"

# fmt: off
WRITES: tuple[dict[str, Any], ...] = (
    {"function": "endpoints.add", "arrange": an_id, "scoped": False, "untold": ITSELF,
     "run": lambda db, scope, scene, id_: new_endpoint(db, scope, id_)},
    {"function": "endpoints.rotate", "arrange": listening, "untold": ITSELF,
     "run": lambda db, scope, scene, id_: endpoints.rotate(
         db, scope, id_, secret=b"new", overlap_s=3600)},
    {"function": "endpoints.switch_on", "arrange": switched_off, "untold": ITSELF,
     "run": lambda db, scope, scene, id_: endpoints.switch_on(db, scope, id_)},
    {"function": "endpoints.remove", "arrange": waiting, "untold": ITSELF,
     "run": lambda db, scope, scene, id_: endpoints.remove(db, scope, id_)},
    {"function": "messages.end_try", "arrange": taken, "untold": ITSELF,
     "run": lambda db, scope, scene, due: messages.end_try(db, scope, due, DELIVERED)},
    {"function": "messages.resend", "arrange": delivered, "untold": ITSELF,
     "run": lambda db, scope, scene, due: messages.resend(db, scope, due.id)},
    {"function": "messages.replay", "arrange": replayed, "untold": ITSELF, "won": bool,
     "run": lambda db, scope, scene, state: replay(db, scope, state)},
    {"function": "signing_secrets.add", "arrange": a_secret, "untold": ITSELF, "scoped": False,
     "run": lambda db, scope, scene, id_: add_secret(db, scope, id_)},
    {"function": "event_deliveries.take_in", "arrange": nothing, "untold": ITSELF, "scoped": False,
     "won": lambda verdict: verdict is Verdict.GOOD,
     "run": lambda db, scope, scene, state: take_in(db, scope)},
    {"function": "event_deliveries.refuse", "arrange": nothing, "untold": ITSELF, "scoped": False,
     "run": lambda db, scope, scene, state: event_deliveries.refuse(
         db, scope, STRANGER, Verdict.FORGED)},
    {"function": "event_deliveries.prune", "arrange": old_ones, "untold": ITSELF, "won": bool,
     "run": lambda db, scope, scene, state: event_deliveries.prune(db, scope, keep_days=30)},
)
"""What one caller does, and another does not."""

SHARED: tuple[dict[str, Any], ...] = (
    {"function": "messages.make", "arrange": happened, "untold": ITSELF, "won": bool,
     "run": lambda db, scope, scene, state: messages.make(db, scope, limit=BATCH)},
    {"function": "messages.take", "arrange": waiting, "untold": ITSELF, "won": bool,
     "run": lambda db, scope, scene, state: messages.take(db, scope, limit=BATCH)},
)
"""What several share out."""
# fmt: on

MOVED: dict[str, str] = {
    sentence: f"UPDATE anchorhold.{table} SET {changes}"
    for sentence, table, changes in (
        ("the delivery is not due", "webhook_delivery",
         "next_try_at = anchorhold.now() + interval '1 hour'"),
        ("the delivery was made", "webhook_delivery",
         "state = 'delivered', ended_at = anchorhold.now()"),
        ("another try of it went on", "webhook_delivery", "tries = tries + 1"),
        ("it waits already", "webhook_delivery", "state = 'waiting', ended_at = NULL"),
        ("the row is told", "journal", "told = true"),
        ("the endpoint is younger", "webhook_endpoint", "after_entry = 1000000000"),
        ("the endpoint was removed", "webhook_endpoint", "deleted_at = anchorhold.now()"),
        ("the endpoint is off", "webhook_endpoint",
         "disabled_at = anchorhold.now(), disabled_reason = '410'"),
        ("the endpoint is on", "webhook_endpoint",
         "disabled_at = NULL, disabled_reason = NULL"),
        ("the overlap is not over", "webhook_endpoint",
         "old_secret = secret, old_secret_until = anchorhold.now() + interval '1 hour'"),
        ("the messages are of another time", "message", "at = at - interval '9 years'"),
        ("the deliveries are young", "event_delivery", "received_at = anchorhold.now()"),
    )
}  # fmt: skip
"""What happens in between."""

GUARDS: dict[str, tuple[str, ...]] = {
    "endpoints.rotate": ("the overlap is not over", "the endpoint was removed"),
    "endpoints.switch_on": ("the endpoint is on", "the endpoint was removed"),
    "endpoints.remove": ("the endpoint was removed",),
    "messages.make": ("the row is told", "the endpoint is younger", "the endpoint was removed"),
    "messages.take": ("the delivery is not due", "the delivery was made"),
    "messages.end_try": ("the delivery was made", "another try of it went on"),
    "messages.resend": (
        "it waits already", "the endpoint was removed", "the endpoint is off",
    ),
    "messages.replay": (
        "the endpoint was removed", "the endpoint is off", "the messages are of another time",
    ),
    "event_deliveries.prune": ("the deliveries are young",),
}  # fmt: skip
"""Which of it each write notices."""
