"""Two imports at the same moment share what they bring, and neither loses a row."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import psycopg

from anchorhold.domain.scope import Scope
from anchorhold.engine.imports import take_in
from anchorhold.store import invoices
from anchorhold.store.db import Db
from anchorhold.store.invoices import NewInvoice
from tests.store.scene import ACTOR, Scene, scene
from tests.store.two import two

DUE = datetime(2026, 1, 1, tzinfo=UTC)
LOCK = 7_302
# The first session stops before its second invoice until the test lets it go on.
STOPS = f"""
    CREATE FUNCTION public.stops() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.reference = current_setting('test.stops_at', true) THEN
            PERFORM pg_advisory_xact_lock({LOCK});
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER stops BEFORE INSERT ON anchorhold.invoice
        FOR EACH ROW EXECUTE FUNCTION public.stops();
"""


def row(reference: str, customer: str = "shared") -> NewInvoice:
    return NewInvoice(reference, customer, None, None, 500, "eur", DUE)


async def _take(db: Db, scope: Scope, *references: str) -> Any:
    return await invoices.take_in(db, scope, [row(ref) for ref in references], actor=ACTOR)


async def test_the_same_invoices_in_another_order_do_not_deadlock(fresh_database: str) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        conn.execute(STOPS.encode())
    async with scene(fresh_database) as made, two(fresh_database) as pair:
        await _take(made.db, made.scope, "R0")  # its customer is there
        await pair.observer.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        await pair.first.conn.set_autocommit(True)
        await pair.first.conn.execute("SET test.stops_at = 'R2'")
        first = asyncio.create_task(_take(pair.first, made.scope, "R1", "R2"))
        assert await pair.waits(pair.first, first)
        second = asyncio.create_task(_take(pair.second, made.scope, "R2", "R1"))
        assert await pair.waits(pair.second, second)
        await pair.observer.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        taken = [*await first, *await second]
        assert sorted(new.reference for new in taken if new.created) == ["R1", "R2"]


async def test_a_customer_that_another_import_makes_right_now_is_waited_for(scene: Scene) -> None:
    """The store leaves out a row whose customer it could not see; the import asks again."""
    async with two(scene.conninfo) as pair:
        await _take(pair.first, scene.scope, "A1")
        second = asyncio.create_task(
            take_in(pair.second, scene.scope, [row("B1"), row("B2", "its own")], actor=ACTOR)
        )
        assert await pair.waits(pair.second, second)
        await pair.first.conn.commit()
        assert len((await second).created) == 2
    assert scene.sql("SELECT reference FROM anchorhold.invoice ORDER BY 1") == [
        ("A1",),
        ("B1",),
        ("B2",),
    ]
    assert scene.value("SELECT count(*) FROM anchorhold.customer") == 2
