"""How a database is set up: what `doctor` looks at. Asked on a connection of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import psycopg

_VITALS: LiteralString = """
    SELECT current_setting('server_version_num')::int, current_setting('fsync'),
           current_setting('synchronous_commit'), current_setting('full_page_writes'),
           pg_is_in_recovery(), clock_timestamp(),
           (SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async'),
           (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL),
           current_setting('synchronous_standby_names')
"""


@dataclass(frozen=True, slots=True)
class Vitals:
    """One database server. `async_standbys` may lack the last commits when they take over."""

    version: int
    fsync: str
    synchronous_commit: str
    full_page_writes: str
    in_recovery: bool
    now: datetime
    async_standbys: int
    unknown_standbys: int
    """Standbys about which this user is told nothing."""
    synchronous_standby_names: str


def vitals(conninfo: str) -> Vitals:
    """How this database is set up. Raises psycopg.OperationalError when it does not answer."""
    with psycopg.connect(conninfo, connect_timeout=5, autocommit=True) as connection:
        row = connection.execute(_VITALS).fetchone()
    if row is None:
        raise RuntimeError("a SELECT without FROM returned no row")
    return Vitals(*row)
