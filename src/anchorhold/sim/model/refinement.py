"""Trace refinement: whatever a statement does to the rows of a world is a move of the model.

Each move says what has to be so before, and everything that may be different after; all else has
to be the same. A change that no move explains is a violation, whether or not it does harm.
"""

from collections.abc import Callable
from typing import Final

from anchorhold.domain.attempt import CHARGES, CLAIMS_FROM, AttemptKind
from anchorhold.sim.model import rows as r
from anchorhold.sim.model.rows import Attempt, Rows

FITS: Final = {
    kind.value: tuple(status.value for status in found) for kind, found in CLAIMS_FROM.items()
}
CHARGING: Final = frozenset(kind.value for kind in CHARGES)
CLOSING: Final = frozenset(kind.value for kind in AttemptKind) - CHARGING

ENDS: Final = {
    r.CLAIMED: {r.NOT_SENT, r.SUPERSEDED},
    r.SENDING: {
        r.NOT_SENT,
        r.SUPERSEDED,
        r.DECLINED,
        r.FOLLOWED,
        r.FENCED,
        r.PRESUMED,
    },
    r.ASKED: {r.SUPERSEDED, r.DECLINED, r.FOLLOWED, r.FENCED, r.PRESUMED},
}
"""How an attempt may end without money, by how far it had come. Nobody who asked may say later
that nothing was sent."""


def same_but(before: Rows, after: Rows, *fields: str) -> bool:
    """Every field but these is the same."""
    return all(
        old == new or name in fields
        for name, old, new in zip(Rows._fields, before, after, strict=True)
    )


def changed_attempts(before: Rows, after: Rows) -> list[int]:
    """The attempts that have another state now; each other column of a row stays."""
    return [
        a
        for a, (old, new) in enumerate(zip(before.attempts, after.attempts, strict=False))
        if old.state != new.state
    ]


def claims(before: Rows, after: Rows) -> bool:
    """A free hold is taken, with its attempt in the same commit (section 3, step 1)."""
    if before.hold != r.FREE or after.hold == r.FREE or len(after.attempts) <= after.holder:
        return False
    new = after.attempts[after.holder]
    fits = before.status == r.OPEN and before.payment in FITS[new.kind] and not before.followed
    as_found = (new.state, new.seq, new.found) == (r.CLAIMED, before.seq, before.payment)
    others = (*after.attempts[: after.holder], *after.attempts[after.holder + 1 :])
    grown = others == before.attempts
    return fits and as_found and grown and same_but(before, after, "hold", "holder", "attempts")


def marks(before: Rows, after: Rows) -> bool:
    """The re-check under a live hold (section 3, step 3)."""
    if before.hold != r.LIVE or changed_attempts(before, after) != [before.holder]:
        return False
    own = before.own
    fits = own.kind in CHARGING and own.seq == before.seq and before.status == r.OPEN
    return (
        fits
        and (own.state, after.own.state) == (r.CLAIMED, r.SENDING)
        and before.payment in r.IDLE
        and same_but(before, after, "attempts")
    )


def ends_own(before: Rows, after: Rows) -> bool:
    """The hold ends with its own attempt, or after it had ended (section 3, step 5; S3 to S12)."""
    if before.hold == r.FREE or after.hold != r.FREE:
        return False
    old, new = before.own, after.attempts[before.holder]
    ends = old.state in r.UNENDED
    if changed_attempts(before, after) != ([before.holder] if ends else []):
        return False
    if ends and (new.state not in ENDS[old.state] or not _is_for(old, new.state)):
        return False
    moves = ends and new.state != r.NOT_SENT
    return (
        after.seq == before.seq + moves
        and _payment_after(before, after, new)
        and _intent_after(before, after, old)
        and same_but(
            before, after, "hold", "holder", "seq", "payment", "followed", "intent", "attempts"
        )
    )


def _is_for(attempt: Attempt, state: str) -> bool:
    """A close, an amend and a final action never send a charge."""
    return attempt.kind in CHARGING or state == r.NOT_SENT


def _payment_after(before: Rows, after: Rows, ended: Attempt) -> bool:
    """A cleared unknown goes back to what its claim found (F3), unless something is known now."""
    if before.status == r.PAID:
        return after.payment == before.payment
    if after.payment == r.PROCESSING:
        return after.followed > 0
    followed_still = after.payment == before.payment and after.followed == before.followed
    back = ended.found if before.payment in (r.UNKNOWN, r.PROCESSING) else before.payment
    return followed_still if after.followed else after.payment in (back, r.FAILED)


def _intent_after(before: Rows, after: Rows, own: Attempt) -> bool:
    return after.intent == before.intent or (after.intent == 0 and own.intent == before.intent)


def asks(before: Rows, after: Rows) -> bool:
    """An unclear answer is saved, and the hold stays (section 4)."""
    if before.hold == r.FREE or before.status != r.OPEN:
        return False
    if before.own.state not in (r.SENDING, r.ASKED) or after.own.state != r.ASKED:
        return False
    others = [a for a in changed_attempts(before, after) if a != before.holder]
    named = after.followed in (before.followed, after.own.intent)
    return (
        not others
        and after.payment == r.UNKNOWN
        and named
        and same_but(before, after, "payment", "attempts", "followed")
    )


SETTLED: Final = (
    "attempts",
    "seq",
    "hold",
    "holder",
    "intent",
    "status",
    "payment",
    "followed",
    "recorded",
)


def settles(before: Rows, after: Rows) -> bool:
    """A success is recorded, or known news proves attempts on its intent (section 8)."""
    new = after.recorded - before.recorded
    if len(new) > 1 or before.recorded - after.recorded or not after.recorded:
        return False
    proven = changed_attempts(before, after)
    if not all(_proves(before, after, a, new or after.recorded) for a in proven):
        return False
    left = [one for one in after.attempts if one.intent in new and _has_news(one)]
    ended = any(before.attempts[a].state in r.UNENDED for a in proven)
    moved = after.seq - before.seq
    return (
        not left
        and sum(after.attempts[a].state == r.WON for a in proven) <= 1
        and (moved == 1 or (moved == 0 and not ended))
        and _hold_after(before, after)
        and after.intent in (before.intent, 0)
        and _paid_after(before, after)
        and same_but(before, after, *SETTLED)
    )


def _has_news(attempt: Attempt) -> bool:
    """A payment ends it; one that sends no charge is ended by its owner, or by the sweep."""
    return attempt.kind in CHARGING and attempt.state in r.UNENDED


def _proves(before: Rows, after: Rows, a: int, intents: frozenset[int]) -> bool:
    old, new = before.attempts[a], after.attempts[a]
    open_end = r.UNENDED | {r.FOLLOWED, r.SUPERSEDED, r.PRESUMED, r.DECLINED}
    return old.state in open_end and new.state in (r.WON, r.SUPERSEDED) and new.intent in intents


def _hold_after(before: Rows, after: Rows) -> bool:
    """The hold stays, or ends with its own attempt proven."""
    if after.hold != r.FREE:
        return (after.hold, after.holder) == (before.hold, before.holder)
    return before.hold == r.FREE or after.attempts[before.holder].state not in r.UNENDED


def _paid_after(before: Rows, after: Rows) -> bool:
    if (after.status, after.payment) == (r.PAID, r.SUCCEEDED):
        return before.status in (r.OPEN, r.UNCOLLECTIBLE, r.PAID)
    known = after.payment in (before.payment, r.FAILED)
    return after.status == before.status and known


def follows(before: Rows, after: Rows) -> bool:
    """A free open invoice follows its processing intent (W2), or one found later (audit)."""
    named = after.followed > 0 and after.payment == r.PROCESSING
    begun = before.payment in r.IDLE and after.seq == before.seq + 1
    found = all(after.attempts[a].state == r.FOLLOWED for a in changed_attempts(before, after))
    free = before.hold == r.FREE and before.status == r.OPEN
    changed = ("payment", "followed", "seq", "attempts")
    return free and named and begun and found and same_but(before, after, *changed)


def stops_following(before: Rows, after: Rows) -> bool:
    """The following ends as a decline of the followed attempt (section 7, F5)."""
    declined = changed_attempts(before, after)
    as_followed = all(
        before.attempts[a].state == r.FOLLOWED and after.attempts[a].state == r.DECLINED
        for a in declined
    )
    ended = before.followed > 0 and after.followed == 0 and after.payment == r.FAILED
    gone = after.intent == before.intent or (after.intent, before.intent) == (0, before.followed)
    free = before.hold == r.FREE and before.status in (r.OPEN, r.UNCOLLECTIBLE)
    moved = after.seq == before.seq + 1
    changed = ("payment", "followed", "seq", "intent", "attempts")
    return free and ended and as_followed and gone and moved and same_but(before, after, *changed)


def proves_late(before: Rows, after: Rows) -> bool:
    """Late news of a decline touches neither invoice nor hold (F6).

    The counter moves with an attempt that it ends: one whose invoice was written off meanwhile.
    """
    proven = changed_attempts(before, after)
    if before.hold != r.FREE and proven == [before.holder] and _may_run(before):
        off = before.status == r.UNCOLLECTIBLE and after.own.state == r.DECLINED
        moved = after.seq == before.seq + 1
        return off and moved and same_but(before, after, "attempts", "seq")
    late = all(
        before.attempts[a].state in (r.SUPERSEDED, r.NOT_SENT, r.PRESUMED)
        and after.attempts[a].state == r.DECLINED
        for a in proven
    )
    return bool(proven) and late and same_but(before, after, "attempts")


def names(before: Rows, after: Rows) -> bool:
    """An intent's id is stored where none is live (F1), or a cancelled one ends."""
    stored = before.status == r.OPEN and before.intent == 0 and after.intent > 0
    ended = before.intent > 0 and after.intent == 0 and before.hold == r.FREE
    return (stored or ended) and same_but(before, after, "intent")


def refuses(before: Rows, after: Rows) -> bool:
    """Stripe refused the set-up before any charge: nothing is charged until somebody acts."""
    free = before.hold == r.FREE and before.status == r.OPEN
    refused = before.payment in r.IDLE and after.payment == r.FAILED
    return free and refused and same_but(before, after, "payment")


def closes(before: Rows, after: Rows) -> bool:
    """The owner of a close writes it and releases (section 5); or follows what was under way."""
    if before.hold == r.FREE or after.hold != r.FREE or before.own.kind not in CLOSING:
        return False
    ended = after.attempts[before.holder].state == r.NOT_SENT
    paid = (after.status == r.PAID) == (after.payment == r.SUCCEEDED)
    followed = after.seq - before.seq == (after.followed != before.followed)
    changed = (
        "hold",
        "holder",
        "attempts",
        "status",
        "payment",
        "intent",
        "followed",
        "seq",
    )
    return (
        ended
        and changed_attempts(before, after) == [before.holder]
        and before.status == r.OPEN
        and paid
        and followed
        and after.intent in (0, before.intent)
        and same_but(before, after, *changed)
    )


def writes_off(before: Rows, after: Rows) -> bool:
    """A stale hold or a park is left, or what is followed stays followed (section 5)."""
    parked = before.hold != r.FREE and before.payment == r.UNKNOWN and not before.intent
    under_way = before.hold >= r.ENDED or before.followed > 0 or parked
    off = before.status == r.OPEN and after.status == r.UNCOLLECTIBLE
    return under_way and off and same_but(before, after, "status")


def takes_over(before: Rows, after: Rows) -> bool:
    """S10: the sweep makes a stale hold its own before it fences."""
    again = before.hold >= r.ENDED and after.hold == r.LIVE
    return again and _may_run(before) and same_but(before, after, "hold")


def _may_run(rows: Rows) -> bool:
    return rows.own.kind in CHARGING and rows.own.state in (r.SENDING, r.ASKED)


def gives_back(before: Rows, after: Rows) -> bool:
    """S10: the sweep that took a hold over proved nothing, and leaves it to the next check."""
    back = before.hold == r.LIVE and after.hold >= r.ENDED
    return back and _may_run(before) and same_but(before, after, "hold")


def reopens(before: Rows, after: Rows) -> bool:
    """A lost dispute or a returned debit (section 8)."""
    lost = before.status == r.PAID and (after.status, after.payment) == (r.OPEN, r.FAILED)
    return lost and same_but(before, after, "status", "payment", "seq")


Move = Callable[[Rows, Rows], bool]

MOVES: Final[dict[str, Move]] = {
    "claim": claims,
    "mark": marks,
    "end": ends_own,
    "ask": asks,
    "settle": settles,
    "follow": follows,
    "stop following": stops_following,
    "late proof": proves_late,
    "name": names,
    "refuse": refuses,
    "close": closes,
    "write off": writes_off,
    "take over": takes_over,
    "give back": gives_back,
    "reopen": reopens,
}
"""Everything that one statement may do to the rows of an invoice."""


def explained(before: Rows, after: Rows) -> str | None:
    """The move that leads from one to the other; "" for none at all, None for no move."""
    if len(after.attempts) - len(before.attempts) not in (0, 1):
        return None
    before = _learned(before, after)
    if any(
        old._replace(state=new.state) != new
        for old, new in zip(before.attempts, _old_ones(before, after), strict=True)
    ):
        return None
    if before == after:
        return ""
    return next((name for name, fits in MOVES.items() if fits(before, after)), None)


def _old_ones(before: Rows, after: Rows) -> tuple[Attempt, ...]:
    """The attempts that were there before: a claim adds its own wherever its id sorts."""
    if len(after.attempts) == len(before.attempts) or after.holder == r.NOBODY:
        return after.attempts[: len(before.attempts)]
    return (*after.attempts[: after.holder], *after.attempts[after.holder + 1 :])


def _learned(before: Rows, after: Rows) -> Rows:
    """An attempt may learn at any time which intent it made; it never changes its mind."""
    if len(after.attempts) != len(before.attempts):
        return before
    attempts = tuple(
        old if old.intent else old._replace(intent=new.intent)
        for old, new in zip(before.attempts, after.attempts, strict=True)
    )
    return before._replace(attempts=attempts)
