"""A restore in miniature: some tables are what they were, Stripe is not."""

from anchorhold.engine.prepare import set_up_customer
from anchorhold.store import customers
from tests.engine.rig import Rig

LOST = ("recovery", "payment", "journal", "attempt", "notice", "intent", "invoice")
"""What is younger than the backup, in an order that foreign keys allow."""
KEPT = ("invoice", "intent", "attempt", "payment", "notice")
OTHER_SERVER = """
    UPDATE anchorhold.connection SET lineage = 'another/00000001/1', seen_at = %s
"""


def backup(world: Rig) -> dict[str, list[str]]:
    """The rows of the tables that a restore brings back, and the time."""
    saved = {
        name: [row for (row,) in world.sql(f"SELECT to_jsonb(x)::text FROM anchorhold.{name} x")]
        for name in KEPT
    }
    ((now,),) = world.sql("SELECT anchorhold.now()::text")
    return saved | {"now": [now]}


def restore(world: Rig, saved: dict[str, list[str]]) -> None:
    """The database is what it was at the backup, on another server."""
    for name in LOST:
        world.sql(f"DELETE FROM anchorhold.{name}")
    for name in KEPT:
        shape = f"anchorhold.{name}"
        for row in saved[name]:
            world.sql(
                f"INSERT INTO {shape} SELECT * FROM jsonb_populate_record(NULL::{shape}, %s)", row
            )
    world.sql(OTHER_SERVER, saved["now"][0])


async def set_up(world: Rig) -> None:
    """The customers are known at Stripe; no intent is begun."""
    deps = world.deps()
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    for customer in await customers.take_unready(deps.db, world.scope, limit=10):
        await set_up_customer(deps, connected, world.scope, customer)
