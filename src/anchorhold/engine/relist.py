"""Looking once more for a charge that was presumed not to exist (protocol section 6, Audit)."""

from datetime import timedelta

from anchorhold.domain.answer import UNDER_WAY, IntentStatus, IntentView, Page, Refused, Shown
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.intent import METADATA_INVOICE
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.presumed import Presumed, maker_among
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import payments, presumed


class CustomerGoneError(Refusal):
    """The customer was deleted at Stripe: looking again will never tell more."""

    def __init__(self, invoice_id: InvoiceId) -> None:
        reason = "its customer was deleted there"
        super().__init__(
            Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=reason, sent=NOTHING_SENT
        )


async def relist(
    deps: Deps, connected: Connected | None, scope: Scope, invoice_id: InvoiceId
) -> None:
    """Nothing new is known about the invoice, so the act may go on (A1, H8).

    An invoice without a `presumed_none` attempt is not asked about. Raises Refusal:
    provider_unavailable when Stripe does not answer or refuses to; paid_meanwhile for a success
    that was found, which is settled first; payment_in_flight when one is still processing.
    """
    rows = await presumed.of_invoice(deps.db, scope, invoice_id)
    if not rows:
        return
    found = await _listed(deps, connected, scope, invoice_id, rows)
    for intent in sorted(found, key=lambda intent: intent.created):
        if intent.status is IntentStatus.SUCCEEDED:
            await _settle(deps, scope, invoice_id, rows, intent)
    if any(intent.paid for intent in found):
        raise Refusal(Code.PAID_MEANWHILE, invoice=invoice_id)
    if any(intent.status in UNDER_WAY for intent in found):
        at = rows[0].now + timedelta(seconds=deps.timing.recheck_seconds)
        raise Refusal(Code.PAYMENT_IN_FLIGHT, invoice=invoice_id, next_check_at=at)


async def _listed(
    deps: Deps,
    connected: Connected | None,
    scope: Scope,
    invoice_id: InvoiceId,
    rows: list[Presumed],
) -> list[IntentView]:
    """Every intent of the invoice that no payment of ours knows; the oldest attempt decides."""
    if connected is None or any(r.stripe_account != connected.stripe_account for r in rows):
        raise _unavailable(invoice_id, "its Stripe account is not connected")
    oldest = min(row.claimed_at for row in rows).timestamp()
    since = int(oldest - deps.timing.list_back_seconds)
    deadline = connected.provider.deadline(deps.timing.check_cut_seconds)
    customer = rows[0].stripe_customer_id
    owner = await connected.provider.retrieve_customer(customer, deadline)
    if not isinstance(owner, Shown):
        raise _unavailable(invoice_id, "Stripe did not show its customer")
    if owner.value.deleted:
        raise CustomerGoneError(invoice_id)
    back = None if owner.value.test_clock else since
    seen = await connected.provider.list_intents(customer, back, deadline)
    if not isinstance(seen, Shown):
        said = f"it answered {seen.status}" if isinstance(seen, Refused) else "it did not answer"
        raise _unavailable(invoice_id, said)
    return _unknown(seen.value, invoice_id, rows)


def _unknown(
    page: Page[IntentView], invoice_id: InvoiceId, rows: list[Presumed]
) -> list[IntentView]:
    known = frozenset(rows[0].known_intents)
    ours = (one for one in page.rows if one.metadata.get(METADATA_INVOICE) == invoice_id)
    return [intent for intent in ours if intent.id not in known]


async def _settle(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, rows: list[Presumed], intent: IntentView
) -> None:
    maker = maker_among(scope, invoice_id, rows, intent)
    await payments.settle(
        deps.db,
        scope,
        invoice_id,
        Success.of(intent, maker),
        Source.AUDIT,
        actor=deps.actor,
        rule="S1" if intent.paid else "S2",
    )


def _unavailable(invoice_id: InvoiceId, reason: str) -> Refusal:
    return Refusal(Code.PROVIDER_UNAVAILABLE, subject=invoice_id, reason=reason, sent=NOTHING_SENT)
