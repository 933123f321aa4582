"""Real processes for the tests: users of a server in processes of their own, and who is left."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psycopg

from anchorhold import postgres

USER = """
import sys
from pathlib import Path
from anchorhold import postgres
try:
    print(postgres.start(Path(sys.argv[1]), durable=sys.argv[2] == "durable").conninfo, flush=True)
except postgres.PostgresError as refusal:
    print(refusal.code, flush=True)
sys.stdin.read()
"""
DEADLINE_S = 30.0


class User:
    """A process that starts or joins a folder's server, uses it and waits."""

    def __init__(
        self,
        folder: Path,
        *,
        prefix: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        durable: bool = False,
    ) -> None:
        words = [sys.executable, "-c", USER, str(folder), "durable" if durable else "forgetful"]
        self.process = subprocess.Popen(
            [*prefix, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
            cwd="/",
        )

    def answer(self) -> str:
        """The server's conninfo, or the code of the refusal, when the process has it."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        """The process is dead by SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def query(conninfo: str, statement: str) -> list[tuple[object, ...]]:
    """The rows that the statement gives."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def value(conninfo: str, statement: str) -> object:
    """The only value that the statement gives."""
    ((only,),) = query(conninfo, statement)
    return only


def postmaster(folder: Path) -> int:
    """The process that listens for the folder's server."""
    pid = postgres.status(folder).pid
    assert pid
    return pid


def keeper(folder: Path) -> int:
    """The postmaster's parent."""
    stat = Path(f"/proc/{postmaster(folder)}/stat").read_text(encoding="ascii")
    return int(stat.rpartition(")")[2].split()[1])


def kill(pid: int) -> None:
    """SIGKILL is on its way to that process, if it still lives."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def has_users(folder: Path) -> bool:
    """Whether a living process holds the folder's users' lock."""
    descriptor = os.open(folder / "users.lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def wait_until_gone(folder: Path) -> None:
    """Every process of the server has let go of its lock."""
    descriptor = os.open(folder / "server.lock", os.O_RDWR)
    deadline = time.monotonic() + DEADLINE_S
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            assert time.monotonic() < deadline, f"left: {processes_of(folder)}"
            time.sleep(0.01)
    finally:
        os.close(descriptor)


def processes_of(folder: Path) -> dict[int, str]:
    """Each living process that works in the folder or names it, with its command line."""
    return {
        pid: words
        for pid, words, works_in in living()
        if pid != os.getpid() and (str(folder) in words or str(folder) in works_in)
    }


def living() -> Iterator[tuple[int, str, str]]:
    """Each living process: its number, its command line and the folder it works in."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                yield int(entry.name), words, str((entry / "cwd").readlink())
