"""What SIGKILL does: nothing committed is lost, nothing runs for ever, a start brings it back."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anchorhold import postgres
from tests.postgres.processes import (
    User,
    keeper,
    kill,
    postmaster,
    processes_of,
    query,
    value,
    wait_until_gone,
)

COUNT = "SELECT count(*) FROM kept"


def test_a_committed_row_survives_the_death_of_everything(folder: Path) -> None:
    with User(folder, durable=True) as user:
        keep_a_row(user.answer())
        pids = processes_of(folder)
        assert {user.process.pid, keeper(folder), postmaster(folder)} < pids.keys()
        for pid in pids:
            kill(pid)
    assert value(postgres.start(folder).conninfo, COUNT) == 1


def test_the_death_of_the_only_user_ends_the_server_cleanly(folder: Path) -> None:
    with User(folder) as user:
        user.answer()
        user.kill()
        wait_until_gone(folder)
    assert log(folder).endswith("database system is shut down")
    assert processes_of(folder) == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_of_the_keeper_ends_the_server_cleanly_and_a_start_brings_it_back(
    folder: Path, number: signal.Signals
) -> None:
    keep_a_row(postgres.start(folder, durable=False).conninfo)
    os.kill(keeper(folder), number)
    wait_until_gone(folder)
    assert log(folder).endswith("database system is shut down")
    assert value(postgres.start(folder, durable=False).conninfo, COUNT) == 1


def test_the_users_terminal_cannot_interrupt_the_server(folder: Path) -> None:
    postgres.start(folder, durable=False)
    assert os.getsid(keeper(folder)) != os.getsid(0)
    assert os.getsid(postmaster(folder)) != os.getsid(0)


def test_the_user_of_a_killed_postmaster_brings_it_back(folder: Path) -> None:
    keep_a_row(postgres.start(folder, durable=False).conninfo)
    kill(postmaster(folder))
    assert value(postgres.start(folder, durable=False).conninfo, COUNT) == 1


def test_a_stranger_with_the_old_process_number_is_not_taken_for_the_server(folder: Path) -> None:
    postgres.start(folder, durable=False)
    dead = postmaster(folder)
    kill(dead)
    wait_until_gone(folder)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        pid_file = folder / "cluster" / "postmaster.pid"
        pid_file.write_text(pid_file.read_text().replace(str(dead), str(stranger.pid), 1))
        assert value(postgres.start(folder, durable=False).conninfo, "SELECT 1") == 1
        stranger.kill()


def test_the_rest_of_a_killed_initdb_is_swept_away(empty_folder: Path) -> None:
    unfinished = empty_folder / "cluster.new"
    unfinished.mkdir(parents=True, mode=0o700)
    (unfinished / "PG_VERSION").write_text("18\n")
    assert value(postgres.start(empty_folder, durable=False).conninfo, "SELECT 1") == 1
    assert not unfinished.exists()


def keep_a_row(conninfo: str) -> None:
    """`kept` has one row, and that is committed."""
    query(conninfo, "DROP TABLE IF EXISTS kept")
    query(conninfo, "CREATE TABLE kept AS SELECT 1")


def log(folder: Path) -> str:
    """What the server wrote."""
    return (folder / "postgres.log").read_text().rstrip()
