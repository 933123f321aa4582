"""TABLES: what we tell others, when it is tried again, what their answer means (Standard Webhooks).

A message is made from a row of the journal, so it exists if and only if the thing happened.
Source: https://github.com/standard-webhooks/standard-webhooks, version 1.0.0.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """One type of message, and the journal's words for it."""

    name: str
    told_by: frozenset[str]
    because: str


# fmt: off
TYPES: Final = (
    Type("invoice.opened", frozenset({"invoice.opened"}), "it will be collected"),
    Type("invoice.paid", frozenset({"payment.paid", "payment.overpaid", "invoice.paid_elsewhere"}),
         "nothing is due any more"),
    Type("invoice.payment_failed", frozenset({"attempt.failed", "following.ended"}),
         "the bank or Stripe said no; the invoice stays open"),
    Type("invoice.payment_processing", frozenset({"attempt.processing", "following.began"}),
         "the bank decides later"),
    Type("invoice.voided", frozenset({"invoice.void"}), "it is void"),
    Type("invoice.written_off", frozenset({"invoice.write_off"}), "it is given up"),
    Type("invoice.amended", frozenset({"invoice.amended"}), "another amount is due"),
    Type("payment.amount_mismatch", frozenset({"payment.short", "payment.overpaid"}),
         "not what was due arrived; a person decides"),
    Type("payment.duplicate_charge", frozenset({"payment.duplicate"}),
         "a second payment arrived; a person refunds one"),
    Type("payment.received_on_voided_invoice", frozenset({"payment.voided"}),
         "money arrived on a void invoice; a person decides"),
    Type("payment.refunded", frozenset({"refund.succeeded"}), "money was given back"),
    Type("payment.refund_failed",
         frozenset({"refund.failed", "refund.canceled", "refund.refused", "refund.not_made"}),
         "the customer has no money back"),
    Type("payment.disputed", frozenset({"dispute.open", "dispute.inquiry"}),
         "the customer's bank asks or wants it back; nothing is lost yet"),
    Type("payment.dispute_closed", frozenset({"dispute.won", "dispute.lost", "dispute.closed"}),
         "the bank decided; after a lost one, or a returned debit, the invoice is owed again"),
    Type("dunning.step", frozenset({"dunning.step"}), "a failed charge was tried again, or not"),
    Type("dunning.finished", frozenset({"dunning.finished"}), "it is tried no more"),
    Type("collection.blocked", frozenset({"collection.blocked"}),
         "Stripe refused the set-up; somebody has to mend it"),
)
"""Every type of message. One journal row may tell of two."""
# fmt: on

TOLD: Final = frozenset(what for row in TYPES for what in row.told_by)
"""The journal's words that others hear of."""


def types_of(what: str) -> tuple[str, ...]:
    """The types of message that a journal row of this word makes."""
    return tuple(row.name for row in TYPES if what in row.told_by)


MINUTE, HOUR = 60, 3600
WAITS_S: Final = (
    5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR,
)  # fmt: skip
"""After the n-th try that failed the next one comes so much later; after the last, none does."""

JITTER: Final = 0.1
"""A wait is longer by up to this part of itself, so that endpoints do not wake up together."""
RETRY_AFTER_MAX_S: Final = 24 * HOUR
"""An endpoint may put a try off for no longer than this."""
ANSWER_S: Final = 15
"""An endpoint that is slower than this has failed."""


class DeliveryState(StrEnum):
    """What became of a message on its way to one endpoint."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"
    """Its endpoint was switched off or removed."""


class Act(StrEnum):
    """What a try's outcome does to the delivery and to its endpoint."""

    DELIVERED = "delivered"
    AGAIN = "try again"
    SLOWER = "try again, no sooner than it asked"
    SWITCH_OFF = "switch the endpoint off"


class Outcome(StrEnum):
    """How a try ended that got no HTTP answer."""

    NO_ANSWER = "no_answer"
    NO_CONNECTION = "no_connection"
    PRIVATE_ADDRESS = "private_address"
    NO_SECRET = "secret_unreadable"  # noqa: S105 - an outcome, and no secret


@dataclass(frozen=True, slots=True)
class Sent:
    """How a try ended: the HTTP status or why there is none, and what the endpoint said."""

    said: int | Outcome
    detail: str
    took_ms: int
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of answers."""

    id: str
    act: Act
    because: str
    statuses: range | frozenset[int] = frozenset()
    outcomes: frozenset[Outcome] = frozenset()

    def fits(self, said: int | Outcome) -> bool:
        """The row speaks of this answer."""
        return said in self.outcomes if isinstance(said, Outcome) else said in self.statuses


# fmt: off
ANSWERS: Final = (
    Row("O1", Act.DELIVERED, "it has it", statuses=range(200, 300)),
    Row("O2", Act.AGAIN, "redirects are not followed: they could lead anywhere",
        statuses=range(300, 400)),
    Row("O3", Act.SWITCH_OFF, "it says that it is gone", statuses=frozenset({410})),
    Row("O4", Act.SLOWER, "it has too much to do", statuses=frozenset({429, 502, 503, 504})),
    Row("O5", Act.AGAIN, "it has not got it", statuses=range(100, 1000)),
    Row("O6", Act.AGAIN, "it may have got it; a repeat has the same id",
        outcomes=frozenset({Outcome.NO_ANSWER})),
    Row("O7", Act.AGAIN, "it could not be reached", outcomes=frozenset({Outcome.NO_CONNECTION})),
    Row("O8", Act.AGAIN, "its name leads to an address of our own network",
        outcomes=frozenset({Outcome.PRIVATE_ADDRESS})),
    Row("O9", Act.AGAIN, "nothing leaves unsigned: this process has another secret key",
        outcomes=frozenset({Outcome.NO_SECRET})),
)
"""What an endpoint's answer means."""
# fmt: on


def read(said: int | Outcome) -> Row:
    """The row for an HTTP status, or for a try without one."""
    return next(row for row in ANSWERS if row.fits(said))


def wait_s(row: Row, tries: int, *, chance: float, retry_after_s: float | None) -> float | None:
    """Seconds until the next try after `tries` of them, or None: there is none.

    `chance` is between 0 and 1. What the endpoint asks for is obeyed within `RETRY_AFTER_MAX_S`.
    """
    if row.act in {Act.DELIVERED, Act.SWITCH_OFF} or tries > len(WAITS_S):
        return None
    wait = WAITS_S[tries - 1] * (1 + JITTER * chance)
    if retry_after_s is None:
        return wait
    return max(wait, min(retry_after_s, RETRY_AFTER_MAX_S))
