"""TABLE: what an answer to a request that moves no money means (protocol section 2, Prepare)."""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.answer import Refused, Result, Shown


class Step(StrEnum):
    """What follows."""

    DONE = "done"
    LATER = "later"
    """The same request again, with the same key and parameters."""
    NEXT_NUMBER = "next_number"
    """The key is spent: an object made under it is inert, the next number is taken at once."""
    ACCOUNT = "account"
    """The key is not accepted: the account is flagged."""
    REFUSED = "refused"
    """A definite refusal: collecting is blocked with a notice."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line; an empty condition fits every refusal."""

    id: str
    step: Step
    because: str
    http: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()


# fmt: off
PREPARE = (
    Row("P1", Step.NEXT_NUMBER, "the key was used with other parameters",
        http=frozenset({400}), types=frozenset({"idempotency_error"})),
    Row("P2", Step.ACCOUNT, "nothing was executed: the key is not accepted",
        http=frozenset({401, 403})),
    Row("P3", Step.LATER, "another request is at work, or a limiter spoke",
        http=frozenset({409, 429})),
    Row("P4", Step.REFUSED, "refused for what it says: somebody has to change it",
        http=frozenset({400, 402, 404})),
    Row("P5", Step.NEXT_NUMBER, "a server error is saved under its key"),
)
# fmt: on


def read(answer: Result[object]) -> Step:
    """What follows from this answer. Nothing sent and unclear are repeated: no money moves."""
    if isinstance(answer, Shown):
        return Step.DONE
    if not isinstance(answer, Refused):
        return Step.LATER
    return next(
        row.step
        for row in PREPARE
        if (not row.http or answer.status in row.http)
        and (not row.types or answer.type in row.types)
    )
