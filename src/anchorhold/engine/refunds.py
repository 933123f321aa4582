"""Refunds: asked for by a person, read from Stripe, undone when they fail later (section 8).

A request is committed before it is sent, once, under a key of its own. Whatever comes back,
Stripe's list of the intent's refunds says how things stand; a request that the list does not show
is sent again under the same key, while Stripe keeps it.
"""

from collections import Counter
from dataclasses import dataclass

from anchorhold.domain.answer import NothingSent, Refused, Result, Shown, Unclear
from anchorhold.domain.ids import PaymentId, RefundId, key_of
from anchorhold.domain.intent import METADATA_ACCOUNT, METADATA_INVOICE
from anchorhold.domain.notices import SETTLED_BY_REFUND
from anchorhold.domain.refund import (
    METADATA_REFUND,
    After,
    Refundable,
    RefundState,
    RefundView,
    read,
)
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import refunds as store
from anchorhold.store.refunds import RefundRow

TRIES = 3
"""So often a list is read again when another one was written meanwhile."""
PAGE = 20


@dataclass(frozen=True, slots=True)
class Refunded:
    """What came of a refund: the row that decided, and how far it is; minor units."""

    id: RefundId | None
    rule: str
    state: RefundState
    amount: int
    amount_refunded: int
    currency: str


async def refund(
    deps: Deps,
    scope: Scope,
    payment_id: PaymentId,
    amount: int | None,
    reason: str,
    *,
    refund_id: RefundId | None = None,
) -> Refunded:
    """The payment was given back in part or, without an amount, all that is left of it.

    Nothing left is done already: state `succeeded`, rule M2, nothing is sent. State `requested`:
    nobody can tell yet; the next tick asks. Whoever may have to find it again gives it its
    `refund_id`. Raises Refusal: payment_not_found,
    payment_not_refundable, payment_disputed, refund_too_large, refund_in_flight,
    provider_unavailable and provider_refused (nothing was given back).
    """
    payment = await _refundable(deps, scope, payment_id)
    connected = await _connected(deps, scope, payment)
    asked = payment.left if amount is None else amount
    if payment.left == 0:
        return Refunded(
            None, "M2", RefundState.SUCCEEDED, 0, payment.amount_refunded, payment.currency
        )
    if not 0 < asked <= payment.left:
        raise Refusal(Code.REFUND_TOO_LARGE, payment=payment_id, left=payment.left, amount=asked)
    refund_id = refund_id or store.new_id(deps.db)
    row = await _begin(deps, scope, payment, refund_id, asked, reason)
    return await _send(deps, connected, scope, row)


async def _refundable(deps: Deps, scope: Scope, payment_id: PaymentId) -> Refundable:
    payment = await store.facts(deps.db, scope, payment_id)
    if payment is None:
        raise Refusal(Code.PAYMENT_NOT_FOUND, id=payment_id)
    if payment.intent_id is None:
        raise Refusal(
            Code.PAYMENT_NOT_REFUNDABLE, payment=payment_id, reason="Stripe did not take it"
        )
    if payment.dispute in {"open", "lost"}:
        raise Refusal(Code.PAYMENT_DISPUTED, payment=payment_id)
    return payment


async def _connected(deps: Deps, scope: Scope, payment: Refundable) -> Connected:
    connected = await deps.providers.of(scope)
    if connected is None:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    if connected.stripe_account != payment.stripe_account:
        reason = "it is in another Stripe account than the one connected now"
        raise Refusal(Code.PAYMENT_NOT_REFUNDABLE, payment=payment.payment_id, reason=reason)
    return connected


async def _begin(
    deps: Deps,
    scope: Scope,
    payment: Refundable,
    refund_id: RefundId,
    amount: int,
    reason: str,
) -> RefundRow:
    params: dict[str, object] = {
        "payment_intent": payment.intent_id,
        "amount": amount,
        "metadata": {
            METADATA_ACCOUNT: scope.account_id,
            METADATA_INVOICE: payment.invoice_id,
            METADATA_REFUND: refund_id,
        },
    }
    row = await store.begin(
        deps.db,
        scope,
        refund_id,
        payment,
        amount=amount,
        reason=reason,
        key=key_of("refund", scope.account_id, refund_id),
        params=params,
        actor=deps.actor,
    )
    if row is None:
        raise Refusal(Code.REFUND_IN_FLIGHT, payment=payment.payment_id)
    return row


def _words(answer: Result[RefundView]) -> str:
    """The answer as a person and the log have it."""
    match answer:
        case Shown(value=refund):
            return refund.status.value
        case Refused(message=message):
            return message
        case NothingSent(cause=cause) | Unclear(cause=cause):
            return cause.value.replace("_", " ")


async def _send(deps: Deps, connected: Connected, scope: Scope, row: RefundRow) -> Refunded:
    """The request was sent, once; its answer decides by the table, and the list says the rest."""
    deadline = connected.provider.deadline(deps.timing.deadline_collect_seconds)
    answer = await connected.provider.create_refund(row.params, row.idempotency_key, deadline)
    rule = read(answer)
    said = _words(answer)
    deps.log.info("refund.answered", refund=row.id, rule=rule.id, said=said)
    if rule.after in {After.LIST, After.ASK, After.DONE_BEFORE, After.DISPUTED}:
        await refresh(deps, connected, scope, row.intent_id)
    if rule.after in {After.DONE_BEFORE, After.DISPUTED, After.REFUSED, After.NOT_SENT}:
        await store.end(deps.db, scope, row.id, RefundState.REFUSED, error=said, actor=deps.actor)
    _raise(row, rule.after, said)
    return await _outcome(deps, scope, row, rule.id)


def _raise(row: RefundRow, after: After, said: str) -> None:
    match after:
        case After.DISPUTED:
            raise Refusal(Code.PAYMENT_DISPUTED, payment=row.payment_id)
        case After.NOT_SENT:
            subject = f"a refund of {row.payment_id}"
            raise Refusal(
                Code.PROVIDER_UNAVAILABLE, subject=subject, sent=NOTHING_SENT, reason=said
            )
        case After.REFUSED:
            subject = f"a refund of {row.payment_id}"
            raise Refusal(Code.PROVIDER_REFUSED, subject=subject, sent=NOTHING_SENT, reason=said)
        case _:
            return


async def _outcome(deps: Deps, scope: Scope, row: RefundRow, rule: str) -> Refunded:
    payment = await store.facts(deps.db, scope, row.payment_id)
    state = await store.state(deps.db, scope, row.id)
    if payment is None or state is None:
        raise RuntimeError("a refund and its payment are never deleted")
    if rule == "M2":
        state = RefundState.SUCCEEDED
    return Refunded(row.id, rule, state, row.amount, payment.amount_refunded, payment.currency)


async def refresh(deps: Deps, connected: Connected, scope: Scope, intent_id: str | None) -> bool:
    """What Stripe lists of the intent's refunds is written; False: not now, ask again.

    Also False while the payment itself is not known here: it comes first.
    """
    if intent_id is None:
        return True
    for _ in range(TRIES):
        payment = await store.by_intent(deps.db, scope, intent_id)
        if payment is None:
            return False
        listed = await _listed(deps, connected, intent_id)
        if listed is None:
            return False
        if await _record(deps, scope, payment, listed):
            return True
    return False


async def _listed(
    deps: Deps, connected: Connected, intent_id: str
) -> tuple[RefundView, ...] | None:
    deadline = connected.provider.deadline(deps.timing.check_cut_seconds)
    answer = await connected.provider.list_refunds(intent_id, deadline)
    if isinstance(answer, Shown):
        return answer.value.rows
    deps.log.error("refunds.unread", intent=intent_id, answer=str(answer))
    return None


async def _record(
    deps: Deps, scope: Scope, payment: Refundable, listed: tuple[RefundView, ...]
) -> bool:
    return (
        await store.record(
            deps.db,
            scope,
            payment,
            listed,
            settled_by_refund=SETTLED_BY_REFUND,
            actor=deps.actor,
        )
        is not None
    )


async def finish(deps: Deps, connected: Connected, scope: Scope) -> dict[str, int]:
    """Every request whose answer is not known was asked about once; counts by how far it is."""
    counts: Counter[str] = Counter()
    while rows := await store.take_unfinished(deps.db, scope, limit=PAGE):
        for row in rows:
            counts[await _finish(deps, connected, scope, row)] += 1
    return counts


async def _finish(deps: Deps, connected: Connected, scope: Scope, row: RefundRow) -> str:
    """Stripe's list first; then once more under the same key, or never again when that is old."""
    if not await refresh(deps, connected, scope, row.intent_id):
        return RefundState.REQUESTED
    state = await store.state(deps.db, scope, row.id)
    if state is not RefundState.REQUESTED:
        return str(state)
    if row.is_old:
        error = "Stripe showed no refund for this request, and its key is spent"
        await store.end(deps.db, scope, row.id, RefundState.NOT_MADE, error=error, actor=deps.actor)
        return RefundState.NOT_MADE
    try:
        return (await _send(deps, connected, scope, row)).state
    except Refusal as refusal:  # it is on the row; nobody waits for it here
        deps.log.info("refund.refused", refund=row.id, error=refusal.sentence)
        return RefundState.REFUSED
