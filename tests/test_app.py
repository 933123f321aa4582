"""From the settings to a process's own things, or a refusal that says what to do."""

import re
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from anchorhold.app import open_app, operator_actor, worker_actor
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.settings import load
from anchorhold.store import accounts, migrate, schema
from anchorhold.store import db as databases
from tests.worker.world import SECRET, url_of

KEY = "sk_" + "test_" + "abcdefghijklmnopqrstuvwx"


def settings_of(database: str, folder: Path, **more: str) -> dict[str, str]:
    """Variables of a process on this database."""
    return {
        "ANCHORHOLD_DATABASE_URL": database,
        "ANCHORHOLD_DATA_DIR": str(folder),
        "ANCHORHOLD_SECRET_KEY": SECRET,
        **more,
    }


async def refused(env: Mapping[str, str]) -> Refusal:
    """Why these settings do not make an `App`."""
    with pytest.raises(Refusal) as refusal:
        async with open_app(load(env), actor="test"):
            pytest.fail("it opened")
    return refusal.value


async def test_an_app_has_everything_that_a_process_needs(database: str, tmp_path: Path) -> None:
    env = settings_of(url_of(database), tmp_path, ANCHORHOLD_STRIPE_KEY=KEY)
    async with open_app(load(env), actor="worker:here:1") as app:
        assert await accounts.scopes(app.deps.db) == []
        assert app.deps.timing == app.settings.timing
        assert app.deps.actor == "worker:here:1"
        assert app.deps.providers is app.providers


async def test_an_app_that_is_printed_shows_no_secret(database: str, tmp_path: Path) -> None:
    env = settings_of(url_of(database), tmp_path, ANCHORHOLD_STRIPE_KEY=KEY)
    async with open_app(load(env), actor="test") as app:
        for secret in (KEY, SECRET, url_of(database), repr(app.secret_key)):
            assert secret not in repr(app)


async def test_no_database_is_refused(tmp_path: Path) -> None:
    refusal = await refused(settings_of("postgresql://127.0.0.1:1/x", tmp_path))
    assert refusal.code is Code.DATABASE_UNREACHABLE
    assert "ANCHORHOLD_DATABASE_URL" in refusal.next_step


async def test_a_database_that_is_not_there_is_refused(database: str, tmp_path: Path) -> None:
    nowhere = url_of(make_conninfo(database, dbname="no"))
    refusal = await refused(settings_of(nowhere, tmp_path))
    assert refusal.code is Code.DATABASE_UNREACHABLE
    assert '"no" does not exist' in refusal.sentence


async def test_a_server_that_is_not_there_is_refused_with_what_failed(tmp_path: Path) -> None:
    refusal = await refused(settings_of("postgresql://u:zzcret@127.0.0.1:1/x", tmp_path))
    assert refusal.code is Code.DATABASE_UNREACHABLE
    assert '"127.0.0.1", port 1 failed: Connection refused.' in refusal.sentence
    assert "zzcret" not in str(refusal)


async def test_an_address_that_libpq_cannot_read_is_refused_without_repeating_it(
    tmp_path: Path,
) -> None:
    refusal = await refused(settings_of("postgresql://u:s%zzcret@h/x", tmp_path))
    assert refusal.code is Code.SETTINGS_INVALID
    assert "ANCHORHOLD_DATABASE_URL" in str(refusal)
    assert "zzcret" not in str(refusal)


@pytest.mark.parametrize(
    "said", ["password authentication failed for user", "no password supplied"]
)
def test_a_wrong_password_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise psycopg.OperationalError(f"connection failed: FATAL:  {said}")

    monkeypatch.setattr(psycopg, "connect", refuses)
    with pytest.raises(Refusal) as refusal:
        databases.probe("postgresql://u@h/x")
    assert refusal.value.code is Code.DATABASE_PASSWORD_WRONG


@pytest.mark.parametrize(
    ("found", "code"), [("0001", Code.SCHEMA_OUTDATED), ("9999", Code.SCHEMA_NEWER)]
)
async def test_another_schema_is_refused(
    fresh_database: str, tmp_path: Path, found: str, code: Code
) -> None:
    with psycopg.connect(fresh_database) as conn:
        conn.execute("UPDATE anchorhold.schema_version SET version_num = %s", [found])
    refusal = await refused(settings_of(url_of(fresh_database), tmp_path))
    assert refusal.code is code
    assert found in refusal.sentence
    with pytest.raises(Refusal) as same:
        migrate.require_current(fresh_database)
    assert str(same.value) == str(refusal)


async def test_a_newer_schema_is_not_brought_down(fresh_database: str) -> None:
    with psycopg.connect(fresh_database) as conn:
        conn.execute("UPDATE anchorhold.schema_version SET version_num = '9999'")
    with pytest.raises(Refusal) as refusal:
        migrate.upgrade(fresh_database)
    assert refusal.value.code is Code.SCHEMA_NEWER


async def test_a_database_without_the_schema_is_refused_and_made_ready_on_demand(
    fresh_database: str, tmp_path: Path
) -> None:
    with psycopg.connect(fresh_database) as conn:
        conn.execute("DROP SCHEMA anchorhold CASCADE")
    env = settings_of(url_of(fresh_database), tmp_path)
    refusal = await refused(env)
    assert refusal.code is Code.SCHEMA_OUTDATED
    assert "anchorhold db up" in refusal.next_step
    async with open_app(load(env), actor="test", migrate=True) as app:
        assert await schema.current(app.deps.db) == schema.revisions()[-1]
    async with open_app(load(env), actor="test"):
        pass


def test_the_revisions_are_known_without_the_migrator() -> None:
    assert schema.revisions() == migrate.revisions()


async def test_a_database_of_ones_own_needs_a_secret_key(database: str, tmp_path: Path) -> None:
    env = settings_of(url_of(database), tmp_path)
    del env["ANCHORHOLD_SECRET_KEY"]
    assert (await refused(env)).code is Code.SECRET_KEY_MISSING


async def test_an_embedded_database_that_does_not_start_is_refused_with_its_advice(
    tmp_path: Path,
) -> None:
    (tmp_path / "postgres").write_text("not a folder")
    env = settings_of("postgresql://unused", tmp_path)
    del env["ANCHORHOLD_DATABASE_URL"]
    refusal = await refused(env)
    assert refusal.code is Code.EMBEDDED_DATABASE_FAILED
    assert str(tmp_path) in refusal.sentence


def test_actors_say_who_and_where() -> None:
    assert re.fullmatch(r"worker:[^:]+:\d+", worker_actor())
    assert re.fullmatch(r"operator:.+", operator_actor())
