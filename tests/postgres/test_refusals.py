"""When there can be no server: a code, a sentence and the next step, and nothing half done."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anchorhold import postgres
from anchorhold.postgres import binaries, cluster
from anchorhold.postgres.folder import Folder, open_folder, refusing, try_server_lock
from anchorhold.postgres.patience import Patience
from tests.postgres.processes import User, has_users, value

Code = postgres.PostgresCode
IN_OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")


def mounts_allowed() -> bool:
    """Whether a process of this user may mount, and still reaches this Python."""
    if not shutil.which("unshare"):
        return False
    command = [*IN_OWN_MOUNTS, sys.executable, "-c", ""]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def refusal(
    folder: Path, *, durable: bool = False, patience_s: float = 60.0
) -> postgres.PostgresError:
    """What `start` refuses with."""
    with pytest.raises(postgres.PostgresError) as caught:
        postgres.start(folder, durable=durable, patience_s=patience_s)
    assert caught.value.next_step
    assert str(folder) in str(caught.value) or caught.value.code == Code.BINARIES_MISSING
    return caught.value


@pytest.mark.parametrize("version", ["19", "17", "9.6", "\N{SNOWMAN}"])
def test_another_major_version_is_named_beside_ours(folder: Path, version: str) -> None:
    pg_version = folder / "cluster" / "PG_VERSION"
    ours = pg_version.read_text()
    pg_version.write_text(f"{version}\n")
    try:
        refused = refusal(folder)
        assert refused.code == Code.OTHER_VERSION
        assert f"PostgreSQL {version}" in refused.sentence
        assert "18" in refused.sentence
        assert "pg_dump" in refused.next_step
        assert not has_users(folder)
    finally:
        pg_version.write_text(ours)


def test_a_folder_with_other_files_is_left_alone(empty_folder: Path) -> None:
    empty_folder.mkdir()
    (empty_folder / "thesis.txt").touch()
    assert refusal(empty_folder).code == Code.FOLDER_NOT_OURS
    assert [entry.name for entry in empty_folder.iterdir()] == ["thesis.txt"]


def test_the_root_of_a_mounted_volume_counts_as_empty(empty_folder: Path) -> None:
    (empty_folder / "lost+found").mkdir(parents=True)
    assert open_folder(empty_folder).root == empty_folder


def test_a_file_in_the_place_of_the_folder_is_refused(empty_folder: Path) -> None:
    empty_folder.touch()
    assert refusal(empty_folder).code == Code.FOLDER_NOT_WRITABLE
    assert refusal(empty_folder / "below").code == Code.FOLDER_NOT_WRITABLE


def test_a_platform_without_the_wheel_is_told_so(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package")
    binaries.installed.cache_clear()
    try:
        refused = refusal(empty_folder)
        assert refused.code == Code.BINARIES_MISSING
        assert "ANCHORHOLD_DATABASE_URL" in refused.next_step
    finally:
        binaries.installed.cache_clear()


def test_a_program_that_is_not_shipped_is_refused() -> None:
    with pytest.raises(postgres.PostgresError, match="pg_nothing"):
        postgres.binary("pg_nothing")


def test_a_server_that_does_not_start_is_quoted(folder: Path) -> None:
    settings = folder / "cluster" / "postgresql.auto.conf"
    before = settings.read_text()
    settings.write_text("nonsense = 1\n")
    try:
        refused = refusal(folder)
        assert refused.code == Code.START_FAILED
        assert 'unrecognized configuration parameter "nonsense"' in refused.sentence
        assert str(folder / "postgres.log") in refused.next_step
    finally:
        settings.write_text(before)
    assert value(postgres.start(folder, durable=False).conninfo, "SELECT 1") == 1


def test_a_durable_user_refuses_a_server_without_fsync(folder: Path) -> None:
    with User(folder) as user:
        user.answer()
        assert refusal(folder, durable=True).code == Code.NOT_DURABLE


def test_a_start_that_does_not_move_ends(folder: Path) -> None:
    lock = try_server_lock(Folder(folder))
    assert lock is not None
    try:
        assert refusal(folder, patience_s=0.05).code == Code.STALLED
    finally:
        os.close(lock)


def test_a_log_that_grows_renews_the_patience(empty_folder: Path) -> None:
    empty_folder.mkdir()
    folder = Folder(empty_folder)
    patience = Patience(folder, patience_s=0.0)
    with folder.log.open("a") as log:
        for _ in range(3):
            print("redo in progress", file=log, flush=True)
            patience.wait()
    with pytest.raises(postgres.PostgresError, match="no progress"):
        patience.wait()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_from_a_forbidden_folder(tmp_path: Path, error: int) -> None:
    with pytest.raises(postgres.PostgresError) as caught, refusing(tmp_path):
        raise OSError(error, os.strerror(error))
    assert caught.value.code == Code.DISK_FULL


def test_postgres_own_words_for_a_full_disk_are_understood(tmp_path: Path) -> None:
    words = "could not write to file: No space left on device"
    assert cluster.failure(Folder(tmp_path), words).code == Code.DISK_FULL


@pytest.mark.skipif(not mounts_allowed(), reason="no user namespaces here")
def test_a_disk_too_small_for_a_cluster_is_refused_and_left_empty(empty_folder: Path) -> None:
    empty_folder.mkdir()
    mount = f'mount -t tmpfs -o size=8m tmpfs {empty_folder} && exec "$@"'
    small = (*IN_OWN_MOUNTS, "sh", "-c", mount, "sh")
    with User(empty_folder, prefix=small) as user:
        assert user.answer() == Code.DISK_FULL
        seen = Path(f"/proc/{user.process.pid}/root{empty_folder}")
        assert {entry.name for entry in seen.iterdir()} == {"users.lock", "server.lock"}
