"""Makes a cluster, and the command line under which its server runs."""

import os
import shutil
import subprocess
from pathlib import Path

from anchorhold.postgres.binaries import binary, installed, newest
from anchorhold.postgres.errors import (
    USE_ANOTHER_SERVER,
    PostgresCode,
    PostgresError,
    disk_full,
    start_failed,
)
from anchorhold.postgres.folder import PORT, Folder
from anchorhold.postgres.identity import Identity

SUPERUSER = "anchorhold"
DATABASE = "anchorhold"
# The locale of the machine has no say: the same order of text everywhere, and UTC.
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--data-checksums",
    # Safe because the socket lies in a folder that only its owner can pass, and TCP is off.
    "--auth=trust",
    "--no-instructions",
)
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    # In the data folder: a container's /dev/shm is often too small, and a SIGKILL would leave a
    # segment there.
    "dynamic_shared_memory_type": "mmap",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%a ",
    # A long crash recovery shows that it moves, so that a start can wait for it.
    "log_startup_progress_interval": "1s",
}
FREE_BYTES_MIN = 1_000_000
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
# Survives each death of a process still, because a commit waits for the write to the kernel.
FORGETFUL = {
    "fsync": "off",
    "synchronous_commit": "on",
    "full_page_writes": "off",
    # Tests like to keep the folder in memory.
    "max_wal_size": "256MB",
}


def major_of(folder: Folder) -> int:
    """The major version that this folder needs; the newest for an empty one.

    Raises PostgresError (OTHER_VERSION) when it is not among the shipped ones.
    """
    try:
        written = (folder.cluster / "PG_VERSION").read_text("utf-8", errors="replace").strip()
    except FileNotFoundError:
        return newest()
    if written.isdecimal() and int(written) in installed():
        return int(written)
    shipped = " and ".join(str(major) for major in installed())
    raise PostgresError(
        PostgresCode.OTHER_VERSION,
        f"The data in {folder.root} is of PostgreSQL {written}; this Anchorhold has {shipped}.",
        f"Start the Anchorhold that wrote it, dump with pg_dump, restore into a new folder, "
        f"{USE_ANOTHER_SERVER}.",
    )


def make_cluster(folder: Folder, identity: Identity, *, durable: bool) -> None:
    """An empty cluster is in the folder, whole and on the disk; call with `server.lock` held.

    Raises PostgresError (DISK_FULL, START_FAILED).
    """
    shutil.rmtree(folder.unfinished, ignore_errors=True)
    sync = () if durable else ("--no-sync",)
    command = (*identity.prefix, str(binary("initdb")), *INITDB, *sync)
    made = subprocess.run(  # noqa: S603 -- our own words and paths
        [*command, "-D", str(folder.unfinished)],
        env=ENVIRONMENT,
        cwd="/",
        # Ctrl-C in a terminal is for us to answer, and initdb would only say that it failed.
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if made.returncode:
        raise failure(folder, made.stderr[-2000:].strip())
    # The name appears only now: a killed initdb leaves no half of a cluster.
    folder.unfinished.rename(folder.cluster)
    sync_folder(folder.root)


def sync_folder(path: Path) -> None:
    """The names in the folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def failure(folder: Folder, words: str) -> PostgresError:
    """The refusal that fits what PostgreSQL said last."""
    full = "No space left on device" in words or "Disk quota exceeded" in words
    # On a full disk the log cannot be written either.
    if full or shutil.disk_usage(folder.root).free < FREE_BYTES_MIN:
        return disk_full(folder.root)
    return start_failed(folder.log, words or "(it said nothing; was it killed?)")


def server_command(folder: Folder, major: int, *, durable: bool) -> list[str]:
    """The words that run the server in the foreground."""
    sockets = str(folder.sockets).replace('"', '""')
    settings = SETTINGS | (DURABLE if durable else FORGETFUL)
    # A list of quoted names: a comma in the path separates nothing.
    settings["unix_socket_directories"] = f'"{sockets}"'
    words = [str(binary("postgres", major)), "-D", str(folder.cluster)]
    for name, value in settings.items():
        words += ["-c", f"{name}={value}"]
    return words


def remove_stale_pid_file(folder: Folder) -> None:
    """`postmaster.pid` does not name a stranger; call with `server.lock` held.

    PostgreSQL believes a process number in it that lives, and in a restarted container the number
    is soon another program's. A server that works in this cluster keeps its file.
    """
    pid_file = folder.cluster / "postmaster.pid"
    try:
        pid = abs(int(pid_file.read_text(encoding="ascii").split()[0]))
        if Path(f"/proc/{pid}/cwd").samefile(folder.cluster):
            return
    except (FileNotFoundError, PermissionError, ValueError, IndexError):
        # No such file, no such process, another user's process, or a torn file.
        if not Path("/proc/self").exists():
            return
    pid_file.unlink(missing_ok=True)
