"""Asks whether a server answers; only an answer counts.

Authentication is `trust`, which is safe because the only way in is a Unix socket in a folder of
mode 0700 that this user owns (each question looks at that first); TCP is off.
"""

import socket
import struct

import psycopg
from psycopg.conninfo import make_conninfo

from anchorhold.postgres.cluster import DATABASE, SUPERUSER
from anchorhold.postgres.errors import PostgresCode, PostgresError
from anchorhold.postgres.folder import PORT, Folder, sockets_private

CONNECT_TIMEOUT_S = 5
# The line of postmaster.pid, counted from 0, that says "starting", "ready" or "stopping".
STATUS_LINE = 7
STATE = """
    SELECT current_setting('fsync') = 'on',
           EXISTS (SELECT FROM pg_database WHERE datname = %s)
"""


def conninfo_of(folder: Folder, database: str = DATABASE) -> str:
    """How libpq reaches a database of the folder's server."""
    return make_conninfo(
        host=str(folder.sockets),
        port=PORT,
        user=SUPERUSER,
        dbname=database,
        connect_timeout=CONNECT_TIMEOUT_S,
    )


def answers(folder: Folder, *, durable: bool) -> bool:
    """Whether the server answers; its database `anchorhold` is there then.

    Raises PostgresError (NOT_DURABLE) when it should be durable and is not.
    """
    if not sockets_private(folder) or not says_ready(folder):
        return False
    try:
        with psycopg.connect(conninfo_of(folder, "postgres"), autocommit=True) as connection:
            has_fsync, has_database = connection.execute(STATE, [DATABASE]).fetchall()[0]
            if durable and not has_fsync:
                raise not_durable(folder)
            if not has_database:
                create_database(connection)
    except psycopg.OperationalError:
        return False
    return True


def says_ready(folder: Folder) -> bool:
    """Whether it is worth asking: each question to a starting server costs a line in its log."""
    try:
        lines = (folder.cluster / "postmaster.pid").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return [line.strip() for line in lines[STATUS_LINE:]] == ["ready"]


def create_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """The database is there, whoever was faster."""
    try:
        connection.execute(f"CREATE DATABASE {DATABASE}")
    except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
        return


def not_durable(folder: Folder) -> PostgresError:
    """The refusal for a server that could lose what it has confirmed."""
    return PostgresError(
        PostgresCode.NOT_DURABLE,
        f"The server in {folder.root} was started without fsync, for tests.",
        "End the programs that use it, or use another ANCHORHOLD_DATA_DIR.",
    )


def listener(folder: Folder) -> int | None:
    """The process that listens on the socket, as the kernel names it; None if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(folder.socket))
        except OSError:
            return None
        credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid
