"""The one door for news from Stripe: each event is kept once and has its effect (section 9).

The tick's catch-up and the intake of webhooks both come through here. A success is applied from the
event; everything else is a hint to retrieve the object. Every effect is a conditional write, so
that any order, any repeat and any death between two statements come to the same end.
"""

from collections import Counter
from collections.abc import Mapping

from anchorhold.domain import news
from anchorhold.domain.answer import Decline
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.news import EventSource, News
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.scope import Scope
from anchorhold.engine import disputes, look, refunds
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import attempts, customer_news, events, follows, payments, watches
from anchorhold.store.events import Matched, Waiting

PAGE = 50
NOT_YET = "N0"
"""No row decided: about nothing known yet, or Stripe could not be asked; it comes again."""

SOURCES = {EventSource.CATCH_UP: Source.AUDIT, EventSource.WEBHOOK: Source.WEBHOOK}
"""Who brought the news, as payments and the journal tell it."""


async def take(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    event: StripeEvent,
    source: EventSource = EventSource.WEBHOOK,
) -> str | None:
    """The event is kept, and has had its effect unless it must wait; the id of the row.

    None: it is foreign, of a type that is not in question, was here before, or is being handled.
    The caller has verified its signature or read it from Stripe. Whatever is raised, the event
    stays: `act_waiting` tries it again.
    """
    if event.act is None or event.is_foreign(scope):
        return None
    await events.put(deps.db, scope, connected.stripe_account, [event], source)
    rows = await events.take(deps.db, scope, limit=1, event_id=event.id)
    return await act(deps, connected, scope, rows[0]) if rows else None


async def act_waiting(deps: Deps, connected: Connected, scope: Scope) -> dict[str, int]:
    """Every event that waits and whose turn it is was acted on once; counts by row.

    What one raises is raised again after the others.
    """
    counts: Counter[str] = Counter()
    failed: Exception | None = None
    while page := await events.take(deps.db, scope, limit=PAGE):
        for event in page:
            try:
                counts[await act(deps, connected, scope, event)] += 1
            except Exception as error:  # the other events have their turn
                deps.log.error(
                    "event.failed", stripe_event=event.id, type=event.type, exc_info=True
                )
                failed = failed or error
    if failed is not None:
        raise failed
    return counts


async def act(deps: Deps, connected: Connected, scope: Scope, event: Waiting) -> str:
    """One kept event had its effect, and is marked after it; the id of the row, N0 for later."""
    row = news.read(event.type)
    if row is None or event.stripe_account != connected.stripe_account:
        return NOT_YET
    if row.act in news.ABOUT_CUSTOMERS:
        await _customer(deps, scope, event, row)
        await events.done(deps.db, scope, event.id, rule=row.id, invoice_id=None)
        return row.id
    matched = await events.match(deps.db, scope, event)
    if matched is None:
        await events.unmatched(deps.db, scope, event.id)
        return NOT_YET
    if not await _effect(deps, connected, scope, event, matched, row):
        return NOT_YET
    await events.done(deps.db, scope, event.id, rule=row.id, invoice_id=matched.invoice_id)
    return row.id


async def _effect(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    event: Waiting,
    matched: Matched,
    row: news.Row,
) -> bool:
    match row.act:
        case News.SETTLE:
            return await _settle(deps, connected, scope, event, matched, row)
        case News.DECLINE:
            await _decline(deps, scope, event, matched.attempt_id, row)
            return await _look(deps, connected, scope, event, matched, row)
        case News.LOOK:
            return await _look(deps, connected, scope, event, matched, row)
        case News.REFUND:
            return await refunds.refresh(deps, connected, scope, event.intent_id)
        case News.DISPUTE:
            return await disputes.refresh(deps, connected, scope, event.object_id)
        case News.METHOD | News.GONE:
            raise AssertionError("it is about no invoice")


async def _customer(deps: Deps, scope: Scope, event: Waiting, row: news.Row) -> None:
    """One that is not known here changes nothing: its card is read when it is set up."""
    customer = event.summary.get("customer")
    if not isinstance(customer, str):
        return
    if row.act is News.GONE:
        await customer_news.gone(
            deps.db,
            scope,
            stripe_account=event.stripe_account,
            stripe_customer=customer,
            rule=row.id,
            actor=deps.actor,
        )
    elif news.chooses_method(event.type, event.summary.get("changed")):
        await customer_news.mended(
            deps.db,
            scope,
            stripe_account=event.stripe_account,
            stripe_customer=customer,
            since=event.created,
            rule=row.id,
            actor=deps.actor,
        )


async def _settle(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    event: Waiting,
    matched: Matched,
    row: news.Row,
) -> bool:
    """From the event's own object: what it shows has happened, whatever came after it."""
    success = success_of(event, matched.attempt_id)
    if success is None:
        intent_id = event.intent_id or event.object_id
        intent = await look.retrieve(deps, connected, matched.invoice_id, intent_id)
        if intent is None:
            return False
        success = Success.of(intent, matched.attempt_id)
    settled = await payments.settle(
        deps.db,
        scope,
        matched.invoice_id,
        success,
        SOURCES[event.source],
        actor=deps.actor,
        rule=row.id,
    )
    verdict = settled.verdict if settled else None
    deps.log.info("news.settled", invoice=matched.invoice_id, verdict=verdict)
    return True


def success_of(event: Waiting, attempt_id: AttemptId | None) -> Success | None:
    """The success that an event of one shows; None where it does not show all of it."""
    amount, currency = event.summary.get("amount_received"), event.summary.get("currency")
    charge = event.summary.get("charge")
    if type(amount) is not int or amount <= 0 or not isinstance(currency, str):
        return None
    return Success(
        intent_id=event.intent_id or event.object_id,
        amount=amount,
        amount_refunded=0,
        currency=currency,
        charge_id=charge if isinstance(charge, str) else None,
        attempt_id=attempt_id,
    )


async def _decline(
    deps: Deps, scope: Scope, event: Waiting, attempt_id: AttemptId | None, row: news.Row
) -> None:
    if attempt_id is None:
        return
    decline = decline_of(event.summary.get("decline"))
    await attempts.decline_by_key(
        deps.db, scope, attempt_id, decline, rule=row.id, actor=deps.actor
    )


def decline_of(said: object) -> Decline:
    """The decline as an event's summary keeps it."""
    facts: Mapping[object, object] = said if isinstance(said, Mapping) else {}
    words = {name: facts.get(name) for name in ("decline_code", "advice_code")}
    return Decline(
        str(facts.get("code") or "card_error"),
        *(word if isinstance(word, str) else None for word in words.values()),
        message=str(facts.get("message") or ""),
    )


async def _look(
    deps: Deps,
    connected: Connected,
    scope: Scope,
    event: Waiting,
    matched: Matched,
    row: news.Row,
) -> bool:
    """The intent is retrieved where that can change anything; False without an answer."""
    intent_id = event.intent_id or event.object_id
    invoice_id = matched.invoice_id
    followed = await follows.one(deps.db, scope, invoice_id, intent_id)
    at = followed or await watches.one(deps.db, scope, invoice_id, intent_id)
    if at is None or not news.worth_a_look(row.act, at.status, followed=followed is not None):
        return True  # held, another intent's, or nothing that a look could change
    intent = await look.retrieve(deps, connected, invoice_id, intent_id)
    if intent is None:
        return False
    await look.act(deps, connected, scope, at, intent, SOURCES[event.source])
    return True
