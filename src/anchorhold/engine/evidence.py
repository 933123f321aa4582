"""What Stripe shows about a hold: the evidence of one check (protocol section 6).

Reads only. Never through the breaker, never Stripe's Search.
"""

from dataclasses import replace

from anchorhold.domain.answer import (
    CustomerView,
    Deadline,
    Decline,
    IntentStatus,
    IntentView,
    NothingSent,
    Page,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.domain.intent import METADATA_INVOICE
from anchorhold.domain.sweep import Evidence, HoldFacts, Unread, declined_direct, own_decline
from anchorhold.domain.timing import Timing
from anchorhold.engine.deps import Connected
from anchorhold.stripe.port import Provider

REFUSED_FOR_GOOD = frozenset({400, 401, 403, 404})
DECLINED_EVENT = "payment_intent.payment_failed"


async def gather(connected: Connected, facts: HoldFacts, timing: Timing) -> Evidence:
    """All that Stripe shows about the invoice, or why nothing could be read.

    The intent by its id when the attempt knows one; otherwise the customer's list. An attempt of
    another Stripe account than the connected one cannot be asked about (H15).
    """
    if facts.own.stripe_account not in (None, connected.stripe_account):
        return Evidence(unread=Unread.REFUSED, error="another Stripe account is connected")
    deadline = connected.provider.deadline(timing.check_cut_seconds)
    seen = await _ask(connected.provider, facts, timing, deadline)
    return replace(seen, until=deadline)


async def _ask(
    provider: Provider, facts: HoldFacts, timing: Timing, deadline: Deadline
) -> Evidence:
    if facts.own_intent is not None:
        return await _by_id(provider, facts, facts.own_intent, deadline)
    if facts.customer is None:
        return Evidence(unread=Unread.NO_CUSTOMER)
    return await _by_list(provider, facts, facts.customer, timing, deadline)


async def _by_id(
    provider: Provider, facts: HoldFacts, intent_id: str, deadline: Deadline
) -> Evidence:
    seen = await provider.retrieve_intent(intent_id, deadline)
    if not isinstance(seen, Shown):
        return _unread(seen)
    intent = seen.value
    decline = await _decline(provider, facts, intent, deadline)
    return Evidence(intents=(intent,), own_decline=decline)


def _unread(answer: Refused | NothingSent | Unclear) -> Evidence:
    if isinstance(answer, Refused):
        for_good = answer.status in REFUSED_FOR_GOOD
        why = Unread.REFUSED if for_good else Unread.LATER
        return Evidence(unread=why, error=f"{answer.status} {answer.message}", answered=True)
    return Evidence(unread=Unread.LATER, error=f"{answer.cause}", answered=False)


async def _decline(
    provider: Provider, facts: HoldFacts, intent: IntentView, deadline: Deadline
) -> Decline | None:
    """The own attempt's decline, by a charge that only it can have made, or by its event (S7)."""
    if facts.own.direct:
        return declined_direct(facts, (intent,))
    failed = intent.payable or intent.status is IntentStatus.CANCELED
    if facts.own.sent_at is None or intent.last_error is None or not failed:
        return None
    latest = [intent.latest_charge] if intent.latest_charge else []
    return own_decline(facts, latest) or await _declined_by_event(provider, facts, intent, deadline)


async def _declined_by_event(
    provider: Provider, facts: HoldFacts, intent: IntentView, deadline: Deadline
) -> Decline | None:
    if facts.own.sent_at is None:
        return None
    since = int(facts.own.sent_at.timestamp()) - 60
    events = await provider.list_events((DECLINED_EVENT,), since, deadline)
    if not isinstance(events, Shown):
        return None
    for event in events.value.rows:
        if event.object_id == intent.id and event.idempotency_key == facts.own.idempotency_key:
            return event.decline or intent.last_error
    return None


async def _by_list(
    provider: Provider, facts: HoldFacts, customer: str, timing: Timing, deadline: Deadline
) -> Evidence:
    """The invoice's intents in the customer's list; that the own one is missing is looked up.

    A customer on a test clock has its intents dated by that clock: its list is read whole (H18).
    """
    oldest = facts.oldest_unproven.timestamp()
    since = int(oldest - timing.list_back_seconds)
    seen = await provider.list_intents(customer, since, deadline)
    if not isinstance(seen, Shown):
        return _unread(seen)
    if not _shows_own(facts, seen.value):
        owner = await provider.retrieve_customer(customer, deadline)
        if not isinstance(owner, Shown) or owner.value.deleted:
            return _gone(owner)
        if owner.value.test_clock:
            seen = await provider.list_intents(customer, None, deadline)
    if not isinstance(seen, Shown):
        return _unread(seen)
    ours = _of_invoice(seen.value, facts.token.invoice_id)
    return Evidence(intents=ours, own_decline=declined_direct(facts, ours))


def _shows_own(facts: HoldFacts, page: Page[IntentView]) -> bool:
    """The list shows what the own attempt made; a prepared one is content with the invoice's."""
    ours = _of_invoice(page, facts.token.invoice_id)
    if not facts.own.direct:
        return bool(ours)
    return any(facts.maker(intent) == facts.own.id for intent in ours)


def _of_invoice(page: Page[IntentView], invoice_id: str) -> tuple[IntentView, ...]:
    return tuple(
        intent for intent in page.rows if intent.metadata.get(METADATA_INVOICE) == invoice_id
    )


def _gone(customer: Result[CustomerView]) -> Evidence:
    """An empty list counts only for a customer that exists and is not deleted (R17)."""
    if not isinstance(customer, Shown):
        return _unread(customer)
    return Evidence(unread=Unread.REFUSED, error="the customer was deleted at Stripe")
