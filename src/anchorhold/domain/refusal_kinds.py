"""What kinds of refusal there are, and how each looks from outside.

The table of refusals itself is `domain/refusals.py`.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, unique
from string import Formatter


class Exit(IntEnum):
    """What the command line exits with."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    NOT_FOUND = 4
    UNAVAILABLE = 5
    FINDINGS = 6
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Surface:
    """How a kind of refusal looks from outside: error type and HTTP status, and CLI exit code."""

    error_type: str
    status: int
    exit: Exit


@unique
class Kind(Enum):
    """The kinds of refusal."""

    # fmt: off
    #                          error type                HTTP  CLI
    INPUT =           Surface("invalid_request_error",   400,  Exit.USAGE)
    STATE =           Surface("conflict_error",          409,  Exit.REFUSED)
    MISSING =         Surface("not_found_error",         404,  Exit.NOT_FOUND)
    UNKNOWN_CALLER =  Surface("authentication_error",    401,  Exit.USAGE)
    DECLINED =        Surface("card_error",              402,  Exit.REFUSED)
    FORBIDDEN =       Surface("permission_error",        403,  Exit.REFUSED)
    WRONG_METHOD =    Surface("invalid_request_error",   405,  Exit.USAGE)
    UNDER_WAY =       Surface("idempotency_error",       409,  Exit.UNAVAILABLE)
    REUSED =          Surface("idempotency_error",       422,  Exit.USAGE)
    TOO_MANY =        Surface("rate_limit_error",        429,  Exit.UNAVAILABLE)
    SLOW =            Surface("api_error",               504,  Exit.UNAVAILABLE)
    PROVIDER_SILENT = Surface("provider_error",          503,  Exit.UNAVAILABLE)
    PROVIDER_NO =     Surface("provider_error",          503,  Exit.REFUSED)
    DATABASE =        Surface("api_error",               503,  Exit.UNAVAILABLE)
    SETUP =           Surface("api_error",               500,  Exit.USAGE)
    BUG =             Surface("api_error",               500,  Exit.FAILED)
    # fmt: on


@dataclass(frozen=True, slots=True)
class Row:
    """One refusal. `sentence` and `next_step` are templates over the facts of the case."""

    kind: Kind
    sentence: str
    next_step: str


NOTHING_SENT = "Nothing was sent that could move money"
"""The `sent` fact of a provider refusal when that is certain."""


class Coded(Enum):
    """A table of refusals: each member is a `Row`, its name in lower case the code."""

    _value_: Row

    @property
    def code(self) -> str:
        """What callers match on, for example `payment_in_flight`."""
        return self.name.lower()

    @property
    def surface(self) -> Surface:
        """Error type, HTTP status and exit code."""
        return self.value.kind.value

    @property
    def anchor(self) -> str:
        """Where the documentation speaks of it, below the site's address."""
        return f"refusals#{self.code}"

    @property
    def facts(self) -> frozenset[str]:
        """The names that its templates need."""
        parsed = Formatter().parse(self.value.sentence + self.value.next_step)
        return frozenset(name for _, name, _, _ in parsed if name)
