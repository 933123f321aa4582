"""The run's databases as the other rooms' tests see them."""

from contextlib import closing
from pathlib import Path

import pytest

from tests import database as databases
from tests.database import Clearer, connect

DIRTY = "CREATE TABLE dirty (n bigint GENERATED ALWAYS AS IDENTITY)"


def count(conninfo: str, query: str) -> object:
    with connect(conninfo) as connection:
        (row,) = connection.execute(query.encode()).fetchall()
        return row[0]


@pytest.fixture
def two_tables(fresh_database: str) -> str:
    """A database in which one table is empty and one has a row, as a migration leaves them."""
    with connect(fresh_database) as connection:
        connection.execute(
            "CREATE TABLE child (id bigint GENERATED ALWAYS AS IDENTITY, parent int)"
        )
        connection.execute("CREATE TABLE parent (id int PRIMARY KEY)")
        connection.execute("INSERT INTO parent VALUES (1)")
    return fresh_database


def test_a_test_gets_a_database_of_the_run(database: str) -> None:
    name = str(count(database, "SELECT current_database()"))
    assert name.startswith(databases.prefix(databases.run_folder()))


def test_a_fresh_database_is_nobody_elses(database: str, fresh_database: str) -> None:
    with connect(fresh_database) as connection:
        connection.execute(DIRTY)
    assert count(database, "SELECT to_regclass('dirty')") is None


def test_clearing_empties_what_the_template_left_empty(two_tables: str) -> None:
    with closing(Clearer(two_tables)) as clearer:
        with connect(two_tables) as connection:
            connection.execute("INSERT INTO child (parent) VALUES (1), (1)")
        assert clearer.clear()
    assert count(two_tables, "SELECT count(*) FROM child") == 0
    assert count(two_tables, "SELECT count(*) FROM parent") == 1
    assert count(two_tables, "INSERT INTO child (parent) VALUES (1) RETURNING id") == 1


def test_clearing_says_when_a_filled_table_has_changed(two_tables: str) -> None:
    with closing(Clearer(two_tables)) as clearer:
        with connect(two_tables) as connection:
            connection.execute("INSERT INTO parent VALUES (2)")
        assert not clearer.clear()


def test_clearing_ends_a_session_that_holds_locks(two_tables: str) -> None:
    with closing(Clearer(two_tables)) as clearer, closing(connect(two_tables)) as left_open:
        left_open.execute("BEGIN")
        left_open.execute("LOCK TABLE child")
        assert clearer.clear()


def test_the_template_is_built_once_and_with_the_migrations(
    database_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    built: list[str] = []

    def migrate(conninfo: str) -> None:
        built.append(conninfo)
        with connect(conninfo) as connection:
            connection.execute(DIRTY)

    monkeypatch.setattr(databases, "migrate", migrate)
    monkeypatch.setenv(databases.RUN_VARIABLE, str(tmp_path / "another-run"))
    with databases.clone(database_server) as first, databases.clone(database_server) as second:
        assert count(first, "SELECT count(*) FROM dirty") == 0
        assert first != second
        assert len(built) == 1
    databases.drop_all(database_server, "another_run")
    left = "SELECT count(*) FROM pg_database WHERE datname LIKE 'another%'"
    assert count(database_server, left) == 0
