"""The gate to PostgreSQL: what it sends again, what it refuses, and what it lets through."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg import errors

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store.db import PoolDb, connect
from tests.store.two import Two, two

LOCK = 7_301
PID = "SELECT pg_backend_pid()"
FAILS = """
    CREATE SEQUENCE public.tries;
    CREATE FUNCTION public.fails(times int) RETURNS int LANGUAGE plpgsql AS $$
    DECLARE try int := nextval('public.tries');
    BEGIN
        IF try <= times THEN
            RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
        END IF;
        RETURN try;
    END $$;
"""
# Two rows are locked in this order, and between them it waits for the test's advisory lock.
BOTH = """
    WITH one AS MATERIALIZED (SELECT n FROM public.pair WHERE n = 2 FOR UPDATE),
         between AS MATERIALIZED (SELECT pg_advisory_xact_lock(%(lock)s)::text, n FROM one),
         other AS MATERIALIZED (SELECT n FROM public.pair
                                 WHERE n = 1 AND EXISTS (SELECT FROM between) FOR UPDATE)
    SELECT n FROM other
"""


@asynccontextmanager
async def pool(conninfo: str, *, size: int = 1, **more: Any) -> AsyncGenerator[PoolDb]:
    async with connect(conninfo, size=size, **more) as db:
        yield db


def alter(conn: "psycopg.Connection[Any]", what: str) -> None:
    """New sessions of the test's own database begin like this."""
    conn.execute(f"ALTER DATABASE {conn.info.dbname} {what}".encode())


async def test_a_serialization_failure_is_sent_again(fresh_database: str) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        conn.execute(FAILS)
    async with pool(fresh_database) as db:
        assert await db.one("SELECT public.fails(2)", int) == 3


async def test_after_three_tries_the_failure_is_the_callers(fresh_database: str) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        conn.execute(FAILS)
    async with pool(fresh_database) as db:
        with pytest.raises(errors.SerializationFailure):
            await db.one("SELECT public.fails(3)", int)
        assert await db.one("SELECT public.fails(3)", int) == 4


async def test_the_victim_of_a_deadlock_is_sent_again(fresh_database: str) -> None:
    """Another session holds row 1 and waits for row 2, which the statement locked first."""
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        conn.execute("CREATE TABLE public.pair AS SELECT n FROM generate_series(1, 2) n")
        alter(conn, "SET deadlock_timeout = 20")
    async with two(fresh_database) as pair, pool(fresh_database) as db:
        await pair.second.conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        pid = await db.one(PID, int)
        await pair.first.conn.execute("SET LOCAL deadlock_timeout = '10s'")
        await pair.first.conn.execute("SELECT FROM public.pair WHERE n = 1 FOR UPDATE")
        statement = asyncio.create_task(db.one(BOTH, int, lock=LOCK))
        await _waits(pair, pid, statement)
        other = asyncio.create_task(
            pair.first.conn.execute("SELECT FROM public.pair WHERE n = 2 FOR UPDATE")
        )
        assert await pair.waits(pair.first, other)
        await pair.second.conn.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        await other  # the statement was the victim
        await pair.first.conn.commit()
        assert await statement == 1


async def _waits(pair: Two, pid: int | None, task: "asyncio.Task[Any]") -> None:
    while not task.done():
        cursor = await pair.observer.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [pid])
        if (await cursor.fetchall())[0][0]:
            return
    raise AssertionError(f"it did not wait: {task.result()}")


async def sessions(pair: Two, db: PoolDb, count: int) -> set[int | None]:
    """The processes of `count` connections of the pool, all of which were busy at once."""
    await pair.second.conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    tasks = [asyncio.create_task(db.one(BUSY, int, lock=LOCK)) for _ in range(count)]
    while (await (await pair.observer.execute(WAITING)).fetchall()) != [(count,)]:
        pass
    await pair.second.conn.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    return set(await asyncio.gather(*tasks))


BUSY = "SELECT pg_backend_pid() FROM (SELECT pg_advisory_xact_lock(%(lock)s)) AS locked"
WAITING = """
    SELECT count(*) FROM pg_locks
     WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_a_session_that_was_ended_between_statements_is_replaced(database: str) -> None:
    async with two(database) as pair, pool(database, size=3) as db:
        before = await sessions(pair, db, 3)
        with psycopg.connect(database, autocommit=True) as conn:
            for pid in before:
                conn.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        assert await db.one(PID, int) not in before


async def test_a_session_that_is_ended_in_a_statement_is_the_callers_and_then_replaced(
    database: str,
) -> None:
    """Nobody knows whether the statement had its effect: it is not sent again."""
    async with two(database) as pair, pool(database) as db:
        await pair.second.conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        pid = await db.one(PID, int)
        statement = asyncio.create_task(
            db.one("SELECT pg_advisory_lock(%(lock)s)::text", str, lock=LOCK)
        )
        await _waits(pair, pid, statement)
        await pair.observer.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        with pytest.raises(psycopg.OperationalError):
            await statement
        assert await db.one(PID, int) != pid


async def test_a_read_only_server_is_left_for_new_connections(fresh_database: str) -> None:
    """Case P1: the pooled sessions stay on a standby when the name points elsewhere by then."""
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        alter(conn, "SET default_transaction_read_only = on")
        async with two(fresh_database) as pair, pool(fresh_database, size=3) as db:
            pids = await sessions(pair, db, 3)
            alter(conn, "RESET default_transaction_read_only")
            made = await db.one(
                "INSERT INTO anchorhold.account (id, name) VALUES ('a', 'a') RETURNING id", str
            )
            assert made == "a"
            assert await db.one(PID, int) not in pids


async def test_a_server_that_stays_read_only_is_the_callers(fresh_database: str) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as conn:
        alter(conn, "SET default_transaction_read_only = on")
    async with pool(fresh_database) as db:
        with pytest.raises(errors.ReadOnlySqlTransaction):
            await db.one("INSERT INTO anchorhold.account (id, name) VALUES ('a', 'a')", str)


async def test_no_connection_in_time_is_a_refusal(database: str) -> None:
    async with two(database) as pair, pool(database, patience_s=0.05) as db:
        await pair.second.conn.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        pid = await db.one(PID, int)
        busy = asyncio.create_task(
            db.one("SELECT pg_advisory_lock(%(lock)s)::text", str, lock=LOCK)
        )
        await _waits(pair, pid, busy)
        with pytest.raises(Refusal) as refused:
            await db.one(PID, int)
        assert refused.value.code is Code.DATABASE_UNREACHABLE
        await pair.second.conn.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        await busy


async def test_two_rows_where_one_is_expected_are_a_bug(database: str) -> None:
    async with pool(database) as db:
        with pytest.raises(RuntimeError, match="one row expected, 2 came"):
            await db.one("SELECT generate_series(1, 2)", int)


async def test_a_session_has_its_time_outs(database: str) -> None:
    async with pool(database) as db:
        assert await db.one("SHOW statement_timeout", str) == "1min"
        assert await db.one("SHOW idle_in_transaction_session_timeout", str) == "10s"
        assert await db.one("SHOW timezone", str) == "UTC"


async def test_a_statement_is_prepared_when_it_comes_often(database: str) -> None:
    async with pool(database) as db:
        for _ in range(7):
            await db.one("SELECT %(n)s::int", int, n=1)
        names = (
            "SELECT count(*)::int FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%%'"
        )
        assert await db.one(names, int) == 1
