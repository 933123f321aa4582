"""One charge under a hold that was won: re-check, send once, save (protocol section 3).

Whoever runs this may die between any two lines. What the next one finds is the attempt's row and
Stripe; the sweep reads both.
"""

from dataclasses import replace

from anchorhold.domain import outcome
from anchorhold.domain.answer import (
    Decline,
    IntentStatus,
    IntentView,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    intent_in,
)
from anchorhold.domain.attempt import AttemptKind, AttemptState, Cause
from anchorhold.domain.dunning import CARD_TRIES_MAX
from anchorhold.domain.hold import Claim, Sending
from anchorhold.domain.ids import AttemptId, key_of
from anchorhold.domain.intent import IntentState, confirm_params
from anchorhold.domain.invoice import OPEN, BlockedReason, InvoiceStatus, PaymentStatus
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.sweep import HoldFacts, made_by_own_attempt, own_decline
from anchorhold.domain.timing import Timing
from anchorhold.engine import direct, saving
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.relist import CustomerGoneError, relist
from anchorhold.engine.saving import Charged, Holder
from anchorhold.store import cards, checks, holds
from anchorhold.store.cards import Declines
from anchorhold.store.direct import interrupted

__all__ = ["CARD_BUSY", "CARD_SPENT", "Charged", "charge", "deadline_of"]

NEWS = "R2"
"""Nothing was sent: an attempt that was presumed none turned up, or nobody can tell (A1)."""


CARD_SPENT = replace(saving.NOT_SENT, rule="J7", cause=Cause.REFUSED, pause_s=86_400)
"""Nothing was sent: the payment method was declined as often as card networks allow."""
CARD_BUSY = replace(saving.NOT_SENT, rule="J8", cause=Cause.REFUSED, pause_s=60)
"""Nothing was sent: should all charges of the payment method that are under way be declined, this
one would be too many."""


async def charge(deps: Deps, claim: Claim) -> Charged:
    """The claimed invoice's intent is confirmed once and the answer is saved; or see `direct`.

    Or nothing was sent and the hold is released; or nobody can tell, the hold stays, and the
    sweep asks Stripe.
    """
    connected = await deps.providers.of(claim.token.scope)
    if connected is None:
        return await _save(deps, claim, NothingSent(NotSent.CREDENTIALS_UNREADABLE))
    if connected.stripe_account != claim.stripe_account:
        return await _release(deps, claim)
    if claim.card_declined and (end := _card(await cards.declines(deps.db, claim.token))):
        return await saving.release(deps, Holder(claim.token), end)
    if claim.presumed and (refused := await _presumed(deps, connected, claim)):
        return refused
    return await _send(deps, connected, claim)


def _card(declines: Declines) -> End | None:
    """None: one more decline of this payment method is allowed (protocol section 10)."""
    if declines.known >= CARD_TRIES_MAX:
        return CARD_SPENT
    return CARD_BUSY if declines.known + declines.under_way >= CARD_TRIES_MAX else None


async def _presumed(deps: Deps, connected: Connected, claim: Claim) -> Charged | None:
    """None: an attempt that was presumed to have done nothing still has not (A1)."""
    try:
        await relist(deps, connected, claim.token.scope, claim.token.invoice_id)
    except Refusal as refusal:
        deps.log.info("charge.relisted", invoice=claim.token.invoice_id, code=refusal.code)
        closed = frozenset() if claim.intent_id else frozenset({InvoiceStatus.PAID})
        end = replace(saving.NOT_SENT, rule=NEWS, pause_s=deps.timing.recheck_seconds)
        if isinstance(refusal, CustomerGoneError):
            gone = Decline("customer_deleted", message=refusal.sentence)
            end = replace(end, blocked=BlockedReason.SETUP, decline=gone)
        return await saving.release(deps, Holder(claim.token, statuses=OPEN | closed), end)
    return None


async def _send(deps: Deps, connected: Connected, claim: Claim) -> Charged:
    if claim.intent_id is None:
        return await direct.charge(deps, connected, claim, deadline_of(claim.kind, deps.timing))
    if claim.action_is_old:
        return await _give_up_on_customer(deps, connected, claim, claim.intent_id)
    return await _confirm(deps, connected, claim, claim.intent_id)


async def _confirm(deps: Deps, connected: Connected, claim: Claim, intent_id: str) -> Charged:
    sending = await _recheck(deps, claim)
    if sending is None:
        return await _release(deps, claim)
    key, params = _request(claim)
    answer = await deps.apart.send(
        lambda: connected.provider.confirm_intent(intent_id, params, key, sending.deadline),
        lambda: interrupted(deps.db, claim.token, actor=deps.actor),
    )
    return await _act(deps, connected, claim, sending, answer)


def _request(claim: Claim) -> tuple[str, dict[str, object]]:
    token = claim.token
    key = key_of("charge", token.scope.account_id, token.invoice_id, token.seq)
    return key, confirm_params(claim)


async def _recheck(deps: Deps, claim: Claim) -> Sending | None:
    key, params = _request(claim)
    return await holds.recheck(
        deps.db,
        claim,
        deps.timing,
        key=key,
        params=params,
        deadline_s=deadline_of(claim.kind, deps.timing),
    )


def deadline_of(kind: AttemptKind, timing: Timing) -> float:
    """How long a charge of this kind may take, seconds (protocol section 3, step 4)."""
    return {
        AttemptKind.DUNNING: timing.deadline_dunning_seconds,
        AttemptKind.COLLECT: timing.deadline_collect_seconds,
    }.get(kind, timing.deadline_auto_seconds)


async def _release(deps: Deps, claim: Claim) -> Charged:
    return await saving.release(deps, Holder(claim.token))


async def _act(
    deps: Deps, connected: Connected, claim: Claim, sending: Sending, answer: Result[IntentView]
) -> Charged:
    row = outcome.read(answer)
    shown = answer.intent if isinstance(answer, Refused) else None
    if row.meaning is Meaning.READ_INTENT and shown is not None and not _half_shown(shown):
        return await _act_on_shown(deps, claim, row.id, answer, shown)
    if row.meaning in (Meaning.ASK, Meaning.READ_INTENT):
        return await _ask(deps, connected, claim, sending, row, answer)
    if row.meaning is Meaning.ACCOUNT_REFUSED:
        await saving.flag(deps, connected, claim, answer)
    return await _save(deps, claim, answer)


def _half_shown(intent: IntentView) -> bool:
    """A success whose charge was only named: whether it was refunded has to be looked up (S2)."""
    return intent.status is IntentStatus.SUCCEEDED and intent.latest_charge is None


async def _save(deps: Deps, claim: Claim, answer: Result[IntentView]) -> Charged:
    row = outcome.read(answer)
    if row.meaning is Meaning.SETTLE and isinstance(answer, Shown):
        return await _settle(deps, claim, row.id, answer.value, claim.token.attempt_id)
    return await _end(deps, claim, row.meaning, outcome.end_of(row, answer))


async def _settle(
    deps: Deps, claim: Claim, rule: str, intent: IntentView, maker: AttemptId | None
) -> Charged:
    return await saving.settle(deps, Holder(claim.token), rule, intent, maker)


async def _end(deps: Deps, claim: Claim, meaning: Meaning, end: End) -> Charged:
    if end.state is AttemptState.NOT_SENT:
        return await saving.release(deps, Holder(claim.token), end, meaning)
    return await saving.end(deps, Holder(claim.token), meaning, end)


async def _ask(
    deps: Deps,
    connected: Connected,
    claim: Claim,
    sending: Sending,
    row: outcome.Row,
    answer: Result[IntentView],
) -> Charged:
    """Unclear: look at the intent at once, and act only on what cannot be a confirm still running.

    Everything else is `unknown` and keeps the hold; the sweep decides after the hold's end.
    """
    cut = connected.provider.deadline(deps.timing.check_cut_seconds)
    seen = await connected.provider.retrieve_intent(
        claim.intent_id or "", min(cut, sending.hold_ends, key=lambda deadline: deadline.at)
    )
    if isinstance(seen, Shown):
        return await _act_on_shown(deps, claim, row.id, answer, seen.value)
    return await _unknown(deps, claim, row.id, answer)


async def _act_on_shown(
    deps: Deps, claim: Claim, rule: str, answer: Result[IntentView], intent: IntentView
) -> Charged:
    """An intent that was retrieved, or that came in a refusal, is acted on by its status."""
    facts = await checks.facts(deps.db, claim.token.scope, claim.token.invoice_id)
    if facts is not None and facts.token != claim.token:
        facts = None
    own = facts is not None and _made_it(facts, answer, intent)
    if intent.status is IntentStatus.SUCCEEDED:
        return await _settle(deps, claim, rule, intent, claim.token.attempt_id if own else None)
    if facts is None:
        return Charged(rule, Meaning.KEEP, None)
    end = _end_of_shown(facts, rule, answer, intent, own=own)
    if end is None:
        return await _unknown(deps, claim, rule, answer)
    return await _end(deps, claim, Meaning.READ_INTENT, end)


def _made_it(facts: HoldFacts, answer: Result[IntentView], intent: IntentView) -> bool:
    """This attempt made the intent's newest charge; a confirm that was refused made none."""
    return not _refused(answer) and made_by_own_attempt(facts, intent.latest_charge)


def _end_of_shown(
    facts: HoldFacts, rule: str, answer: Result[IntentView], intent: IntentView, *, own: bool
) -> End | None:
    charge = intent.latest_charge if own else None
    decline = own_decline(facts, [charge] if charge else [])
    canceled = intent.status is IntentStatus.CANCELED
    if intent.status is IntentStatus.PROCESSING:
        state = AttemptState.PROCESSING if own else AttemptState.SUPERSEDED
        end = replace(ENDS[Meaning.FOLLOW], state=state, followed_intent=intent.id)
    elif decline is not None and charge is not None:
        end = replace(ENDS[Meaning.DECLINE], decline=decline, charge_id=charge.id)
        intent_state = IntentState.CANCELED if canceled else None
        end = replace(end, intent=intent_state, blocked=outcome.blocked_by(decline))
    elif canceled:
        end = ENDS[Meaning.INTENT_CANCELED]
    elif intent.status is IntentStatus.REQUIRES_ACTION and _refused(answer):
        end = ENDS[Meaning.WAIT_FOR_CUSTOMER]
    else:
        return None
    return replace(end, rule=rule)


def _refused(answer: Result[IntentView]) -> bool:
    """Stripe refused this confirm because of the intent's status: it is not running."""
    return isinstance(answer, Refused) and answer.intent is not None


async def _unknown(deps: Deps, claim: Claim, rule: str, answer: Result[IntentView]) -> Charged:
    end = replace(ENDS[Meaning.ASK], rule=rule, cause=_doubt(answer))
    if isinstance(answer, Refused):
        end = replace(end, decline=_words(answer), request_id=answer.request_id)
    return await _end(deps, claim, Meaning.ASK, end)


def _doubt(answer: Result[IntentView]) -> Cause:
    if isinstance(answer, Shown) or _refused(answer):
        return Cause.ANSWERED
    if isinstance(answer, Refused):
        return Cause.SERVER_ERROR
    return outcome.cause_of(answer)


def _words(answer: Refused) -> Decline:
    return Decline(answer.label, message=answer.message)


async def _give_up_on_customer(
    deps: Deps, connected: Connected, claim: Claim, intent_id: str
) -> Charged:
    """An intent that has waited for its customer for an hour is cancelled under this hold.

    Cancelled: the row ends and the next prepare makes the next intent (protocol section 2).
    """
    deadline = connected.provider.deadline(deps.timing.deadline_auto_seconds)
    answer = await connected.provider.cancel_intent(intent_id, deadline)
    row, shown = outcome.read(answer), intent_in(answer)
    if shown is not None and _half_shown(shown):
        shown = intent_in(await connected.provider.retrieve_intent(intent_id, deadline))
    if shown is not None and shown.status is IntentStatus.SUCCEEDED:
        return await _settle(deps, claim, "A8", shown, None)
    if row.meaning in (Meaning.NOT_SENT, Meaning.ACCOUNT_REFUSED, Meaning.BACK_OFF):
        if row.meaning is Meaning.ACCOUNT_REFUSED:
            await saving.flag(deps, connected, claim, answer)
        return await _save(deps, claim, answer)
    return await _end(deps, claim, Meaning.INTENT_CANCELED, _end_of_cancel(shown))


def _end_of_cancel(intent: IntentView | None) -> End:
    if intent is not None and intent.status is IntentStatus.CANCELED:
        return replace(ENDS[Meaning.INTENT_CANCELED], rule="A4")
    if intent is not None and intent.status is IntentStatus.PROCESSING:
        return replace(
            ENDS[Meaning.FOLLOW],
            rule="A2",
            state=AttemptState.SUPERSEDED,
            followed_intent=intent.id,
            payment_status=PaymentStatus.PROCESSING,
        )
    return replace(ENDS[Meaning.KEEP], rule="A16", state=AttemptState.CLAIMED)
