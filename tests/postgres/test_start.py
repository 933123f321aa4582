"""What a started server is, and how several processes come to share it."""

from pathlib import Path

import pytest

from anchorhold import postgres
from anchorhold.postgres.connection import answers
from anchorhold.postgres.folder import Folder
from tests.postgres.conftest import own_folder
from tests.postgres.processes import User, has_users, kill, postmaster, value, wait_until_gone

SORTED = "SELECT string_agg(word, '' ORDER BY word) FROM unnest('{a,B,ä,Z}'::text[]) word"


@pytest.mark.parametrize(
    "setting", ["fsync", "synchronous_commit", "full_page_writes", "data_checksums"]
)
def test_a_server_is_durable_unless_a_test_says_otherwise(
    running: postgres.Server, setting: str
) -> None:
    assert value(running.conninfo, f"SHOW {setting}") == "on"


def test_the_only_way_in_is_a_socket_in_a_private_folder(running: postgres.Server) -> None:
    assert not value(running.conninfo, "SHOW listen_addresses")
    sockets = Path(str(value(running.conninfo, "SHOW unix_socket_directories")).strip('"'))
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert sockets.stat().st_uid == running.data_dir.stat().st_uid


def test_a_socket_folder_that_others_can_pass_is_not_used(folder: Path) -> None:
    postgres.start(folder, durable=False)
    assert answers(Folder(folder), durable=False)
    (folder / "run").chmod(0o755)
    assert not answers(Folder(folder), durable=False)


def test_starting_again_joins_the_running_server(running: postgres.Server) -> None:
    pid = postmaster(running.data_dir)
    assert postgres.start(running.data_dir) == running
    assert postmaster(running.data_dir) == pid


def test_time_is_utc_and_text_sorts_by_code_point_wherever_it_runs(empty_folder: Path) -> None:
    elsewhere = {"TZ": "Asia/Tokyo", "LC_ALL": "no_SUCH.locale", "LANG": "tr_TR.UTF-8"}
    with User(empty_folder, env=elsewhere) as user:
        conninfo = user.answer()
        assert value(conninfo, "SHOW timezone") == "UTC"
        assert value(conninfo, "SHOW server_encoding") == "UTF8"
        assert value(conninfo, SORTED) == "BZaä"


def test_two_processes_that_start_at_once_get_one_server(empty_folder: Path) -> None:
    with User(empty_folder) as first, User(empty_folder) as second:
        assert first.answer() == second.answer() == postgres.status(empty_folder).conninfo
        # A second postmaster would have said in the log that the first one is there.
        assert (empty_folder / "postgres.log").read_text().count("starting PostgreSQL") == 1


def test_the_server_lives_as_long_as_one_user_lives(folder: Path) -> None:
    with User(folder) as first, User(folder) as second:
        conninfo = first.answer()
        second.answer()
        first.kill()
        assert has_users(folder)
        # Longer than the keeper waits when it finds no user.
        value(conninfo, "SELECT pg_sleep(1.5)::text")
        second.kill()
        wait_until_gone(folder)
        assert not postgres.status(folder).running


def test_a_released_server_ends_and_leaves_only_data_locks_and_log(empty_folder: Path) -> None:
    postgres.start(empty_folder, durable=False)
    postgres.release(empty_folder)
    wait_until_gone(empty_folder)
    left = {entry.name for entry in empty_folder.iterdir()}
    assert left == {"cluster", "postgres.log", "server.lock", "users.lock"}


def test_a_start_after_a_stop_gets_a_new_server(folder: Path) -> None:
    postgres.start(folder, durable=False)
    first = postmaster(folder)
    postgres.stop(folder)
    postgres.start(folder, durable=False)
    assert postmaster(folder) != first


def test_a_folder_that_was_put_aside_lends_its_lock_to_no_new_one(empty_folder: Path) -> None:
    postgres.start(empty_folder, durable=False)
    kill(postmaster(empty_folder))
    wait_until_gone(empty_folder)
    empty_folder.rename(empty_folder.with_name("aside"))
    postgres.start(empty_folder, durable=False)
    assert has_users(empty_folder)


@pytest.mark.parametrize("name", ["space 'quote' \"ü\"", "comma, and % more"])
def test_a_path_may_hold_any_character(name: str) -> None:
    with own_folder(name) as folder:
        assert value(postgres.start(folder, durable=False).conninfo, "SELECT 1") == 1


def test_a_path_too_long_for_a_socket_gets_a_short_private_folder() -> None:
    with own_folder("long" * 30) as folder:
        conninfo = postgres.start(folder, durable=False).conninfo
        assert value(conninfo, "SELECT 1") == 1
        sockets = (folder / "run").readlink()
        assert sockets.stat().st_mode & 0o777 == 0o700
        postgres.stop(folder)
        assert not sockets.exists()


def test_shipped_programs_have_a_path() -> None:
    assert all(postgres.binary(name).is_file() for name in ("psql", "pgbench", "pg_dump"))
