"""One check of a stale hold: ask Stripe what its charge did, act by compare-and-set (section 6)."""

from dataclasses import dataclass, replace

from anchorhold.domain.answer import UNDER_WAY, IntentStatus, IntentView
from anchorhold.domain.attempt import CHARGES, RUNNING, AttemptState, Cause
from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import PaymentStatus
from anchorhold.domain.outcome import End, blocked_by
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import (
    Act,
    Evidence,
    Found,
    HoldFacts,
    Row,
    decide,
    find,
    made_by_own,
    made_by_own_attempt,
    state_of_followed,
)
from anchorhold.domain.trace import too_early, trace_of
from anchorhold.engine import direct as charging
from anchorhold.engine import evidence as evidences
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.direct_ends import ended, presumed
from anchorhold.engine.fence import fence
from anchorhold.store import checks, holds, payments

SENT = frozenset({AttemptState.FAILED, AttemptState.PROCESSING})
"""What only an attempt can be whose send is on record."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: the deciding row, None when the hold was gone; whether Stripe answered at all."""

    rule: str | None
    answered: bool = True


async def check(
    deps: Deps, connected: Connected | None, scope: Scope, invoice_id: InvoiceId
) -> Checked:
    """One hold was asked about and acted on by the row that fits; nothing if it moved meanwhile.

    A live hold is its owner's: only one that has ended is asked about, in direct mode only after
    SWEEP_WAIT.
    """
    facts = await checks.facts(deps.db, scope, invoice_id)
    if facts is None or too_early(facts, deps.timing):
        return Checked(None)
    seen = await look(deps, connected, facts)
    rule = await _act_on_all(deps, connected, facts, seen)
    return Checked(rule, seen.answered)


async def look(deps: Deps, connected: Connected | None, facts: HoldFacts) -> Evidence:
    """What Stripe shows; a mode without usable credentials is a refused read (S15)."""
    if facts.nothing_to_ask:
        return Evidence()
    if connected is None:
        return Evidence(unread=evidences.Unread.REFUSED, error="Stripe is not connected")
    return await evidences.gather(connected, facts, deps.timing)


async def _act_on_all(
    deps: Deps, connected: Connected | None, facts: HoldFacts, seen: Evidence
) -> str | None:
    """Rows that go on act first; then the rows are read again and one row ends the check."""
    found = find(facts, seen)
    going_on = [row for row in decide(found, facts.status) if row.goes_on]
    for row in going_on:
        await _record(deps, facts, seen, row)
    now = await checks.facts(deps.db, facts.token.scope, facts.token.invoice_id)
    if now is None or now.live or now.token.attempt_id != facts.token.attempt_id:
        return going_on[-1].id if going_on else None
    row = decide(_rest(facts, seen), now.status, trace_of(now, seen, deps.timing))[-1]
    await _act(deps, connected, now, seen, row)
    return row.id


def _rest(facts: HoldFacts, seen: Evidence) -> frozenset[Found]:
    """What is found besides the successes, which have their payment rows by now."""
    rest = find(facts, seen) - {Found.PAID, Found.REFUNDED}
    return rest or frozenset({Found.NOTHING})


def _succeeded(seen: Evidence) -> frozenset[str]:
    return frozenset(i.id for i in seen.intents if i.status is IntentStatus.SUCCEEDED)


async def _record(deps: Deps, facts: HoldFacts, seen: Evidence, row: Row) -> None:
    """S1 and S2: each success has its payment row, oldest first."""
    refunded = row.act is Act.RECORD_REFUNDED
    succeeded = [
        intent
        for intent in reversed(seen.intents)  # Stripe lists newest first, in whole seconds
        if intent.status is IntentStatus.SUCCEEDED and intent.paid is not refunded
    ]
    for intent in sorted(succeeded, key=lambda intent: intent.created):
        await _settle(deps, facts, seen, intent)
        if refunded:
            deps.log.error("payment.found_refunded", invoice=facts.token.invoice_id, rule=row.id)


async def _settle(deps: Deps, facts: HoldFacts, seen: Evidence, intent: IntentView) -> None:
    maker = _maker(facts, intent)
    own = maker == facts.own.id if facts.own.direct else intent.id == facts.own_intent
    ends = own and facts.own.kind in CHARGES and not _unfollowed(facts, seen)
    settled = await payments.settle(
        deps.db,
        facts.token.scope,
        facts.token.invoice_id,
        Success.of(intent, maker),
        Source.SWEEP,
        actor=deps.actor,
        rule="S2" if not intent.paid else "S1",
        clears=facts.token if ends else None,
    )
    deps.log.info(
        "sweep.settled",
        invoice=facts.token.invoice_id,
        intent=intent.id,
        verdict=settled.verdict if settled else None,
    )


def _maker(facts: HoldFacts, intent: IntentView) -> AttemptId | None:
    """The attempt that made it, when that is proven: any direct one that the intent names."""
    own = facts.own.id if made_by_own(facts, intent) else None
    return own or facts.maker(intent)


def _unfollowed(facts: HoldFacts, seen: Evidence) -> bool:
    return bool({Found.PROCESSING, Found.SECOND} & find(facts, seen))


async def _act(
    deps: Deps, connected: Connected | None, facts: HoldFacts, seen: Evidence, row: Row
) -> None:
    match row.act:
        case Act.ALARM | Act.KEEP:
            await _keep(deps, facts, seen, row)
        case Act.CANCEL:
            await _cancel(deps, connected, facts, seen, row)
        case Act.DECLINE if facts.own.direct and not await _cancel_all(connected, facts, seen):
            await _keep(deps, facts, seen, row)
        case Act.FOLLOW | Act.CLEAR | Act.DECLINE | Act.SUPERSEDE:
            await _end(deps, facts, _ending(facts, seen, row))
        case Act.FENCE | Act.PRESUME:
            await _act_directly(deps, connected, facts, seen, row)
        case Act.SETTLE | Act.RECORD_REFUNDED:
            raise AssertionError("rows that go on were acted on before")


async def _act_directly(
    deps: Deps, connected: Connected | None, facts: HoldFacts, seen: Evidence, row: Row
) -> None:
    if row.act is Act.PRESUME:
        await _presume(deps, connected, facts, seen, row)
    elif connected is not None:
        await fence(deps, connected, facts, seen)


async def _keep(deps: Deps, facts: HoldFacts, seen: Evidence, row: Row) -> None:
    if row.act is Act.ALARM:
        deps.log.error(
            "sweep.refused", invoice=facts.token.invoice_id, rule=row.id, error=seen.error
        )
    await checks.keep(
        deps.db,
        facts.token,
        rule=row.id,
        error=seen.error,
        actor=deps.actor,
        follows=facts.followed_intent_id is not None,
    )


async def _cancel(
    deps: Deps, connected: Connected | None, facts: HoldFacts, seen: Evidence, row: Row
) -> None:
    """What can still be paid and must not is cancelled; the next check sees what came of it."""
    wanted = Found.STRAY if row.id == "S6" else Found.PAYABLE
    for intent in seen.intents:
        found = find(facts, replace(seen, intents=(intent,)))
        if connected is not None and seen.until is not None and wanted in found:
            await connected.provider.cancel_intent(intent.id, seen.until)
    await _keep(deps, facts, seen, row)


async def _cancel_all(connected: Connected | None, facts: HoldFacts, seen: Evidence) -> bool:
    """Nothing that a direct charge left stays payable (H17); False: one could not be cancelled."""
    for intent in seen.intents:
        stray = Found.STRAY in find(facts, replace(seen, intents=(intent,)))
        if stray and (connected is None or seen.until is None):
            return False
        if stray and connected is not None and seen.until is not None:
            left = await charging.cancel(connected, intent.id, seen.until)
            if left is None or left.status is not IntentStatus.CANCELED:
                return False
    return True


async def _presume(
    deps: Deps, connected: Connected | None, facts: HoldFacts, seen: Evidence, row: Row
) -> None:
    """Listed once more, then the park ends by one compare-and-set (S12); news: keep."""
    again = await look(deps, connected, facts)
    trace = trace_of(facts, again, deps.timing)
    news = _succeeded(again) - _succeeded(seen)
    if news or decide(_rest(facts, again), facts.status, trace)[-1].act is not Act.PRESUME:
        await _keep(deps, facts, again, row)
        return
    await _end(deps, facts, presumed(facts, row))


async def _end(deps: Deps, facts: HoldFacts, end: End) -> None:
    """Clear by compare-and-set on everything that was read (H2, F8).

    A close, an amend or a final action whose owner died sent no charge and changed nothing: it
    ends as `not_sent`, and the counter stays. A charge whose mark `sending` was lost with the tail
    of the database has no key and no send to be declined by: Stripe's word is the invoice's alone.
    """
    if facts.own.sent_at is None and end.state in SENT:
        end = replace(end, state=AttemptState.SUPERSEDED)
    if facts.own.kind not in CHARGES:
        end = replace(
            end,
            state=AttemptState.NOT_SENT,
            cause=Cause.OWNER_GONE,
            moves_seq=False,
            fails_twice=False,
        )
    if facts.own.state not in RUNNING:
        end = replace(
            end,
            state=facts.own.state,
            cause=None,
            decline=None,
            charge_id=None,
            moves_seq=False,
            fails_twice=False,
        )
    ended = await holds.end(
        deps.db,
        facts.token,
        end,
        states=frozenset({facts.own.state}),
        statuses=frozenset({facts.status}),
        actor=deps.actor,
        source="sweep",
    )
    deps.log.info(
        "sweep.cleared", invoice=facts.token.invoice_id, rule=end.rule, won=ended is not None
    )


def _ending(facts: HoldFacts, seen: Evidence, row: Row) -> End:
    match row.act:
        case Act.FOLLOW:
            newest = max(
                (i for i in seen.intents if i.status in UNDER_WAY),
                key=lambda intent: intent.created,
            )
            return End(
                row.id,
                state_of_followed(facts, newest),
                Cause.ANSWERED,
                PaymentStatus.PROCESSING,
                followed_intent=newest.id,
                own_intent=newest.id if facts.own.direct else None,
            )
        case Act.DECLINE:
            return replace(
                _declined(facts, seen, row),
                payment_status=PaymentStatus.FAILED,
                blocked=blocked_by(seen.own_decline),
            )
        case _:
            return _superseded(facts, seen, row)


def _declined(facts: HoldFacts, seen: Evidence, row: Row) -> End:
    """S7, and S9 where nothing is due any more: the try counts all the same."""
    return End(
        row.id,
        AttemptState.FAILED,
        Cause.ANSWERED,
        decline=seen.own_decline,
        charge_id=_charge_of_decline(facts, seen),
        intent=_ended_intent(seen),
    )


def _superseded(facts: HoldFacts, seen: Evidence, row: Row) -> End:
    """S8, S9, S13 and S4: the attempt's end is not proven, or nothing can have been sent."""
    canceled = _ended_intent(seen)
    never_named = facts.own_intent is None and facts.own.state is AttemptState.CLAIMED
    if facts.own.kind not in CHARGES:
        return End(row.id, AttemptState.NOT_SENT, Cause.OWNER_GONE, intent=canceled)
    if seen.own_decline is not None:
        return _declined(facts, seen, row)
    if facts.own.direct:
        own = [intent for intent in seen.intents if made_by_own(facts, intent)]
        gone = any(intent.status is IntentStatus.CANCELED for intent in own)
        return ended(facts, row, never_named=never_named, canceled=gone)
    return End(
        row.id,
        AttemptState.NOT_SENT if never_named else AttemptState.SUPERSEDED,
        Cause.INTENT_CANCELED if canceled else Cause.NO_TRACE,
        moves_seq=not never_named,
        keeps_following=row.id == "S4",
        intent=canceled,
        fails_twice=row.id == "S8" and not canceled,
        customer_acts=any(i.status is IntentStatus.REQUIRES_ACTION for i in seen.intents),
    )


def _ended_intent(seen: Evidence) -> IntentState | None:
    canceled = any(intent.status is IntentStatus.CANCELED for intent in seen.intents)
    return IntentState.CANCELED if canceled else None


def _charge_of_decline(facts: HoldFacts, seen: Evidence) -> str | None:
    """The declined charge, if it is certain: an authentication that failed makes none."""
    charges = [intent.latest_charge for intent in seen.intents if intent.latest_charge]
    return next((c.id for c in charges if made_by_own_attempt(facts, c)), None)
