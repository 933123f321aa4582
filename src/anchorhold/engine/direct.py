"""A direct charge: one call creates and confirms (protocol sections 2 and 4, Direct).

An unclear answer names no intent, so there is nothing to retrieve: the hold stays, and the sweep
finds the attempt in Stripe's list or proves that it never ran (`engine/fence.py`).
"""

from dataclasses import replace

from anchorhold.domain import outcome
from anchorhold.domain.answer import (
    Deadline,
    Decline,
    IntentStatus,
    IntentView,
    NothingSent,
    Refused,
    Result,
    Shown,
    Unclear,
    intent_in,
)
from anchorhold.domain.attempt import AttemptState, Cause
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import key_of
from anchorhold.domain.intent import charge_params
from anchorhold.domain.invoice import OPEN
from anchorhold.domain.outcome import ENDS, End, Meaning, Row
from anchorhold.engine import saving
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.saving import Charged, Holder
from anchorhold.store import direct

LEAVES_INTENT = frozenset({Meaning.DECLINE, Meaning.NEEDS_CUSTOMER, Meaning.SETUP_FAULT})
"""Definite answers whose intent would stay payable: it is cancelled with the save (H17)."""


async def charge(deps: Deps, connected: Connected, claim: Claim, deadline_s: float) -> Charged:
    """The claimed invoice was charged by one create and the answer is saved.

    Or nothing was sent and the hold is released; or nobody can tell, and the hold stays.
    """
    token = claim.token
    key = key_of("charge", token.scope.account_id, token.invoice_id, token.seq)
    params = charge_params(claim)
    sending = await direct.recheck(
        deps.db, claim, deps.timing, key=key, params=params, deadline_s=deadline_s
    )
    if sending is None:
        return await saving.release(deps, Holder(token))
    answer = await deps.apart.send(
        lambda: connected.provider.create_intent(params, key, sending.deadline),
        lambda: direct.interrupted(deps.db, token, actor=deps.actor),
    )
    row = outcome.read_direct(answer, claim.sweep_mode)
    if row.meaning is Meaning.ACCOUNT_REFUSED:
        await saving.flag(deps, connected, claim, answer)
    return await act(deps, connected, Holder(token), row, answer, sending.hold_ends)


async def act(
    deps: Deps,
    connected: Connected,
    holder: Holder,
    row: Row,
    answer: Result[IntentView],
    until: Deadline,
) -> Charged:
    """What the answer to the charge's own request means is saved, by whoever holds the invoice."""
    shown = intent_in(answer)
    if row.meaning is Meaning.SETTLE and isinstance(answer, Shown):
        return await saving.settle(deps, holder, row.id, answer.value, holder.token.attempt_id)
    if row.meaning in (Meaning.ASK, Meaning.READ_INTENT):
        return await saving.end(deps, holder, Meaning.ASK, _fit(holder, _unclear(row, answer)))
    ending = outcome.end_of(row, answer)
    if shown is not None and ending.clears:
        ending = replace(ending, own_intent=shown.id)
    if ending.state is AttemptState.NOT_SENT:
        return await saving.release(deps, holder, ending, row.meaning)
    if shown is not None and shown.payable and row.meaning in LEAVES_INTENT:
        seen = await cancel(connected, shown.id, until)
        if seen is None or seen.status is not IntentStatus.CANCELED:
            return await saving.end(deps, holder, Meaning.KEEP, _kept(ending))
    return await saving.end(deps, holder, row.meaning, _fit(holder, ending))


async def cancel(connected: Connected, intent_id: str, until: Deadline) -> IntentView | None:
    """The intent as the answer to its cancel shows it; None when nobody can tell."""
    return intent_in(await connected.provider.cancel_intent(intent_id, until))


def _unclear(row: Row, answer: Result[IntentView]) -> End:
    """Parked; or followed, when the body names the intent after all."""
    shown = intent_in(answer)
    words = isinstance(answer, Refused)
    return replace(
        ENDS[Meaning.ASK],
        rule=row.id,
        cause=_doubt(row, answer),
        decline=Decline(answer.label, message=answer.message) if words else None,
        request_id=None if isinstance(answer, NothingSent | Unclear) else answer.request_id,
        followed_intent=shown.id if shown else None,
        own_intent=shown.id if shown else None,
    )


def _doubt(row: Row, answer: Result[IntentView]) -> Cause:
    if isinstance(answer, Shown):
        return Cause.ANSWERED
    if isinstance(answer, Refused):
        return row.cause or Cause.SERVER_ERROR
    return outcome.cause_of(answer)


def _kept(ending: End) -> End:
    """The intent could not be cancelled: the sweep finds it by its id, and cancels and saves."""
    return replace(
        ENDS[Meaning.KEEP], rule=ending.rule, cause=Cause.ANSWERED, own_intent=ending.own_intent
    )


def _fit(holder: Holder, ending: End) -> End:
    """On an invoice that is closed meanwhile only the attempt says what became of it."""
    if holder.statuses == OPEN:
        return ending
    return replace(ending, payment_status=None, followed_intent=None, blocked=None)
