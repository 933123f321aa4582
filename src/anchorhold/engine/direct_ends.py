"""How a check ends a direct attempt that Stripe shows nothing, or nothing more, of."""

from typing import Final

from anchorhold.domain.account import AfterPresumedNone
from anchorhold.domain.answer import Decline
from anchorhold.domain.attempt import AttemptKind, AttemptState, Cause
from anchorhold.domain.invoice import OPEN, PaymentStatus
from anchorhold.domain.outcome import End
from anchorhold.domain.sweep import HoldFacts, Row

NOTHING_SHOWN: Final = "Stripe showed nothing for this attempt after 24 hours"


def presumed(facts: HoldFacts, row: Row) -> End:
    """Not proven: it stays on the audit, and whoever goes on looks once more before (A1)."""
    failed = facts.own.kind is AttemptKind.DUNNING
    back = PaymentStatus.FAILED if failed else None
    return End(
        row.id,
        AttemptState.PRESUMED_NONE,
        Cause.NOTHING_AFTER_A_DAY,
        payment_status=back if facts.status in OPEN else None,
        decline=Decline("presumed_none", message=NOTHING_SHOWN),
        manual=leaves_it(facts),
    )


def leaves_it(facts: HoldFacts) -> bool:
    """The account leaves it to a person to charge again after a charge was presumed none."""
    operator = facts.after_presumed_none is AfterPresumedNone.OPERATOR
    return operator and facts.status in OPEN


def ended(facts: HoldFacts, row: Row, *, never_named: bool, canceled: bool) -> End:
    """S8 and S9: never sent, cancelled at Stripe, or presumed so (adr); S4: it is followed."""
    if never_named:
        return End(row.id, AttemptState.NOT_SENT, Cause.NO_TRACE, moves_seq=False)
    if row.id == "S4":
        followed = facts.followed_intent_id
        return End(
            row.id,
            AttemptState.PROCESSING,
            Cause.ANSWERED,
            PaymentStatus.PROCESSING,
            followed_intent=followed,
            own_intent=followed,
        )
    if canceled:
        return End(row.id, AttemptState.SUPERSEDED, Cause.INTENT_CANCELED)
    return End(row.id, AttemptState.PRESUMED_NONE, Cause.NO_TRACE, manual=leaves_it(facts))
