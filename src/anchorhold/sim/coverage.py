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
    "D1": "as A3",
    "S4": "no answer of the twin's names an intent and is unclear",
    "W3": "whoever closes an invoice cancels its intent first, or leaves its hold to the sweep",
    "W6": "as W3",
    "C2": "a world has one Stripe account",
    "C6": "a cancel that is answered has cancelled",
    "C7": "a refusal for the intent's state shows the intent",
    "C9": "nothing else refuses a cancel",
    "M6": "a refund's key is used for one request only",
    "breaker_open": "the breaker has tests of its own; worlds charge with it closed",
    "intent_not_shown": "as A11",
    "customer_is_paying": "as A3",
    "unreadable_answer": "what breaks off in the twin is a lost connection",
}
"""What no world can come by, with the reason; each has a test of its own."""


def hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> dict[str, int]:
    """In how many worlds each decided something; only those that ever did."""
    return {row: counted[row] for row in every if counted.get(row)}


def never_hit(counted: Mapping[str, int], every: tuple[str, ...] = ROWS) -> list[str]:
    """Those that decided nothing in any world."""
    return [row for row in every if not counted.get(row)]
