"""Preparing: customers are set up at Stripe and each open invoice gets its one intent.

No money can move here. A lost answer is repeated with the same key and parameters (protocol
section 2).
"""

from enum import StrEnum

from anchorhold.domain.answer import (
    Deadline,
    Doubt,
    IntentStatus,
    IntentView,
    NothingSent,
    Refused,
    Result,
    Shown,
    Unclear,
    intent_in,
)
from anchorhold.domain.ids import key_of
from anchorhold.domain.intent import (
    METADATA_INVOICE,
    METADATA_NUMBER,
    IntentRow,
    IntentState,
    Unprepared,
    create_params,
)
from anchorhold.domain.preparing import Step, read
from anchorhold.domain.scope import Scope
from anchorhold.engine import accounts
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import customers, intents
from anchorhold.store.customers import Unready


class Prepared(StrEnum):
    """What a step of preparing came to."""

    DONE = "done"
    LATER = "later"
    REFUSED = "refused"
    USED_UP = "used_up"


async def set_up_customer(
    deps: Deps, connected: Connected, scope: Scope, customer: Unready
) -> Prepared:
    """The customer exists at Stripe with its payment method attached, as far as Stripe answered."""
    if customer.stripe_account != connected.stripe_account:
        return Prepared.LATER
    stripe_id = customer.stripe_customer_id or await _create(deps, connected, scope, customer)
    if stripe_id is None:
        return Prepared.LATER
    if customer.requested_method is None:
        return Prepared.DONE
    return await _attach(deps, connected, scope, customer, stripe_id)


async def _create(deps: Deps, connected: Connected, scope: Scope, customer: Unready) -> str | None:
    key = key_of(
        "customer",
        scope.account_id,
        customer.customer_id,
        customer.stripe_account,
        customer.key_number,
    )
    answer = await connected.provider.create_customer(
        customer.params, key, _deadline(deps, connected)
    )
    if isinstance(answer, Shown):
        return await customers.set_stripe_customer(deps.db, scope, customer, answer.value.id)
    await _refused_customer(deps, connected, scope, customer, answer)
    return None


async def _attach(
    deps: Deps, connected: Connected, scope: Scope, customer: Unready, stripe_id: str
) -> Prepared:
    method = customer.requested_method or ""
    answer = await connected.provider.attach_payment_method(
        method,
        stripe_id,
        key_of(
            "attach",
            scope.account_id,
            customer.customer_id,
            stripe_id,
            method,
            customer.key_number,
        ),
        _deadline(deps, connected),
    )
    if isinstance(answer, Shown):
        await customers.set_payment_method(deps.db, scope, customer, answer.value)
        return Prepared.DONE
    return await _refused_customer(deps, connected, scope, customer, answer)


async def _refused_customer(
    deps: Deps, connected: Connected, scope: Scope, customer: Unready, answer: Result[object]
) -> Prepared:
    step = read(answer)
    if not isinstance(answer, Refused) or step is Step.LATER:
        return Prepared.LATER
    if step is Step.ACCOUNT:
        await accounts.flag(deps, connected, scope, answer.message, status=answer.status)
        return Prepared.LATER
    if step is Step.NEXT_NUMBER:
        await customers.spend_key(deps.db, scope, customer)
        return Prepared.USED_UP
    await customers.refuse(
        deps.db, scope, customer, code=answer.label, message=answer.message, actor=deps.actor
    )
    return Prepared.REFUSED


async def prepare_intent(deps: Deps, connected: Connected, invoice: Unprepared) -> Prepared:
    """The invoice has its live intent, or it says why not; repeating this changes nothing."""
    scope, number = invoice.scope, invoice.next_number
    if invoice.stripe_account != connected.stripe_account:
        return Prepared.LATER
    row = await intents.begin(
        deps.db,
        invoice,
        key=key_of("intent", scope.account_id, invoice.invoice_id, number),
        params=create_params(invoice, number),
    )
    if row is None:
        return Prepared.LATER
    answer = await _created(deps, connected, invoice, row)
    if isinstance(answer, Shown):
        return await _name(deps, connected, invoice, row, answer.value)
    return await _not_created(deps, connected, invoice, row, answer)


async def _created(
    deps: Deps, connected: Connected, invoice: Unprepared, row: IntentRow
) -> Result[IntentView]:
    """The create's answer; an old row is first looked for, because its key may be pruned."""
    if row.is_old:
        seen = await connected.provider.list_intents(
            invoice.stripe_customer_id, None, _deadline(deps, connected)
        )
        if not isinstance(seen, Shown):
            return _unlisted(seen)
        for intent in seen.value.rows:
            if _is_of(intent, invoice, row):
                return Shown(intent)
    return await connected.provider.create_intent(
        row.params, row.idempotency_key, _deadline(deps, connected)
    )


def _unlisted(answer: Refused | NothingSent | Unclear) -> Refused | NothingSent | Unclear:
    """A list that failed spends no number: whether the intent is there is still to be seen."""
    if isinstance(answer, Refused) and read(answer) is Step.NEXT_NUMBER:
        return Unclear(Doubt.UNREADABLE_ANSWER, f"the list answered {answer.status}")
    return answer


def _is_of(intent: IntentView, invoice: Unprepared, row: IntentRow) -> bool:
    metadata = intent.metadata
    same = metadata.get(METADATA_INVOICE) == invoice.invoice_id
    return same and metadata.get(METADATA_NUMBER) == str(row.number)


async def _name(
    deps: Deps, connected: Connected, invoice: Unprepared, row: IntentRow, intent: IntentView
) -> Prepared:
    as_asked = (intent.amount, intent.currency) == (row.amount, invoice.currency)
    if as_asked and await intents.name(
        deps.db, invoice.scope, invoice.invoice_id, row.number, intent.id, actor=deps.actor
    ):
        return Prepared.DONE
    why = await intents.why_unnamed(deps.db, invoice.scope, invoice.invoice_id, row.number)
    waits = why is not None and why.state is IntentState.PREPARING
    if why is None or not (why.unwanted or (waits and not as_asked)):
        return Prepared.LATER
    return await _discard(deps, connected, invoice, row, intent)


async def _discard(
    deps: Deps, connected: Connected, invoice: Unprepared, row: IntentRow, intent: IntentView
) -> Prepared:
    canceled = await connected.provider.cancel_intent(intent.id, _deadline(deps, connected))
    return await _spend_if_canceled(deps, invoice, row, canceled)


async def _spend_if_canceled(
    deps: Deps, invoice: Unprepared, row: IntentRow, answer: Result[IntentView]
) -> Prepared:
    shown = intent_in(answer)
    if shown is None or shown.status is not IntentStatus.CANCELED:
        return Prepared.LATER
    return await _spend(deps, invoice, row, "nobody needs it any more")


async def _spend(deps: Deps, invoice: Unprepared, row: IntentRow, reason: str) -> Prepared:
    await intents.use_up(
        deps.db, invoice.scope, invoice.invoice_id, row.number, reason=reason, actor=deps.actor
    )
    return Prepared.USED_UP


async def _not_created(
    deps: Deps,
    connected: Connected,
    invoice: Unprepared,
    row: IntentRow,
    answer: Result[IntentView],
) -> Prepared:
    step = read(answer)
    if not isinstance(answer, Refused) or step is Step.LATER:
        return Prepared.LATER
    if step is Step.ACCOUNT:
        await accounts.flag(deps, connected, invoice.scope, answer.message, status=answer.status)
        return Prepared.LATER
    if step is Step.NEXT_NUMBER:
        return await _spend(deps, invoice, row, f"Stripe answered {answer.status}")
    await intents.refuse(
        deps.db,
        invoice.scope,
        invoice.invoice_id,
        row.number,
        code=answer.label,
        message=answer.message,
        actor=deps.actor,
    )
    return Prepared.REFUSED


def _deadline(deps: Deps, connected: Connected) -> Deadline:
    return connected.provider.deadline(deps.timing.deadline_auto_seconds)
