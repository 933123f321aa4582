"""Saving what became of an attempt, whoever found it out: its owner, or the sweep's fence."""

from dataclasses import dataclass, replace
from typing import Final

from anchorhold.domain.answer import IntentView, Refused, Result
from anchorhold.domain.attempt import RUNNING, AttemptState, Cause
from anchorhold.domain.hold import Claim, Token
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.invoice import OPEN, InvoiceStatus
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Source, Success
from anchorhold.engine import accounts
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import attempts, holds, payments


@dataclass(frozen=True, slots=True)
class Charged:
    """How an attempt ended: the row of the outcome table, and what was saved (None: kept)."""

    rule: str
    meaning: Meaning
    saved: str | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the invoice, and what each of its writes compares besides the token."""

    token: Token
    states: frozenset[AttemptState] = RUNNING
    statuses: frozenset[InvoiceStatus] = OPEN
    source: Source = Source.ANSWER


NOT_SENT: Final = replace(ENDS[Meaning.NOT_SENT], rule="R1", cause=Cause.RECHECK_REFUSED)


async def release(
    deps: Deps, holder: Holder, end: End = NOT_SENT, meaning: Meaning = Meaning.NOT_SENT
) -> Charged:
    """Nothing was sent: the attempt is `not_sent`, and the hold free for the next one."""
    ended = await deps.apart.release(
        lambda: holds.end(
            deps.db,
            holder.token,
            end,
            states=holder.states,
            statuses=holder.statuses,
            actor=deps.actor,
        )
    )
    return Charged(end.rule, meaning, end.state if ended else None)


async def settle(
    deps: Deps, holder: Holder, rule: str, intent: IntentView, maker: AttemptId | None
) -> Charged:
    """The success is recorded, and the hold is free."""
    settled = await deps.apart.save(
        lambda: payments.settle(
            deps.db,
            holder.token.scope,
            holder.token.invoice_id,
            Success.of(intent, maker),
            holder.source,
            actor=deps.actor,
            rule=rule,
            clears=holder.token,
        )
    )
    return Charged(rule, Meaning.SETTLE, settled.verdict if settled else None)


async def end(deps: Deps, holder: Holder, meaning: Meaning, end: End) -> Charged:
    """The attempt ends like this; a decline that comes too late is still its own (F6)."""
    saved = await deps.apart.save(lambda: _ended(deps, holder, end))
    return Charged(end.rule, meaning, saved)


async def _ended(deps: Deps, holder: Holder, end: End) -> str | None:
    ended = await holds.end(
        deps.db,
        holder.token,
        end,
        states=holder.states,
        statuses=holder.statuses,
        actor=deps.actor,
        source=holder.source,
    )
    if ended is None and end.state is AttemptState.FAILED:
        late = await attempts.late_decline(deps.db, holder.token, end, actor=deps.actor)
        return end.state if late else None
    return end.state if ended else None


async def flag(deps: Deps, connected: Connected, claim: Claim, answer: Result[IntentView]) -> None:
    """Claims skip the account until its key is accepted again."""
    reason = answer.message if isinstance(answer, Refused) else "the secret key is not readable"
    status = answer.status if isinstance(answer, Refused) else None
    await accounts.flag(deps, connected, claim.token.scope, reason, status=status)
