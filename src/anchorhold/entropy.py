"""Where new ids and secrets come from: the only place that reads clock and random for them."""

import secrets
import time

from anchorhold.domain.ids import ENTROPY_BYTES, IdKind, IdT, make


def new_id(kind: IdKind[IdT]) -> IdT:
    """An id that nobody has yet. It sorts by this process's clock, which decides nothing else."""
    return make(kind, time.time_ns() // 1_000_000, secrets.token_bytes(ENTROPY_BYTES))


def random_bytes(count: int) -> bytes:
    """Bytes that nobody can guess."""
    return secrets.token_bytes(count)
