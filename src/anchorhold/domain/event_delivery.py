"""TABLE: what a webhook delivery is, and how it is answered (protocol section 9).

Every delivery is kept with its verdict. Only one that a secret of ours signed, now, for this mode,
is news; nothing in any other body is trusted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Signature(StrEnum):
    """What the signature of a delivery says."""

    VALID = "valid"
    FORGED = "forged"
    """No secret of ours made it."""
    MISSING = "missing"
    UNREADABLE = "unreadable"
    """The header, or the body as text, cannot be read."""
    CLOSED = "closed"
    """The account has no signing secret: its endpoint is closed (D5)."""


class Verdict(StrEnum):
    """What a delivery is taken for."""

    GOOD = "good"
    REPEAT = "repeat"
    STALE = "stale"
    FUTURE = "future"
    FORGED = "forged"
    UNSIGNED = "unsigned"
    MALFORMED = "malformed"
    WRONG_MODE = "wrong_mode"
    WRONG_ACCOUNT = "wrong_account"
    UNKNOWN_ACCOUNT = "unknown_account"
    CLOSED = "closed"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the HTTP status, and whether an event is taken in."""

    id: str
    verdict: Verdict
    status: int
    takes: bool
    because: str


# fmt: off
DELIVERY = (
    Row("V1", Verdict.GOOD, 200, takes=True, because="one of our secrets signed it, just now"),
    Row("V2", Verdict.REPEAT, 200, takes=False, because="the event is in already: nothing to do"),
    Row("V3", Verdict.STALE, 400, takes=False,
        because="an old body may be played back; a resend by Stripe has a new time"),
    Row("V4", Verdict.FUTURE, 400, takes=False, because="a clock is wrong: Stripe sends it again"),
    Row("V5", Verdict.FORGED, 400, takes=False, because="no secret of ours made the signature"),
    Row("V6", Verdict.UNSIGNED, 400, takes=False, because="anybody can write a body"),
    Row("V7", Verdict.MALFORMED, 400, takes=False, because="it is not an event"),
    Row("V8", Verdict.WRONG_MODE, 400, takes=False,
        because="test and live never mix, whoever signed it"),
    Row("V9", Verdict.WRONG_ACCOUNT, 400, takes=False,
        because="it speaks of another Stripe account than the connected one"),
    Row("V10", Verdict.UNKNOWN_ACCOUNT, 404, takes=False, because="there is no such account here"),
    Row("V11", Verdict.CLOSED, 403, takes=False,
        because="without a signing secret every body would be believed"),
    Row("V12", Verdict.TOO_LARGE, 413, takes=False, because="no event of Stripe's is so large"),
)
"""How each delivery is answered."""
# fmt: on

BY_VERDICT = {row.verdict: row for row in DELIVERY}

_BY_SIGNATURE = {
    Signature.FORGED: Verdict.FORGED,
    Signature.MISSING: Verdict.UNSIGNED,
    Signature.UNREADABLE: Verdict.MALFORMED,
    Signature.CLOSED: Verdict.CLOSED,
}


@dataclass(frozen=True, slots=True)
class Signed:
    """What was read of a signature; `age_s` is our clock less its time, whole seconds."""

    signature: Signature
    secret: int | None = None
    """Which of the secrets made it, by its place in the list."""
    age_s: int | None = None


@dataclass(frozen=True, slots=True)
class Envelope:
    """Which account and mode an event says it is of; None where it says nothing readable."""

    livemode: bool | None
    stripe_account: str | None
    """Only events of connected accounts name one."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Whose events the secret that signed is for."""

    livemode: bool
    stripe_account: str


def judge(
    signed: Signed, envelope: Envelope | None, expected: Sequence[Expected], tolerance_s: int
) -> Verdict:
    """What the delivery is, but for a repeat, which only the database can tell.

    `envelope` None: a body that is no event. `expected` has an entry for each secret. The age is
    judged on both sides and before anything in the body.
    """
    if signed.signature is not Signature.VALID or signed.secret is None or signed.age_s is None:
        return _BY_SIGNATURE.get(signed.signature, Verdict.FORGED)
    if signed.age_s > tolerance_s:
        return Verdict.STALE
    if signed.age_s < -tolerance_s:
        return Verdict.FUTURE
    if envelope is None or envelope.livemode is None:
        return Verdict.MALFORMED
    return _whose(envelope, expected[signed.secret])


def _whose(envelope: Envelope, expected: Expected) -> Verdict:
    if envelope.livemode is not expected.livemode:
        return Verdict.WRONG_MODE
    if envelope.stripe_account not in {None, expected.stripe_account}:
        return Verdict.WRONG_ACCOUNT
    return Verdict.GOOD
