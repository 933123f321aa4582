"""TABLE: which act a hold allows (protocol section 5)."""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.hold import HoldState


class Action(StrEnum):
    """Everything that asks the hold first."""

    AUTO_CHARGE = "auto_charge"
    DUNNING_RETRY = "dunning_retry"
    COLLECT = "collect"
    DUNNING_SCAN = "dunning_scan"
    FINAL_ACTION = "final_action"
    VOID = "void"
    PAID_ELSEWHERE = "paid_elsewhere"
    CREDIT_NOTE = "credit_note"
    WRITE_OFF = "write_off"
    HOSTED_PAGE = "hosted_page"


class Access(StrEnum):
    """What the act meets."""

    ALLOWED = "allowed"
    SKIPPED = "skipped"
    """Left for later, and not counted."""
    REFUSED = "payment_in_flight"
    """409: being confirmed with Stripe."""
    ALLOWED_KEEPING_HOLD = "allowed_keeping_hold"
    """Writes locally and leaves the hold, so that the sweep still finds a late success."""
    CONFIRMING = "please_do_not_pay_again"
    """The customer reads that the payment is being confirmed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One act against the four states in which something may be under way."""

    id: str
    action: Action
    live: Access
    stale: Access
    parked: Access
    following: Access


_SKIP, _NO, _KEEP, _WAIT = (
    Access.SKIPPED,
    Access.REFUSED,
    Access.ALLOWED_KEEPING_HOLD,
    Access.CONFIRMING,
)

# fmt: off
ACCESS = (
    #   id    action                   live   stale  parked following
    Row("G1", Action.AUTO_CHARGE,     _SKIP, _SKIP, _SKIP, _SKIP),
    Row("G2", Action.DUNNING_RETRY,   _SKIP, _SKIP, _SKIP, _SKIP),
    Row("G3", Action.COLLECT,         _NO,   _NO,   _NO,   _NO),
    Row("G4", Action.DUNNING_SCAN,    _SKIP, _SKIP, _SKIP, _SKIP),
    Row("G5", Action.FINAL_ACTION,    _SKIP, _SKIP, _SKIP, _SKIP),
    Row("G6", Action.VOID,            _NO,   _NO,   _NO,   _NO),
    Row("G7", Action.PAID_ELSEWHERE,  _NO,   _NO,   _NO,   _NO),
    Row("G8", Action.CREDIT_NOTE,     _NO,   _NO,   _NO,   _NO),
    Row("G9", Action.WRITE_OFF,       _NO,   _KEEP, _KEEP, Access.ALLOWED),
    Row("G10", Action.HOSTED_PAGE,    _WAIT, _WAIT, _WAIT, _WAIT),
)
# fmt: on


def access(action: Action, hold: HoldState) -> tuple[Row, Access]:
    """The row that speaks of this act, and what it says for this hold."""
    row = next(row for row in ACCESS if row.action is action)
    return row, {
        HoldState.NONE: Access.ALLOWED,
        HoldState.LIVE: row.live,
        HoldState.STALE: row.stale,
        HoldState.PARKED: row.parked,
        HoldState.FOLLOWING: row.following,
    }[hold]
