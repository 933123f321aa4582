"""Each move of the model explains what it is for, and nothing that is only like it."""

import pytest

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.refinement import MOVES, explained
from anchorhold.sim.model.rows import Attempt, Rows

FREE = Rows(intent=1)


def held(state: str = r.CLAIMED, kind: str = "auto", **changes: object) -> Rows:
    """An open invoice whose hold is live, by one attempt in this state."""
    attempts = (Attempt(kind, state, 0, r.PENDING, 1),)
    rows = Rows(hold=r.LIVE, holder=0, intent=1, attempts=attempts)
    return rows._replace(**changes)  # pyrefly: ignore[bad-argument-type] - fields of the rows


def of(rows: Rows, state: str) -> Rows:
    return r.put(rows, 0, state=state)


SENT = held(r.SENDING)
ASKED = r.ask(SENT, 0)
FOLLOWING = r.end(SENT, 0, r.FOLLOWED, payment=r.PROCESSING, follows=1)
DIRECT = Rows(hold=r.ENDED, holder=0, attempts=(Attempt("auto", r.SENDING, 0, r.PENDING),))
CLOSING = held(kind="close")
ENDED = r.end(SENT, 0, r.SUPERSEDED)

EXPLAINED = {
    "claim": (FREE, r.claim(FREE, r.AUTO)),
    "mark": (held(), SENT),
    "end": (ASKED, r.end(ASKED, 0, r.SUPERSEDED)),
    "ask": (SENT, ASKED),
    "settle": (SENT, r.settle(SENT, 1, 0)),
    "follow": (FREE, r.follow(FREE, 1)),
    "stop following": (FOLLOWING, r.follow_ends(FOLLOWING, 0, canceled=False)),
    "late proof": (ENDED, of(ENDED, r.DECLINED)),
    "name": (Rows(), FREE),
    "refuse": (FREE, FREE._replace(payment=r.FAILED)),
    "close": (
        CLOSING,
        r.close(r.end(CLOSING, 0, r.NOT_SENT, moves=False), r.VOID)._replace(intent=0),
    ),
    "write off": (
        SENT._replace(hold=r.ENDED),
        r.close(SENT._replace(hold=r.ENDED), "uncollectible"),
    ),
    "take over": (DIRECT, DIRECT._replace(hold=r.LIVE)),
    "give back": (DIRECT._replace(hold=r.LIVE), DIRECT),
    "reopen": (Rows(r.PAID, r.SUCCEEDED), Rows(r.OPEN, r.FAILED)),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_move_explains_what_it_is_for(move: str) -> None:
    before, after = EXPLAINED[move]
    assert after is not None
    assert explained(before, after) == move


def test_nothing_needs_no_explanation() -> None:
    assert explained(SENT, SENT) == ""
    unknown = DIRECT._replace(attempts=(DIRECT.own._replace(intent=2),))
    assert explained(DIRECT, unknown) == "", "an attempt learns which intent it made"


@pytest.mark.parametrize("kind", ["close", "amend", "final_action"])
def test_a_payment_leaves_an_attempt_that_sends_no_charge_to_its_owner(kind: str) -> None:
    before = held(kind=kind)
    paid = before._replace(status=r.PAID, payment=r.SUCCEEDED, intent=0, recorded=frozenset({1}))
    assert explained(before, paid) == "settle"


def test_a_write_off_leaves_a_park_however_old_its_hold_is() -> None:
    parked = r.ask(DIRECT._replace(hold=r.LIVE), 0)
    assert explained(parked, r.close(parked, r.UNCOLLECTIBLE)) == "write off"


def test_a_decline_that_comes_after_a_write_off_ends_its_attempt_and_moves_the_counter() -> None:
    written_off = DIRECT._replace(status=r.UNCOLLECTIBLE)
    declined = of(written_off, r.DECLINED)._replace(seq=1)
    assert explained(written_off, declined) == "late proof"
    assert explained(written_off, declined._replace(seq=0)) is None


UNEXPLAINED: dict[str, tuple[Rows, Rows]] = {
    "a hold that ended is taken": (
        SENT._replace(hold=r.ENDED),
        r.claim(SENT._replace(hold=r.FREE), r.AUTO) or FREE,
    ),
    "a closed invoice is claimed": (
        FREE._replace(status=r.VOID),
        (r.claim(FREE, r.AUTO) or FREE)._replace(status=r.VOID),
    ),
    "an attempt is marked under a hold that ended": (
        held(hold=r.ENDED),
        SENT._replace(hold=r.ENDED),
    ),
    "an attempt is marked again": (ASKED, of(ASKED, r.SENDING)),
    "the counter stays": (SENT, r.end(SENT, 0, r.DECLINED, payment=r.FAILED, moves=False)),
    "the counter moves for nothing": (SENT, r.end(SENT, 0, r.NOT_SENT)),
    "what was asked was never sent": (ASKED, r.end(ASKED, 0, r.NOT_SENT, moves=False)),
    "a cleared unknown stays unknown": (ASKED, r.end(ASKED, 0, r.SUPERSEDED, payment=r.UNKNOWN)),
    "a hold ends and its attempt does not": (SENT, r.freed(SENT)),
    "another attempt's end clears the hold": (
        SENT._replace(attempts=(*SENT.attempts, Attempt("auto", r.ASKED, 1, r.PENDING, 2))),
        r.freed(
            SENT._replace(attempts=(*SENT.attempts, Attempt("auto", r.DECLINED, 1, r.PENDING, 2)))
        ),
    ),
    "an unclear answer ends the hold": (SENT, r.freed(ASKED)),
    "a payment is recorded and the attempt goes on": (
        SENT,
        r.settle(SENT, 1, 0)._replace(attempts=SENT.attempts),
    ),
    "a payment is forgotten": (FREE._replace(recorded=frozenset({1})), FREE),
    "a following ends without a word": (
        FOLLOWING,
        FOLLOWING._replace(payment=r.PENDING, followed=0),
    ),
    "late news touches the invoice": (
        ENDED,
        of(ENDED, r.DECLINED)._replace(payment=r.FAILED),
    ),
    "a second intent is named": (FREE, FREE._replace(intent=2)),
    "a close keeps its hold": (CLOSING, r.close(CLOSING, r.VOID)),
    "a void on a hold": (SENT._replace(hold=r.ENDED), r.close(SENT._replace(hold=r.ENDED), r.VOID)),
    "a write-off on a live hold": (SENT, r.close(SENT, r.UNCOLLECTIBLE)),
    "an attempt vanishes": (SENT, SENT._replace(attempts=())),
    "an attempt was made by another intent": (
        SENT,
        SENT._replace(attempts=(SENT.own._replace(intent=2),)),
    ),
}


@pytest.mark.parametrize("change", UNEXPLAINED)
def test_no_move_explains_a_change_that_must_not_be(change: str) -> None:
    assert explained(*UNEXPLAINED[change]) is None
