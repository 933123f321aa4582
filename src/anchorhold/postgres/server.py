"""Starts the embedded PostgreSQL of a data folder, or joins the one that runs.

Any number of processes share it. The last one that leaves, or dies, ends it (see keeper.py).
Nothing here believes a process number: a server runs when it answers, and is gone when its lock is
free.
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from anchorhold.postgres import keeper
from anchorhold.postgres.binaries import binary
from anchorhold.postgres.cluster import (
    ENVIRONMENT,
    failure,
    major_of,
    make_cluster,
    remove_stale_pid_file,
    server_command,
)
from anchorhold.postgres.connection import answers, conninfo_of, listener
from anchorhold.postgres.folder import (
    Folder,
    absolute,
    last_lines,
    make_sockets,
    open_file,
    open_folder,
    open_log,
    refusing,
    try_lock,
    try_server_lock,
)
from anchorhold.postgres.identity import Identity, identity_for
from anchorhold.postgres.patience import Patience

PATIENCE_S = 60.0

# This process's shared lock per data folder; a process is one user however often it starts.
_held: dict[Path, int] = {}
_held_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers, and how libpq reaches its database `anchorhold`."""

    data_dir: Path
    conninfo: str


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a server listens in a data folder, its process, and how libpq reaches it."""

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
    patience = Patience(folder, patience_s)
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
        descriptor = _held.pop(absolute(data_dir), None)
    if descriptor is not None:
        os.close(descriptor)


def status(data_dir: Path) -> Status:
    """Whether a server listens there; starts nothing and makes nothing."""
    folder = Folder(absolute(data_dir))
    pid = listener(folder)
    return Status(pid is not None, pid, conninfo_of(folder))


def holds_database(data_dir: Path) -> bool:
    """Whether a cluster is there, so that `start` would make none; makes nothing itself."""
    return Folder(absolute(data_dir)).cluster.is_dir()


def stop(data_dir: Path, *, patience_s: float = PATIENCE_S) -> None:
    """No process of the server is left, whoever uses it; what was committed is on the disk.

    Raises PostgresError (STALLED) when it does not end in time.
    """
    release(data_dir)
    folder = Folder(absolute(data_dir))
    if not folder.server_lock.exists():
        return
    patience = Patience(folder, patience_s)
    asked = False
    while (lock := try_server_lock(folder)) is None:
        # Once: each question makes the server fork.
        if not asked and (pid := listener(folder)):
            os.kill(pid, signal.SIGINT)
            asked = True
        patience.wait()
    os.close(lock)


def _join(folder: Folder, patience: Patience) -> bool:
    """This process holds the users' lock; True if it did not before."""
    with _held_guard:
        held = _held.pop(folder.root, None)
        if held is not None and _is_open_file(held, folder.users_lock):
            _held[folder.root] = held
            return False
        if held is not None:
            os.close(held)
        descriptor = open_file(folder.users_lock)
        try:
            # A keeper that ends the server holds it until the server is gone.
            while not try_lock(descriptor, fcntl.LOCK_SH):
                patience.wait()
        except BaseException:
            os.close(descriptor)
            raise
        _held[folder.root] = descriptor
        return True


def _is_open_file(descriptor: int, path: Path) -> bool:
    """Whether the descriptor is of the file that has this name now."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _reach(folder: Folder, patience: Patience, *, durable: bool) -> Server:
    launched = False
    while not answers(folder, durable=durable):
        lock = try_server_lock(folder)
        if lock is not None:
            try:
                if launched:
                    raise failure(folder, last_lines(folder.log, patience.began_at_bytes))
                _launch(folder, lock, durable=durable)
                launched = True
            finally:
                os.close(lock)
        patience.wait()
    return Server(folder.root, conninfo_of(folder))


def _launch(folder: Folder, lock: int, *, durable: bool) -> None:
    """A keeper runs and holds the lock; call with `server.lock` held, so no server is alive."""
    major = major_of(folder)
    identity = identity_for(folder, binary("postgres", major))
    with refusing(folder.root):
        if not folder.cluster.exists():
            make_cluster(folder, identity, durable=durable)
        remove_stale_pid_file(folder)
        make_sockets(folder, identity.uid, identity.gid)
    users = open_file(folder.users_lock)
    try:
        _run_keeper(folder, identity, (lock, users), server_command(folder, major, durable=durable))
    finally:
        os.close(users)


def _run_keeper(
    folder: Folder, identity: Identity, locks: tuple[int, int], command: list[str]
) -> None:
    python = (sys.executable, "-I", "-S", keeper.__file__, *map(str, locks))
    with open_log(folder) as log:
        subprocess.run(  # noqa: S603 -- our own words and paths
            [*identity.prefix, *python, str(folder.sockets), *command],
            pass_fds=locks,
            start_new_session=True,
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
