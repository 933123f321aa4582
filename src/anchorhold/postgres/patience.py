"""How long to wait for a server: as long as it moves on."""

import time

from anchorhold.postgres.errors import PostgresCode, PostgresError
from anchorhold.postgres.folder import Folder

POLL_S = 0.01


class Patience:
    """Ends a wait in which the server's log did not grow for `patience_s` seconds.

    A crash recovery of any length writes a line a second (`log_startup_progress_interval`).
    """

    def __init__(self, folder: Folder, patience_s: float) -> None:
        self.folder = folder
        self.patience_s = patience_s
        self.began_at_bytes = log_bytes(folder)
        self._bytes_seen = self.began_at_bytes
        self._moved_at = time.monotonic()

    def wait(self) -> None:
        """A moment has passed; raises PostgresError (STALLED) when nothing moved for too long."""
        size, now = log_bytes(self.folder), time.monotonic()
        if size != self._bytes_seen:
            self._bytes_seen = size
            self._moved_at = now
        if now - self._moved_at > self.patience_s:
            raise stalled(self.folder, self.patience_s)
        time.sleep(POLL_S)


def log_bytes(folder: Folder) -> int:
    """How long the log is."""
    return folder.log.stat().st_size if folder.log.exists() else 0


def stalled(folder: Folder, patience_s: float) -> PostgresError:
    """The refusal after a wait in vain."""
    return PostgresError(
        PostgresCode.STALLED,
        f"PostgreSQL in {folder.root} made no progress for {patience_s:g} s.",
        f"Read {folder.log}; end the processes that work in {folder.cluster} and start again.",
    )
