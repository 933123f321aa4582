"""The embedded PostgreSQL: a real server in a data folder, shared by all processes that use it."""

from anchorhold.postgres.binaries import binary
from anchorhold.postgres.errors import PostgresCode, PostgresError
from anchorhold.postgres.server import (
    Server,
    Status,
    holds_database,
    release,
    start,
    status,
    stop,
)

__all__ = [
    "PostgresCode",
    "PostgresError",
    "Server",
    "Status",
    "binary",
    "holds_database",
    "release",
    "start",
    "status",
    "stop",
]
