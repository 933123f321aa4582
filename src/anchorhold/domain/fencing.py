"""TABLE: what the answers to a fence mean (protocol section 6, S10; H14).

Two requests under the attempt's own key: a probe that can take no money, then, if the key was
used, the charge's stored parameters again, which Stripe answers with what it saved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import IntentView, Refused, Result, Shown


class Request(StrEnum):
    """Which of the two requests was answered."""

    PROBE = "probe"
    REPLAY = "replay"


class Fence(StrEnum):
    """What the sweep does next."""

    NEVER_RAN = "never_ran"
    """Cancel what the probe made; the attempt is `fenced`."""
    REPLAY = "replay"
    """Send the stored parameters again."""
    ITS_ANSWER = "its_answer"
    """Act on it as on the answer to the charge."""
    SAVED_ERROR = "saved_error"
    """Unknown: Stripe saved a server error, and may still carry the charge out."""
    OTHERS_KEY = "others_key"
    """Another attempt's request has the key: wait a day (S11)."""
    KEEP = "keep"
    """It says nothing about the charge: ask again after RECHECK."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `words` says which answers it is about."""

    id: str
    request: Request
    words: str
    fits: Callable[[Result[IntentView]], bool]
    act: Fence
    because: str


def _used(answer: Result[IntentView]) -> bool:
    of_type = isinstance(answer, Refused) and answer.type == "idempotency_error"
    return of_type and isinstance(answer, Refused) and answer.status == 400


def _saved_error(answer: Result[IntentView]) -> bool:
    return isinstance(answer, Refused) and answer.replayed and answer.status in SERVER_ERRORS


def _speaks(answer: Result[IntentView]) -> bool:
    if isinstance(answer, Refused):
        return answer.status == 402 or answer.replayed
    return isinstance(answer, Shown)


SERVER_ERRORS = frozenset({424, *range(500, 600)})

# fmt: off
FENCING = (
    Row("K1", Request.PROBE, "2xx", lambda answer: isinstance(answer, Shown), Fence.NEVER_RAN,
        "the key was free, so the charge never ran, and for a day it cannot"),
    Row("K2", Request.PROBE, "`idempotency_error`", _used, Fence.REPLAY,
        "the key was used with other parameters: the charge did run"),
    Row("K3", Request.PROBE, "anything else", lambda _: True, Fence.KEEP,
        "it may be running still, or the probe itself did not arrive"),
    Row("K4", Request.REPLAY, "`idempotency_error`", _used, Fence.OTHERS_KEY,
        "the key belongs to a request that nobody here remembers"),
    Row("K5", Request.REPLAY, "a replayed 5xx or 424", _saved_error, Fence.SAVED_ERROR,
        "a server error is indeterminate, now as then"),
    Row("K6", Request.REPLAY, "2xx, 402, or marked `Idempotent-Replayed`", _speaks,
        Fence.ITS_ANSWER, "it is the charge's own answer"),
    Row("K7", Request.REPLAY, "anything else", lambda _: True, Fence.KEEP,
        "an answer to this request alone says nothing about the first"),
)
# fmt: on


def read(request: Request, answer: Result[IntentView]) -> Row:
    """The row that decides this answer."""
    return next(row for row in FENCING if row.request is request and row.fits(answer))
