"""What cannot work is refused by the real program in one line that names the setting."""

import socket
from pathlib import Path

import psycopg
import pytest

from anchorhold.store.migrate import head
from anchorhold.twin import SECRET_KEY
from anchorhold.twin.server import TwinServer
from tests.cli.desk import Desk, Ran, environment, program, url_of
from tests.cli.impostor import forbidding_stripe, refusing_postgres


def require_refusal(ran: Ran, exit_code: int, code: str, *words: str) -> None:
    """One line on stderr, nothing on stdout, no traceback."""
    assert (ran.code, ran.out) == (exit_code, ""), ran.err
    (line,) = ran.err.splitlines()
    assert line.startswith("refused: ")
    assert f"[{code}]" in line
    for word in words:
        assert word in line


@pytest.fixture
def env(database: str, twin: TwinServer) -> dict[str, str]:
    """A machine on which everything works."""
    return {**environment(database, twin.url), "ANCHORHOLD_LISTEN": "127.0.0.1:0"}


def rows(database: str) -> int:
    """How many accounts and connections there are."""
    with psycopg.connect(database, autocommit=True) as connection:
        found = connection.execute(
            "SELECT (SELECT count(*) FROM anchorhold.account)"
            " + (SELECT count(*) FROM anchorhold.connection)"
        ).fetchone()
    return int(found[0]) if found else 0


def test_no_database(env: dict[str, str]) -> None:
    env["ANCHORHOLD_DATABASE_URL"] = "postgresql://127.0.0.1:1/app"
    ran = program("up", env=env)
    require_refusal(ran, 5, "database_unreachable", "ANCHORHOLD_DATABASE_URL")


@pytest.mark.parametrize("words", ["worker", "worker --once", "tick", "db up", "invoice list"])
def test_no_database_whatever_is_asked(words: str, bare: Desk) -> None:
    bare.monkeypatch.setenv("ANCHORHOLD_DATABASE_URL", "postgresql://127.0.0.1:1/app")
    ran = bare.run(*words.split())
    require_refusal(ran, 5, "database_unreachable", "ANCHORHOLD_DATABASE_URL")


def test_a_wrong_password(env: dict[str, str]) -> None:
    with refusing_postgres() as url:
        ran = program("invoice", "list", env={**env, "ANCHORHOLD_DATABASE_URL": url})
    require_refusal(ran, 2, "database_password_wrong", "ANCHORHOLD_DATABASE_URL")
    assert "wrong@" not in ran.err


@pytest.mark.parametrize(
    ("version", "code", "advice"),
    [
        ("0001", "schema_outdated", "`anchorhold db up`"),
        ("9999", "schema_newer", "Start the version of Anchorhold"),
    ],
)
def test_an_older_and_a_newer_schema(
    version: str, code: str, advice: str, fresh_database: str, twin: TwinServer
) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute("UPDATE anchorhold.schema_version SET version_num = %s", [version])
    ran = program("worker", env=environment(fresh_database, twin.url))
    require_refusal(ran, 2, code, version, head(), advice)


@pytest.mark.parametrize("words", ["up", "db up", "db up --dry-run"])
def test_a_newer_schema_is_not_brought_up(words: str, fresh_database: str, bare: Desk) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute("UPDATE anchorhold.schema_version SET version_num = '9999'")
    bare.monkeypatch.setenv("ANCHORHOLD_DATABASE_URL", url_of(fresh_database))
    bare.monkeypatch.setenv("ANCHORHOLD_LISTEN", "127.0.0.1:0")
    require_refusal(bare.run(*words.split()), 2, "schema_newer", "9999")


def test_a_port_that_is_taken(env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        env["ANCHORHOLD_LISTEN"] = f"127.0.0.1:{other.getsockname()[1]}"
        ran = program("up", env=env)
    require_refusal(ran, 2, "port_taken", "ANCHORHOLD_LISTEN")


def test_a_port_of_the_twin_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ran = program("twin", "--port", str(other.getsockname()[1]))
    require_refusal(ran, 2, "twin_port_taken", "--port")


def test_a_data_folder_that_cannot_be_written(tmp_path: Path, twin: TwinServer) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    env = {
        "ANCHORHOLD_DATA_DIR": str(blocked / "data"),
        "ANCHORHOLD_STRIPE_API_BASE": twin.url,
        "ANCHORHOLD_LISTEN": "127.0.0.1:0",
    }
    ran = program("up", env=env)
    require_refusal(ran, 2, "data_dir_unwritable", "ANCHORHOLD_DATA_DIR")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_no_stripe_key(database: str, env: dict[str, str]) -> None:
    require_refusal(program("up", env=env), 2, "stripe_key_missing", "ANCHORHOLD_STRIPE_KEY")
    assert rows(database) == 0


def test_a_key_that_stripe_does_not_know(database: str, env: dict[str, str]) -> None:
    env["ANCHORHOLD_STRIPE_KEY"] = "sk_test_of_somebody_else"
    ran = program("up", env=env)
    require_refusal(ran, 2, "stripe_key_refused", "(401)", "ANCHORHOLD_STRIPE_KEY")
    assert "somebody_else" not in ran.err
    assert rows(database) == 0


def test_a_key_that_may_not_do_it(database: str, env: dict[str, str]) -> None:
    env["ANCHORHOLD_STRIPE_KEY"] = SECRET_KEY
    with forbidding_stripe() as url:
        ran = program("up", env={**env, "ANCHORHOLD_STRIPE_API_BASE": url})
    require_refusal(ran, 2, "stripe_key_refused", "(403)", "ANCHORHOLD_STRIPE_KEY")
    assert rows(database) == 0


def test_a_stripe_that_cannot_be_reached(database: str, env: dict[str, str]) -> None:
    env |= {
        "ANCHORHOLD_STRIPE_KEY": SECRET_KEY,
        "ANCHORHOLD_STRIPE_API_BASE": "http://127.0.0.1:1",
    }
    ran = program("up", env=env)
    require_refusal(ran, 5, "stripe_unreachable", "ANCHORHOLD_STRIPE_API_BASE")
    assert rows(database) == 0


@pytest.mark.parametrize(
    ("name", "value", "code", "words"),
    [
        ("ANCHORHOLD_HOLD_SECONDS", "10", "timing_unsafe", "T5: ANCHORHOLD_HOLD_SECONDS (10 s)"),
        ("ANCHORHOLD_HOLD_SECONDS", "long", "settings_invalid", "ANCHORHOLD_HOLD_SECONDS"),
        ("ANCHORHOLD_HOLD_SECOND", "300", "settings_unknown", "perhaps ANCHORHOLD_HOLD_SECONDS"),
        ("ANCHORHOLD_LISTEN", "nowhere", "settings_invalid", "host:port"),
        ("ANCHORHOLD_SECRET_KEY", "short", "settings_invalid", "ANCHORHOLD_SECRET_KEY"),
    ],
)
def test_settings_that_are_wrong(name: str, value: str, code: str, words: str, bare: Desk) -> None:
    bare.monkeypatch.setenv(name, value)
    require_refusal(bare.run("up"), 2, code, words)


def test_a_database_of_ones_own_needs_a_secret_key(bare: Desk) -> None:
    bare.monkeypatch.delenv("ANCHORHOLD_SECRET_KEY")
    ran = bare.run("invoice", "list")
    require_refusal(ran, 2, "secret_key_missing", "ANCHORHOLD_SECRET_KEY")


def test_a_twin_on_an_address_that_is_not_this_machines(bare: Desk) -> None:
    ran = bare.run("twin", "--host", "192.0.2.1")
    require_refusal(ran, 2, "settings_invalid", "--host", "cannot assign requested address")
