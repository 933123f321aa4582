"""The data folder: its paths, its two locks and its private socket folder.

`cluster/` is PostgreSQL's own; `users.lock` is held shared by each process that uses the server;
`server.lock` is held by the process that starts it, then by the keeper and by PostgreSQL, until the
last of them is gone; `run` holds the socket; `postgres.log` is PostgreSQL's log.
"""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anchorhold.postgres.errors import (
    USE_ANOTHER_SERVER,
    PostgresCode,
    PostgresError,
    disk_full,
    not_writable,
)

PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
LOG_BYTES_MAX = 10_000_000
# Of the 108 bytes of sockaddr_un.sun_path the last one is the terminator.
SOCKET_PATH_BYTES_MAX = 107
OURS = {"cluster", "cluster.new", "users.lock", "server.lock", "run", "postgres.log"}
# A file system's own folder at the root of a mounted volume.
HARMLESS = {"lost+found"}


@dataclass(frozen=True, slots=True)
class Folder:
    """The paths inside one data folder."""

    root: Path

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory; it is there only when initdb has finished."""
        return self.root / "cluster"

    @property
    def unfinished(self) -> Path:
        """Where initdb works; a leftover of a killed initdb means nothing."""
        return self.root / "cluster.new"

    @property
    def users_lock(self) -> Path:
        """Held shared by every process that uses the server."""
        return self.root / "users.lock"

    @property
    def server_lock(self) -> Path:
        """Held as long as a process of the server lives."""
        return self.root / "server.lock"

    @property
    def log(self) -> Path:
        """PostgreSQL's log, and the keeper's."""
        return self.root / "postgres.log"

    @property
    def run(self) -> Path:
        """The socket folder, or a link to it where this path is too long for a socket."""
        return self.root / "run"

    @property
    def sockets(self) -> Path:
        """The folder that holds the socket; its path is short enough."""
        return self.run.readlink() if self.run.is_symlink() else self.run

    @property
    def socket(self) -> Path:
        """The socket itself."""
        return self.sockets / SOCKET_NAME


def open_folder(root: Path) -> Folder:
    """The folder is there, is ours and can be written.

    Raises PostgresError (FOLDER_NOT_WRITABLE, FOLDER_NOT_OURS, FOLDER_OF_ANOTHER_USER, DISK_FULL).
    """
    root = absolute(root)
    with refusing(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = {entry.name for entry in root.iterdir()}
    if not os.access(root, os.W_OK | os.X_OK):
        raise not_writable(root, "permission denied")
    if not names & OURS and names - HARMLESS:
        raise PostgresError(
            PostgresCode.FOLDER_NOT_OURS,
            f"The folder {root} is not empty and holds no Anchorhold database.",
            "Point ANCHORHOLD_DATA_DIR to an empty or a new folder.",
        )
    folder = Folder(root)
    refuse_another_users(folder)
    return folder


def refuse_another_users(folder: Folder) -> None:
    """The database is this user's, or this user is root."""
    if os.geteuid() == 0 or not folder.cluster.exists():
        return
    owner = folder.cluster.stat().st_uid
    if owner != os.geteuid():
        raise PostgresError(
            PostgresCode.FOLDER_OF_ANOTHER_USER,
            f"The database in {folder.root} belongs to the user with the number {owner}.",
            f"Run as that user, point ANCHORHOLD_DATA_DIR elsewhere, {USE_ANOTHER_SERVER}.",
        )


def absolute(path: Path) -> Path:
    """The path from the root; links stay as they are named."""
    return Path(os.path.abspath(path))  # noqa: PTH100 -- resolve() would follow the links


@contextmanager
def refusing(root: Path) -> Generator[None]:
    """An operating system's error in here becomes the refusal that names the folder."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise disk_full(root) from error
        raise not_writable(root, (error.strerror or str(error)).lower()) from error


def open_file(path: Path, flags: int = 0) -> int:
    """A descriptor of the file, which now exists and belongs to the folder's owner.

    Raises PostgresError (FOLDER_NOT_WRITABLE, DISK_FULL).
    """
    with refusing(path.parent):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    give_to_owner(descriptor, path.parent)
    return descriptor


def open_log(folder: Folder) -> IO[bytes]:
    """The log, open for appending; a long one is put aside first (one old log is kept)."""
    if folder.log.exists() and folder.log.stat().st_size > LOG_BYTES_MAX:
        folder.log.replace(folder.root / "postgres.log.old")
    return os.fdopen(open_file(folder.log, os.O_APPEND), "ab")


def give_to_owner(descriptor: int, root: Path) -> None:
    """What root made in another user's folder belongs to that user."""
    owner = root.stat()
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid != owner.st_uid:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def try_lock(descriptor: int, mode: int) -> bool:
    """Whether the lock (fcntl.LOCK_SH or fcntl.LOCK_EX) could be had at once."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def try_server_lock(folder: Folder) -> int | None:
    """The held descriptor of `server.lock`, or None: a process of a server lives."""
    descriptor = open_file(folder.server_lock)
    if try_lock(descriptor, fcntl.LOCK_EX):
        return descriptor
    os.close(descriptor)
    return None


def make_sockets(folder: Folder, uid: int, gid: int) -> None:
    """An empty 0700 folder of that user is there for the socket; call with `server.lock` held.

    Where the path in the data folder is too long it is a new folder in a temporary one, and `run`
    is a link to it. Raises PostgresError (NO_SOCKET_FOLDER).
    """
    remove_sockets(folder)
    if fits(folder.run):
        folder.run.mkdir(mode=0o700)
    else:
        folder.run.symlink_to(tempfile.mkdtemp(prefix="anchorhold-", dir=short_home(folder)))
    sockets = folder.sockets
    sockets.chmod(0o700)
    os.chown(sockets, uid, gid)
    if not sockets_private(folder):
        raise PostgresError(
            PostgresCode.NO_SOCKET_FOLDER,
            f"The file system of {sockets} cannot keep a folder private.",
            "Point ANCHORHOLD_DATA_DIR to a file system that has Unix permissions.",
        )


def remove_sockets(folder: Folder) -> None:
    """No socket folder, no stale socket and no stale socket lock are left."""
    if sockets_private(folder):
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (folder.sockets / name).unlink(missing_ok=True)
        with suppress(OSError):
            folder.sockets.rmdir()
    if folder.run.is_symlink():
        folder.run.unlink()
    elif folder.run.exists():
        shutil.rmtree(folder.run)


def sockets_private(folder: Folder) -> bool:
    """Whether the socket folder is there and nobody else can have made it or pass it.

    The link may be older than the last start of the machine, and its target a stranger's by now.
    """
    try:
        found = folder.sockets.lstat()
    except FileNotFoundError:
        return False
    owners = {os.geteuid(), folder.root.stat().st_uid}
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners and not found.st_mode & 0o077


def fits(sockets: Path) -> bool:
    """Whether a socket in that folder can have an address; a comma would separate two for libpq."""
    path = os.fsencode(sockets / SOCKET_NAME)
    return len(path) <= SOCKET_PATH_BYTES_MAX and b"," not in path


def short_home(folder: Folder) -> Path:
    """A folder for temporary files whose path is short enough."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    homes = (own, tempfile.gettempdir(), "/tmp")  # noqa: S108 -- only mkdtemp writes there
    for home in homes:
        if home and fits(Path(home) / "anchorhold-12345678") and os.access(home, os.W_OK | os.X_OK):
            return Path(home)
    raise PostgresError(
        PostgresCode.NO_SOCKET_FOLDER,
        f"The path of {folder.root} is too long for a socket, and so is every temporary folder's.",
        "Point ANCHORHOLD_DATA_DIR or TMPDIR to a shorter path.",
    )


def last_lines(log: Path, since: int, count: int = 5) -> str:
    """The last lines that the log got after that byte; empty when there are none."""
    with suppress(FileNotFoundError), log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        # The log may have been put aside since.
        file.seek(since if since <= size else 0)
        lines = file.read()[-8000:].decode(errors="replace").splitlines()
        return "\n".join(lines[-count:])
    return ""
