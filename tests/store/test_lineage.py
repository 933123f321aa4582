"""No statement takes a hold, or an intent to prepare, in a database that may have lost its tail."""

import psycopg
import pytest

from anchorhold.store import recoveries
from tests.store.scene import OURS, Scene
from tests.store.statements import Statement, statements

BEGINS = [
    statement
    for statement in statements()
    if "INSERT INTO anchorhold.attempt" in statement.sql
    or statement.function.endswith("take_unprepared")
]
LINEAGE = "SELECT anchorhold.lineage()"


def test_there_are_statements_that_begin_something() -> None:
    assert {"holds.claim", "holds.claim_due", "intents.take_unprepared"} <= {
        statement.function for statement in BEGINS
    }


@pytest.mark.parametrize("statement", BEGINS, ids=lambda statement: statement.function)
def test_it_compares_the_lineage(statement: Statement) -> None:
    assert "anchorhold.lineage()" in statement.sql


async def test_the_lineage_is_cluster_timeline_and_database(scene: Scene) -> None:
    system, timeline, database = scene.value(LINEAGE).split("/")
    assert system == str(scene.value("SELECT system_identifier FROM pg_control_system()"))
    assert timeline == "00000001"
    assert database == str(
        scene.value("SELECT oid FROM pg_database WHERE datname = current_database()")
    )


WITHOUT_RIGHTS = (
    "CREATE ROLE anchorhold_plain",
    "GRANT USAGE ON SCHEMA anchorhold TO anchorhold_plain",
)


def told(scene: Scene, *before: str) -> str:
    """The lineage as a user without rights is told it."""
    with (
        psycopg.connect(scene.conninfo, autocommit=True) as conn,
        conn.transaction(force_rollback=True),
    ):
        for statement in (*WITHOUT_RIGHTS, *before, "SET LOCAL ROLE anchorhold_plain"):
            conn.execute(statement.encode())
        ((said,),) = conn.execute(LINEAGE).fetchall()
    return str(said)


async def test_a_user_without_rights_is_told_it_too(scene: Scene) -> None:
    """A managed PostgreSQL gives nobody a superuser."""
    assert told(scene) == scene.value(LINEAGE)


async def test_what_a_server_does_not_tell_is_a_dash(scene: Scene) -> None:
    said = told(
        scene,
        "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
        "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC",
    )
    assert said.startswith("-/-/")


async def test_a_whole_mode_has_a_commit_of_this_minute_on_record(scene: Scene) -> None:
    scene.sql("UPDATE anchorhold.connection SET seen_at = seen_at - interval '1 hour'")
    assert await recoveries.look(scene.db, OURS)
    assert scene.value(FRESH) == 1


async def test_a_mode_on_another_server_keeps_its_last_commit(scene: Scene) -> None:
    scene.sql("UPDATE anchorhold.connection SET lineage = 'another', seen_at = '2026-01-01'")
    look = await recoveries.look(scene.db, OURS)
    assert look
    assert not look.whole
    assert scene.value(FRESH) == 0


FRESH = """
    SELECT count(*) FROM anchorhold.connection
     WHERE account_id = 'acc_ours' AND NOT livemode
       AND seen_at > anchorhold.now() - interval '1 minute'
"""
