"""A PgBouncer in transaction mode before the test's server, as most people have one."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anchorhold.postgres.folder import open_folder
from anchorhold.postgres.identity import identity_for
from tests import database as databases

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
PORT = 6432
INI = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr =
listen_port = {listen}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
server_tls_sslmode = disable
"""
UP = "process up"


@contextmanager
def pooler(conninfo: str, *, sessions: int) -> Generator[str]:
    """The conninfo of the same database through the pooler, which ends with the test.

    All clients share so many sessions, and each of them meets what another one left there.
    """
    assert PROGRAM, "pgbouncer is not installed: apt-get install -y pgbouncer"
    folder = Path(tempfile.mkdtemp(prefix="pooler-", dir=databases.scratch()))
    try:
        process = _start(folder, conninfo, sessions)
        try:
            yield make_conninfo(conninfo, host=str(folder), port=PORT)
        finally:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
    finally:
        shutil.rmtree(folder)


def _start(folder: Path, conninfo: str, sessions: int) -> "subprocess.Popen[str]":
    server = conninfo_to_dict(conninfo)
    ini = folder / "pgbouncer.ini"
    ini.write_text(
        INI.format(
            host=server["host"],
            port=server.get("port", 5432),
            user=server.get("user", "postgres"),
            listen=PORT,
            folder=folder,
            sessions=sessions,
        )
    )
    process = subprocess.Popen(
        [*_prefix(), str(PROGRAM), str(ini)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if UP in line:
            return process
    raise AssertionError("".join(lines))


def _prefix() -> tuple[str, ...]:
    """PgBouncer does not run as root; it runs as the user who can reach the server's socket."""
    if os.geteuid() != 0:
        return ()
    return identity_for(open_folder(databases.run_folder()), Path(str(PROGRAM))).prefix


def prepared(conninfo: str) -> list[str]:
    """The statements that the pooler's sessions have prepared, as far as one connection sees."""
    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as conn:
        return [str(name) for (name,) in conn.execute("SELECT name FROM pg_prepared_statements")]
