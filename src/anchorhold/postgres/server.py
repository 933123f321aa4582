"""Starts the embedded PostgreSQL of a data folder, or joins the one that runs.

Any number of processes share it. The last one that leaves, or dies, ends it (see keeper.py).
Nothing here believes a process number: a server runs when it answers, and is gone when its lock is
free.

Authentication is `trust`, which is safe because the only way in is a Unix socket in a folder of
mode 0700 that this user owns; TCP is off.
"""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from anchorhold.postgres import keeper
from anchorhold.postgres.binaries import binary
from anchorhold.postgres.cluster import (
    DATABASE,
    ENVIRONMENT,
    SUPERUSER,
    failure,
    major_of,
    make_cluster,
    remove_stale_pid_file,
    server_command,
)
from anchorhold.postgres.errors import PostgresCode, PostgresError
from anchorhold.postgres.folder import (
    PORT,
    Folder,
    last_lines,
    make_sockets,
    open_file,
    open_folder,
    open_log,
    sockets_private,
    try_lock,
    try_server_lock,
)
from anchorhold.postgres.identity import identity_for

PATIENCE_S = 60.0
POLL_S = 0.01
CONNECT_TIMEOUT_S = 5
# Of postmaster.pid, counted from 0; it is only a hint.
STATUS_LINE = 7

# This process's shared lock per data folder; a process is one user however often it starts.
_held: dict[Path, int] = {}
_held_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it is and how to reach its database `anchorhold`."""

    conninfo: str
    data_dir: Path


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a server answers in a data folder, and the number of its first process."""

    running: bool
    pid: int | None
    conninfo: str


def start(data_dir: Path, *, durable: bool = True, patience_s: float = PATIENCE_S) -> Server:
    """A server answers, its database `anchorhold` is there, and this process is one of its users.

    Makes the cluster in an empty folder. Waits without limit while a crash recovery moves on, and
    at most `patience_s` seconds without any sign of progress. With `durable=False` a lost machine
    may lose data (tests only). Safe to call again at any time, also when the server was killed.
    Raises PostgresError with each code of PostgresCode.
    """
    folder = open_folder(data_dir)
    patience = _Patience(folder, patience_s)
    joined_now = _join(folder, patience)
    try:
        return _reach(folder, patience, durable=durable)
    except BaseException:
        if joined_now:
            release(data_dir)
        raise


def release(data_dir: Path) -> None:
    """This process is no user of the server any more; the last one's leaving ends it."""
    with _held_guard:
        descriptor = _held.pop(_key(data_dir), None)
    if descriptor is not None:
        os.close(descriptor)


def status(data_dir: Path) -> Status:
    """Whether a server answers there; starts nothing and makes nothing."""
    folder = Folder(_key(data_dir))
    pid = _listener(folder)
    return Status(pid is not None, pid, _conninfo(folder, DATABASE))


def stop(data_dir: Path, *, patience_s: float = PATIENCE_S) -> None:
    """No process of the server is left, whoever uses it; what was committed is on the disk.

    Raises PostgresError (STALLED) when it does not end in time.
    """
    release(data_dir)
    folder = Folder(_key(data_dir))
    if not folder.server_lock.exists():
        return
    deadline = time.monotonic() + patience_s
    asked: set[int] = set()
    while (lock := try_server_lock(folder)) is None:
        pid = _listener(folder)
        if pid is not None and pid not in asked:
            asked.add(pid)
            os.kill(pid, signal.SIGINT)
        if time.monotonic() > deadline:
            raise _stalled(folder, patience_s)
        time.sleep(POLL_S)
    os.close(lock)


def _key(data_dir: Path) -> Path:
    return Path(os.path.abspath(data_dir))  # noqa: PTH100 -- links stay as they are named


class _Patience:
    """Ends a wait in which the server's log did not grow for that many seconds."""

    def __init__(self, folder: Folder, patience_s: float) -> None:
        self.folder = folder
        self.patience_s = patience_s
        self.since_bytes = self._size()
        self._seen = self.since_bytes
        self._moved_at = time.monotonic()

    def wait(self) -> None:
        """A moment has passed; raises PostgresError (STALLED) when nothing moved for too long."""
        if (size := self._size()) != self._seen:
            self._seen = size
            self._moved_at = time.monotonic()
        if time.monotonic() - self._moved_at > self.patience_s:
            raise _stalled(self.folder, self.patience_s)
        time.sleep(POLL_S)

    def _size(self) -> int:
        return self.folder.log.stat().st_size if self.folder.log.exists() else 0


def _stalled(folder: Folder, patience_s: float) -> PostgresError:
    return PostgresError(
        PostgresCode.STALLED,
        f"PostgreSQL in {folder.root} made no progress for {patience_s:g} s.",
        f"Read {folder.log}; end the processes that work in {folder.cluster} and start again.",
    )


def _join(folder: Folder, patience: _Patience) -> bool:
    """This process holds the users' lock; True if it did not before."""
    with _held_guard:
        held = _held.pop(folder.root, None)
        if held is not None and _is_open_file(held, folder.users_lock):
            _held[folder.root] = held
            return False
        if held is not None:
            os.close(held)
        descriptor = open_file(folder.users_lock)
        # A keeper that ends the server holds it until the server is gone.
        while not try_lock(descriptor, fcntl.LOCK_SH):
            patience.wait()
        _held[folder.root] = descriptor
        return True


def _is_open_file(descriptor: int, path: Path) -> bool:
    """Whether the descriptor is of the file that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _reach(folder: Folder, patience: _Patience, *, durable: bool) -> Server:
    launched = False
    while not _answers(folder, durable=durable):
        lock = try_server_lock(folder)
        if lock is not None:
            try:
                if launched:
                    raise failure(folder, last_lines(folder.log, patience.since_bytes))
                _launch(folder, lock, durable=durable)
                launched = True
            finally:
                os.close(lock)
        patience.wait()
    return Server(_conninfo(folder, DATABASE), folder.root)


def _launch(folder: Folder, lock: int, *, durable: bool) -> None:
    """A keeper runs, and it holds the lock; call with `server.lock` held and no server alive."""
    major = major_of(folder)
    identity = identity_for(folder, binary("postgres", major))
    if not folder.cluster.exists():
        make_cluster(folder, identity, durable=durable)
    remove_stale_pid_file(folder)
    make_sockets(folder, identity.uid, identity.gid)
    users = open_file(folder.users_lock)
    python = (sys.executable, "-I", "-S", keeper.__file__, str(lock), str(users))
    command = server_command(folder, major, durable=durable)
    try:
        with open_log(folder) as log:
            subprocess.run(  # noqa: S603 -- our own words and paths
                [*identity.prefix, *python, str(folder.sockets), *command],
                pass_fds=(lock, users),
                start_new_session=True,
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
    finally:
        os.close(users)


def _answers(folder: Folder, *, durable: bool) -> bool:
    """Whether the server answers; its database is there then."""
    if not sockets_private(folder) or not _says_ready(folder):
        return False
    try:
        with psycopg.connect(_conninfo(folder, "postgres"), autocommit=True) as connection:
            row = connection.execute(
                "SELECT current_setting('fsync') = 'on',"
                " EXISTS (SELECT FROM pg_database WHERE datname = %s)",
                [DATABASE],
            ).fetchone()
            assert row
            if durable and not row[0]:
                raise _not_durable(folder)
            if not row[1]:
                _create_database(connection)
    except psycopg.OperationalError:
        return False
    return True


def _says_ready(folder: Folder) -> bool:
    """Whether it is worth asking: each question to a starting server costs a line in its log."""
    try:
        lines = (folder.cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return lines[STATUS_LINE : STATUS_LINE + 1] == ["ready   "]


def _create_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    try:
        connection.execute(f"CREATE DATABASE {DATABASE}")
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return  # Another user of the server was faster.


def _not_durable(folder: Folder) -> PostgresError:
    return PostgresError(
        PostgresCode.NOT_DURABLE,
        f"The server in {folder.root} was started without fsync, for tests.",
        "End the programs that use it, or use another ANCHORHOLD_DATA_DIR.",
    )


def _conninfo(folder: Folder, database: str) -> str:
    return make_conninfo(
        host=str(folder.sockets),
        port=PORT,
        user=SUPERUSER,
        dbname=database,
        connect_timeout=CONNECT_TIMEOUT_S,
    )


def _listener(folder: Folder) -> int | None:
    """The process that listens on the socket, as the kernel names it; None if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(folder.socket))
        except OSError:
            return None
        credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid
