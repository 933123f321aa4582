"""Root and ordinary users: PostgreSQL never runs as root, and nothing is loosened for it."""

import os
import pwd
import shutil
from pathlib import Path

import pytest

from anchorhold import postgres
from tests.postgres.processes import User, keeper, kill, postmaster, value, wait_until_gone

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

# The kernel's bits.
DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2
NOBODY = pwd.getpwnam("nobody")
# The right to read lets the child reach this Python, which may lie in root's home.
AS_NOBODY = (
    "setpriv",
    f"--reuid={NOBODY.pw_uid}",
    f"--regid={NOBODY.pw_gid}",
    "--clear-groups",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search",
)
# What a container gives root when nobody asks for more.
IN_A_CONTAINER = (
    "setpriv",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--bounding-set=-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid"
    ",+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write",
)


def path_with_failing(folder: Path, *programs: str) -> dict[str, str]:
    """An environment in which these programs fail as they do where a container forbids them."""
    for program in programs:
        forbidden = folder / program
        forbidden.write_text("#!/bin/sh\necho 'Operation not permitted' >&2\nexit 1\n")
        forbidden.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def no_namespaces(tmp_path: Path) -> dict[str, str]:
    """An environment without user namespaces."""
    return path_with_failing(tmp_path, "unshare")


def modes_above(path: Path) -> list[int]:
    """The modes of all folders above."""
    return [parent.stat().st_mode for parent in path.parents]


def test_in_a_namespace_the_files_stay_roots(empty_folder: Path) -> None:
    before = modes_above(empty_folder)
    with User(empty_folder) as user:
        assert value(user.answer(), "SELECT 1") == 1
        assert (empty_folder / "cluster").stat().st_uid == 0
        assert effective_capabilities(postmaster(empty_folder)) == 0
    assert modes_above(empty_folder) == before


@pytest.mark.parametrize(
    ("caps", "right"),
    [((), DAC_READ_SEARCH), (IN_A_CONTAINER, DAC_OVERRIDE)],
    ids=["all rights", "a container's"],
)
@pytest.mark.parametrize("parent_mode", [0o755, 0o700])
def test_without_namespaces_an_ordinary_user_runs_it_below_any_parent(
    empty_folder: Path,
    no_namespaces: dict[str, str],
    caps: tuple[str, ...],
    right: int,
    parent_mode: int,
) -> None:
    empty_folder.parent.chmod(parent_mode)
    before = modes_above(empty_folder)
    with User(empty_folder, prefix=caps, env=no_namespaces) as user:
        assert value(user.answer(), "SELECT 1") == 1
        assert (empty_folder / "cluster").stat().st_uid == owner_of(postmaster(empty_folder)) != 0
        # None where this Python lies outside root's home, else the weakest that is to be had.
        assert effective_capabilities(postmaster(empty_folder)) in {0, right}
        kill(keeper(empty_folder))
        wait_until_gone(empty_folder)
    assert modes_above(empty_folder) == before


def test_a_cluster_that_was_roots_goes_on_where_namespaces_end(
    folder: Path, no_namespaces: dict[str, str]
) -> None:
    """As when a data folder moves into a container, and back."""
    assert folder.stat().st_uid == 0
    with User(folder, env=no_namespaces) as user:
        assert value(user.answer(), "SELECT 1") == 1
    wait_until_gone(folder)
    assert value(postgres.start(folder, durable=False).conninfo, "SELECT 1") == 1


def test_root_joins_and_starts_the_server_of_a_users_folder(empty_folder: Path) -> None:
    empty_folder.mkdir()
    shutil.chown(empty_folder, NOBODY.pw_uid, NOBODY.pw_gid)
    with User(empty_folder) as root, User(empty_folder, prefix=AS_NOBODY) as user:
        assert value(root.answer(), "SELECT 1") == 1
        assert user.answer() == postgres.status(empty_folder).conninfo
        assert owner_of(postmaster(empty_folder)) == NOBODY.pw_uid
    wait_until_gone(empty_folder)
    with User(empty_folder, prefix=AS_NOBODY) as user:
        assert value(user.answer(), "SELECT 1") == 1


def test_a_user_cannot_have_a_folder_that_is_not_his(empty_folder: Path) -> None:
    empty_folder.mkdir(mode=0o755)
    with User(empty_folder, prefix=AS_NOBODY) as user:
        assert user.answer() == postgres.PostgresCode.FOLDER_NOT_WRITABLE
    with User(empty_folder / "below", prefix=AS_NOBODY) as user:
        assert user.answer() == postgres.PostgresCode.FOLDER_NOT_WRITABLE


def test_a_user_cannot_have_a_database_that_is_not_his(folder: Path) -> None:
    folder.chmod(0o777)
    with User(folder, prefix=AS_NOBODY) as user:
        assert user.answer() == postgres.PostgresCode.FOLDER_OF_ANOTHER_USER
    folder.chmod(0o700)


def test_where_nothing_works_root_is_told_so(empty_folder: Path, tmp_path: Path) -> None:
    nothing_works = path_with_failing(tmp_path, "unshare", "setpriv")
    with User(empty_folder, env=nothing_works) as user:
        assert user.answer() == postgres.PostgresCode.NO_ORDINARY_USER
    assert empty_folder.stat().st_uid == 0


def test_a_strangers_folder_in_the_place_of_our_sockets_is_not_used(empty_folder: Path) -> None:
    data_dir = empty_folder / ("long" * 30)
    stranger = empty_folder / "stranger"
    data_dir.mkdir(parents=True)
    stranger.mkdir(mode=0o700)
    shutil.chown(stranger, NOBODY.pw_uid)
    (data_dir / "run").symlink_to(stranger)
    try:
        assert value(postgres.start(data_dir, durable=False).conninfo, "SELECT 1") == 1
        assert (data_dir / "run").readlink() != stranger
        assert stranger.exists()
    finally:
        postgres.stop(data_dir)


def owner_of(pid: int) -> int:
    """The user whom that process runs as."""
    return Path(f"/proc/{pid}").stat().st_uid


def effective_capabilities(pid: int) -> int:
    """The rights of that process, as the kernel's bits."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("CapEff:")[2].split()[0], 16)
