"""Which rows of the tables and which causes the worlds have come by, and which never."""

from collections.abc import Mapping
from typing import Final

from anchorhold.domain import (
    closing,
    disputes,
    fencing,
    following,
    news,
    outcome,
    preparing,
    refund,
    sweep,
    watching,
)
from anchorhold.domain.attempt import Cause

TABLES: Final = (
    outcome.OUTCOME,
    outcome.DIRECT,
    preparing.PREPARE,
    sweep.SWEEP,
    fencing.FENCING,
    following.FOLLOW,
    watching.WATCH,
    closing.CLOSING,
    closing.FINAL_ACTIONS,
    news.NEWS,
    refund.REFUND,
    disputes.DISPUTES,
)
"""The tables that decide in worlds. Others (deliveries, recovering, what an act meets) have tests
of their own."""

ROWS: Final = tuple(dict.fromkeys(row.id for table in TABLES for row in table))
CAUSES: Final = tuple(cause.value for cause in Cause)

OUT_OF_REACH: Final[Mapping[str, str]] = {
    "A3": "a confirm without the customer is declined instead (A6)",
    "A5": "Stripe answers a confirm so only where it asks for it; the twin never does",
    "A9": "a key is used for one request only while the database remembers its attempts",
    "A11": "an intent never vanishes",
    "P1": "a key is used for one request only while the database remembers it",
    "K4": "as A9",
    "K7": "nothing else answers a repetition while nothing is pruned and nobody revokes the key",
    "breaker_open": "the breaker has tests of its own; worlds charge with it closed",
    "key_reused": "as A9",
    "intent_not_shown": "as A11",
    "unreadable_answer": "what breaks off in the twin is a lost connection",
}
"""What no world can come by, with the reason; each has a test of its own."""


def hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> dict[str, int]:
    """In how many worlds each decided something; only those that ever did."""
    return {row: counted[row] for row in every if counted.get(row)}


def never_hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> list[str]:
    """Those that decided nothing in any world."""
    return [row for row in every if not counted.get(row)]
