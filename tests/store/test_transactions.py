"""One statement, one transaction, one round trip; and none is open while Stripe is asked."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import psycopg
import pytest
from psycopg.pq import Trace

from anchorhold.store.db import connect
from anchorhold.twin import Request
from tests.engine.flows import ALL, Flow
from tests.engine.rig import Gate, Rig, rig
from tests.store.reads import READS, Read
from tests.store.scene import OURS, Scene, scene
from tests.store.test_tenants import everything
from tests.store.two import OneDb, two
from tests.store.writes import WRITES, Write

TWO_READS = {"checks._invoice", "views_attempts.one"}
"""Facts are two reads, each compared by the write that follows (H2); the row of the other looks for
an id first."""


def name(write: Write) -> str:
    return write.function


def round_trips(trace: Path) -> int:
    """How often the client has waited for an answer."""
    return sum(line.split("\t")[:1] == ["F"] and "Sync" in line for line in _lines(trace))


def _lines(trace: Path) -> list[str]:
    return trace.read_text(errors="replace").splitlines()


@asynccontextmanager
async def traced(db: OneDb, trace: Path) -> AsyncGenerator[None]:
    """What goes over the wire in between is written down."""
    with trace.open("w") as file:
        db.conn.pgconn.trace(file.fileno())
        db.conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        yield
        db.conn.pgconn.untrace()


@pytest.mark.parametrize("write", WRITES, ids=name)
async def test_a_write_is_one_round_trip(write: Write, scene: Scene, tmp_path: Path) -> None:
    state = await write.arrange(scene)
    async with two(scene.conninfo) as pair:
        async with traced(pair.second, tmp_path / "trace"):
            assert write.won(await write.run(pair.second, scene.scope, scene, state))
        assert round_trips(tmp_path / "trace") == 1


@pytest.mark.parametrize("read", READS, ids=str)
async def test_a_read_is_one_round_trip(read: Read, scene: Scene, tmp_path: Path) -> None:
    await everything(scene)
    async with two(scene.conninfo) as pair:
        async with traced(pair.second, tmp_path / "trace"):
            await read.run(pair.second, OURS)
        assert round_trips(tmp_path / "trace") == (2 if TWO_READS & set(read.functions) else 1)


async def test_the_pool_adds_none(database: str, tmp_path: Path) -> None:
    """The statement is prepared by now, and its connection was looked at."""
    async with connect(database, size=1) as db:
        for _ in range(7):
            await db.one("SELECT %(n)s::int", int, n=1)
        async with db._connection() as conn:
            pass
        async with traced(OneDb(conn), tmp_path / "trace"):
            await db.one("SELECT %(n)s::int", int, n=1)
    assert round_trips(tmp_path / "trace") == 1


OPEN = """
    SELECT state, query FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND backend_type = 'client backend' AND xact_start IS NOT NULL
"""
DIRECT = "SELECT state, params FROM anchorhold.attempt WHERE idempotency_key = %s"
SENDING = """
    SELECT state, idempotency_key, params FROM anchorhold.attempt
     WHERE intent_id = %s ORDER BY id DESC LIMIT 1
"""


class Witness:
    """Another session, which looks at the database whenever a request arrives at Stripe."""

    def __init__(self, conn: "psycopg.Connection[Any]") -> None:
        self.conn = conn
        self.asked = 0
        self.confirmed = 0

    def __call__(self, request: Request) -> None:
        self.asked += 1
        assert self.conn.execute(OPEN).fetchall() == [], f"open at {request.path}"
        if request.path.endswith("/confirm"):
            self._sees_the_attempt(request)
        elif b"confirm=true" in request.body:
            self._sees_the_direct_attempt(request.headers["idempotency-key"])

    def _sees_the_direct_attempt(self, key: str) -> None:
        """Its owner's one send, or the fence that sends the same again under the hold."""
        self.confirmed += 1
        ((state, params),) = self.conn.execute(DIRECT, [key]).fetchall()
        assert state in {"sending", "unknown"}
        assert params["confirm"] is True

    def _sees_the_attempt(self, request: Request) -> None:
        """I9: no trace, no send."""
        self.confirmed += 1
        intent = request.path.split("/")[-2]
        ((state, key, params),) = self.conn.execute(SENDING, [intent]).fetchall()
        sent = dict(parse_qsl(request.body.decode()))
        assert (state, key) == ("sending", request.headers["idempotency-key"])
        wanted = {name: json.dumps(v) if v is True else v for name, v in params.items()}
        assert wanted.items() <= sent.items()


@pytest.mark.parametrize("flow", ALL, ids=lambda flow: flow.name)
async def test_when_stripe_is_asked_no_transaction_is_open_and_the_attempt_is_committed(
    flow: Flow, database: str
) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        witness = Witness(conn)
        async with rig(database) as world:
            await _run(world, flow, witness)
    assert witness.asked > witness.confirmed > 0


async def _run(world: Rig, flow: Flow, witness: Witness) -> None:
    pool = world.pool._pool
    while pool.get_stats()["pool_available"] < pool.get_stats()["pool_size"]:
        await world.pool.one("SELECT 1", int)  # a session that is being made is not idle yet
    world.transport.listeners.append(witness)
    await flow.start(world)
    await flow.run(world, Gate())
    await world.recover()


COMMITS = """
    CREATE TABLE public.commits (setting text);
    CREATE FUNCTION public.commits() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.commits VALUES (current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
"""
WATCHED = (
    "account", "connection", "customer", "stripe_customer", "invoice", "intent", "attempt",
    "payment", "notice", "journal", "event", "event_cursor", "refund", "recovery",
    "credit_balance", "credit_entry", "webhook_endpoint", "message", "webhook_delivery",
    "webhook_try", "signing_secret", "event_delivery", "dunning_policy", "dunning_assignment",
    "dunning_run", "dunning_step", "price", "subscription",
    "subscription_item", "subscription_entry", "invoice_number", "invoice_line", "page_link",
    "api_key", "idempotent_request",
)  # fmt: skip


async def test_only_the_re_check_does_not_wait_for_the_disk(fresh_database: str) -> None:
    """A deferred trigger sees the setting with which its transaction commits."""
    async with scene(fresh_database) as made:
        made.any_sql(COMMITS)
        for table in WATCHED:
            made.any_sql(
                "CREATE CONSTRAINT TRIGGER commits "
                f"AFTER INSERT OR UPDATE OR DELETE ON anchorhold.{table} "
                "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.commits()"
            )
        settings = {write.function: await _setting(made.apart(), write) for write in WRITES}
    assert {function for function, found in settings.items() if found != {"on"}} == {
        "holds.recheck"
    }
    assert settings["holds.recheck"] == {"off"}


async def _setting(made: Scene, write: Write) -> set[str]:
    state = await write.arrange(made)
    made.sql("DELETE FROM public.commits")
    assert write.won(await write.run(made.db, made.scope, made, state)), write.function
    return {setting for (setting,) in made.sql("SELECT DISTINCT setting FROM public.commits")}
