"""What a check of an invoice would find and do (nothing is changed), and doing it now."""

from dataclasses import dataclass

from anchorhold.domain import following, sweep
from anchorhold.domain.answer import IntentView, Refused, Shown
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import HoldFacts, decide, find
from anchorhold.domain.trace import too_early, trace_of
from anchorhold.engine import follow
from anchorhold.engine.check import check, look
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import checks, follows, invoices
from anchorhold.store.invoices import Standing


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a table that fits: what it would do, and why."""

    rule: str
    act: str
    because: str


@dataclass(frozen=True, slots=True)
class Explained:
    """What Stripe shows about the invoice now, and the rows that fit.

    No row fits while a hold is live: its owner saves the answer. `unread` says why Stripe could
    not be read.
    """

    standing: Standing
    facts: HoldFacts | None
    intents: tuple[IntentView, ...] = ()
    found: tuple[str, ...] = ()
    unread: str = ""
    steps: tuple[Step, ...] = ()


async def explain(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Explained:
    """What a check would find and do at this moment; nothing is changed, Stripe is only read.

    Raises Refusal: invoice_not_found, hold_not_found (nothing is under way).
    """
    standing = await _under_way(deps, scope, invoice_id)
    connected = await deps.providers.of(scope)
    facts = await checks.facts(deps.db, scope, invoice_id)
    if facts is None:
        return await _explain_followed(deps, connected, standing)
    seen = await look(deps, connected, facts)
    found = find(facts, seen)
    trace = trace_of(facts, seen, deps.timing)
    rows = () if too_early(facts, deps.timing) else decide(found, facts.status, trace)
    return Explained(
        standing,
        facts,
        seen.intents,
        tuple(sorted(one.value for one in found)),
        seen.error,
        tuple(Step(row.id, row.act.value, row.because) for row in rows),
    )


async def _under_way(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Standing:
    standing = await invoices.standing(deps.db, scope, invoice_id)
    if standing is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice_id)
    if standing.hold is HoldState.NONE:
        raise Refusal(Code.HOLD_NOT_FOUND, invoice=invoice_id)
    return standing


def _live(standing: Standing) -> bool:
    return standing.hold_until is not None and standing.hold_until > standing.now


async def _explain_followed(
    deps: Deps, connected: Connected | None, standing: Standing
) -> Explained:
    if connected is None or standing.followed_intent_id is None:
        return Explained(standing, None, unread="Stripe is not connected")
    deadline = connected.provider.deadline(deps.timing.check_cut_seconds)
    answer = await connected.provider.retrieve_intent(standing.followed_intent_id, deadline)
    if not isinstance(answer, Shown):
        said = f"{answer.status} {answer.message}" if isinstance(answer, Refused) else answer.cause
        return Explained(standing, None, unread=said)
    row = following.read(answer.value.status, standing.status)
    step = Step(row.id, row.act.value, row.because)
    return Explained(standing, None, (answer.value,), (answer.value.status.value,), steps=(step,))


ACTS = {
    **{row.id: Step(row.id, row.act.value, row.because) for row in sweep.SWEEP},
    **{row.id: Step(row.id, row.act.value, row.because) for row in following.FOLLOW},
}
"""Every row that a check can end by."""


async def check_now(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Step | None:
    """The invoice was asked about and acted on; the row that decided, None if it moved meanwhile.

    Raises Refusal: invoice_not_found, hold_not_found, hold_live (its owner still works),
    payment_in_flight (a followed intent that was looked at moments ago, or a direct charge that may
    still be on its way), provider_unavailable.
    """
    standing = await _under_way(deps, scope, invoice_id)
    if standing.hold_until is not None:
        await _require_time(deps, scope, invoice_id, standing)
    connected = await deps.providers.of(scope)
    if standing.hold_until is not None:
        checked = await check(deps, connected, scope, invoice_id)
        if not checked.answered:
            raise _silent(invoice_id)
        return ACTS.get(checked.rule or "")
    return await _look_at_followed(deps, connected, scope, invoice_id, standing)


async def _require_time(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, standing: Standing
) -> None:
    """The hold has ended, and a direct one SWEEP_WAIT ago; else the `Refusal` that says so."""
    facts = await checks.facts(deps.db, scope, invoice_id)
    if _live(standing):
        owner = facts.own.kind.value if facts else "somebody"
        until = standing.hold_until
        raise Refusal(Code.HOLD_LIVE, invoice=invoice_id, actor=owner, hold_until=until)
    if facts is not None and too_early(facts, deps.timing):
        at = next_check_at(
            deps.timing,
            now=standing.now,
            hold_until=standing.hold_until,
            asked_at=standing.provider_synced_at,
            directly=True,
        )
        raise Refusal(Code.PAYMENT_IN_FLIGHT, invoice=invoice_id, next_check_at=at)


async def _look_at_followed(
    deps: Deps,
    connected: Connected | None,
    scope: Scope,
    invoice_id: InvoiceId,
    standing: Standing,
) -> Step | None:
    if connected is None:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    taken = await follows.take(deps.db, scope, limit=1, invoice_id=invoice_id)
    if not taken:
        at = next_check_at(
            deps.timing, now=standing.now, hold_until=None, asked_at=standing.provider_synced_at
        )
        raise Refusal(Code.PAYMENT_IN_FLIGHT, invoice=invoice_id, next_check_at=at)
    rule = await follow.look_at(deps, connected, scope, taken[0])
    if rule not in ACTS:
        raise _silent(invoice_id)
    return ACTS[rule]


def _silent(invoice_id: InvoiceId) -> Refusal:
    return Refusal(
        Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason="it did not answer", sent=NOTHING_SENT
    )
