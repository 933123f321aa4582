"""Real PostgreSQL servers that can lose their tail: a primary, its standby, a restored backup."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from anchorhold import postgres
from anchorhold.postgres.binaries import binary
from anchorhold.postgres.cluster import ENVIRONMENT, SUPERUSER
from anchorhold.postgres.folder import Folder
from anchorhold.postgres.identity import identity_for
from tests import database as databases

DEADLINE_S = 30.0
DATABASE = "anchorhold"
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "dynamic_shared_memory_type": "mmap",
    "hot_standby": "on",
    "wal_receiver_status_interval": "1s",
    "wal_retrieve_retry_interval": "100ms",
}
CAUGHT_UP = """
    SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_flush_lsn()
"""


STARTED: "list[Server]" = []
"""Every server of the test that runs; the test's end kills them."""


@dataclass
class Server:
    """One server in a folder of its own; everything of it is below `root`."""

    root: Path
    process: "subprocess.Popen[bytes] | None" = None
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """PostgreSQL's data directory."""
        return self.root / "cluster"

    @property
    def conninfo(self) -> str:
        """How libpq reaches its database."""
        return make_conninfo(host=str(self.root), port=5432, user=SUPERUSER, dbname=DATABASE)

    def start(self, **settings: str) -> "Server":
        """It answers; settings stay for the next start."""
        self.settings |= settings
        words = [str(binary("postgres")), "-D", str(self.data)]
        for name, value in {**SETTINGS, **self.settings}.items():
            words += ["-c", f"{name}={value}"]
        words += ["-c", f"unix_socket_directories={self.root}"]
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        with (self.root / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*_prefix(self.root), *words],
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        STARTED.append(self)
        self._wait_until_it_answers()
        return self

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError):
                self.sql("SELECT 1")
                return
            assert self.process
            assert self.process.poll() is None, (self.root / "log").read_text()[-2000:]
            time.sleep(0.02)
        raise AssertionError((self.root / "log").read_text()[-2000:])

    def kill(self) -> None:
        """SIGKILL of the postmaster; its children follow it within a moment."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """A fast shutdown with a checkpoint."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(DEADLINE_S)
            self.process = None

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        """The rows of a statement."""
        with psycopg.connect(self.conninfo, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_for(self, question: str) -> None:
        """The question's only value is true by now."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.sql(question)[0][0]:
            assert time.monotonic() < deadline, question
            time.sleep(0.02)

    def backup(self, to: Path, *words: str) -> "Server":
        """A base backup of it, as a server that is not started."""
        _private(to)
        command = (str(binary("pg_basebackup")), "-h", str(self.root), "-p", "5432")
        subprocess.run(
            [*_prefix(to), *command, "-U", SUPERUSER, "-D", str(to / "cluster"), "-c", "fast",
             "--no-sync", *words],
            env=ENVIRONMENT, cwd="/", check=True, capture_output=True,
        )  # fmt: skip
        return Server(to)

    def standby(self, to: Path) -> "Server":
        """A standby that streams from it and has everything."""
        made = self.backup(to, "-R").start()
        self.wait_for(CAUGHT_UP)
        return made

    def cut_off(self) -> None:
        """The standby gets nothing more: what the primary commits from now on, it loses."""
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")
        self.sql("SELECT pg_reload_conf()")
        self.wait_for("SELECT count(*) = 0 FROM pg_stat_wal_receiver")

    def promote(self) -> None:
        """It is the primary, on a timeline of its own."""
        assert self.sql("SELECT pg_promote()") == [(True,)]


def either(one: Server, other: Server) -> str:
    """The address of whichever of the two is the primary, as people write it without a proxy."""
    return make_conninfo(
        one.conninfo, host=f"{one.root},{other.root}", target_session_attrs="read-write"
    )


def _private(root: Path) -> None:
    root.mkdir(mode=0o700)
    owner = root.parent.stat()
    os.chown(root, owner.st_uid, owner.st_gid)


def _prefix(root: Path) -> tuple[str, ...]:
    """PostgreSQL does not run as root."""
    return identity_for(Folder(root), binary("postgres")).prefix


@contextmanager
def migrated() -> Generator[Path]:
    """A stopped cluster with the schema, to be copied by each test: initdb is slow."""
    with tempfile.TemporaryDirectory(prefix="anchorhold-standby-", dir=databases.scratch()) as home:
        Path(home).chmod(0o755)
        root = Path(home) / "base"
        databases.migrate(postgres.start(root, durable=False).conninfo)
        postgres.stop(root)
        yield root


@contextmanager
def copy_of(base: Path) -> Generator[Server]:
    """A server on a copy of the cluster; nothing is left of it, and of those made from it."""
    home = Path(tempfile.mkdtemp(prefix="anchorhold-standby-", dir=databases.scratch()))
    home.chmod(0o755)
    server = Server(home / "primary")
    _private(server.root)
    shutil.copytree(base / "cluster", server.data, symlinks=True)
    _own(server.data, base / "cluster")
    try:
        yield server
    finally:
        while STARTED:
            STARTED.pop().kill()
        _end_all(home)
        shutil.rmtree(home, ignore_errors=True)


def _own(copy: Path, original: Path) -> None:
    """Files of another user stay his."""
    owner = original.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        for path in (copy, *copy.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _end_all(home: Path) -> None:
    """No process that works below the folder is left."""
    deadline = time.monotonic() + DEADLINE_S
    while pids := list(_living(home)):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert time.monotonic() < deadline, pids
        time.sleep(0.02)


def _living(home: Path) -> Generator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                works_in = str((entry / "cwd").readlink())
                if works_in.startswith(str(home)) and ") Z " not in stat:
                    yield int(entry.name)
