"""Where new ids and secrets come from: the only place that reads clock and random for them."""

import secrets
import time
from datetime import UTC, datetime

from anchorhold.domain.ids import ENTROPY_BYTES, IdKind, IdT, make


def new_id(kind: IdKind[IdT]) -> IdT:
    """An id that nobody has yet. It sorts by this process's clock, which decides nothing else."""
    return make(kind, time.time_ns() // 1_000_000, secrets.token_bytes(ENTROPY_BYTES))


def wall_clock() -> datetime:
    """This machine's idea of the time, for comparing it with the database's; it decides nothing."""
    return datetime.now(UTC)


def random_bytes(count: int) -> bytes:
    """Bytes that nobody can guess."""
    return secrets.token_bytes(count)
