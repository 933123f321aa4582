"""TABLE: every read of the store that is about one account and mode."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from anchorhold.domain.ids import CustomerId, EndpointId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store import (
    accounts,
    checks,
    endpoints,
    events,
    follows,
    intents,
    invoices,
    messages,
    pages,
    presumed,
    recoveries,
    refunds,
    signing_secrets,
    views_attempts,
    views_customers,
    views_events,
    views_invoices,
    views_journal,
    views_notices,
    views_payments,
    views_refunds,
    views_webhooks,
    watches,
)
from anchorhold.store import credits as credit
from anchorhold.store.db import Db
from anchorhold.store.views_events import DeliveryFilter
from anchorhold.store.views_invoices import InvoiceFilter, Lanes
from tests.store import asking, billing, dunned, lost, news, paging

INVOICE = InvoiceId("inv_" + "1".rjust(26, "0"))
PI = "pi_" + "1".rjust(26, "0")
REFERENCE = "R" + "1".rjust(26, "0")
RICH = InvoiceId("inv_" + "3".rjust(26, "0"))
RICH_CUSTOMER = CustomerId("cus_" + "3".rjust(26, "0"))
RETURNED = InvoiceId("inv_" + "4".rjust(26, "0"))
CUSTOMER = "cus_" + "1".rjust(26, "0")


@dataclass(frozen=True)
class Read:
    """One read. `run` asks for what the scene has; a stranger is told `nothing`."""

    functions: tuple[str, ...]
    run: Callable[[Db, Scope], Coroutine[Any, Any, Any]]
    nothing: Any = None

    def __str__(self) -> str:
        return self.functions[0]


def _read(
    function: str, run: Callable[[Db, Scope], Coroutine[Any, Any, Any]], nothing: Any = None
) -> Read:
    return Read((function,), run, nothing)


async def _oldest_live(db: Db, scope: Scope) -> bool:
    return await recoveries.oldest_live(db, scope) is not None


async def _trial(db: Db, scope: Scope) -> str | None:
    due = await messages.trial(db, scope, EndpointId("whe_trial"))
    return due.url if due else None


ANY = InvoiceFilter()

# fmt: off
READS = (
    _read("accounts.connection", accounts.connection),
    Read(("checks._invoice", "checks._attempts"),
         lambda db, scope: checks.facts(db, scope, INVOICE)),
    _read("credits.balances", lambda db, scope: credit.balances(
        db, scope, RICH_CUSTOMER), []),
    _read("credits.entries", lambda db, scope: credit.entries(
        db, scope, RICH_CUSTOMER, limit=9), []),
    _read("credits.without_stripe", lambda db, scope: credit.without_stripe(
        db, scope, limit=9), []),
    _read("credits.covers", lambda db, scope: credit.covers(db, scope, RICH), nothing=False),
    _read("pages.given_back", lambda db, scope: pages.given_back(db, scope, RETURNED), []),
    _read("intents.why_unnamed", lambda db, scope: intents.why_unnamed(db, scope, INVOICE, 1)),
    _read("presumed.of_invoice", lambda db, scope: presumed.of_invoice(db, scope, INVOICE), []),
    _read("invoices.standing", lambda db, scope: invoices.standing(db, scope, INVOICE)),
    _read("recoveries.look_up", lambda db, scope: recoveries.look_up(
        db, scope, [("pi_lost", INVOICE)]), [lost.standing("pi_lost", INVOICE, known=False)]),
    _read("recoveries.oldest_live", _oldest_live, nothing=False),
    _read("views_attempts.page", lambda db, scope: views_attempts.page(
        db, scope, state=None, invoice_id=None, after=None, limit=9), []),
    _read("views_attempts.count", lambda db, scope: views_attempts.count(
        db, scope, state=None, invoice_id=None), 0),
    _read("views_customers.page", lambda db, scope: views_customers.page(
        db, scope, after=None, limit=9), []),
    _read("views_customers.count", views_customers.count, 0),
    _read("views_customers.one", lambda db, scope: views_customers.one(db, scope, CUSTOMER)),
    _read("views_invoices.page", lambda db, scope: views_invoices.page(
        db, scope, ANY, after=None, limit=9), []),
    _read("views_invoices.count", lambda db, scope: views_invoices.count(db, scope, ANY), 0),
    _read("views_invoices.one", lambda db, scope: views_invoices.one(db, scope, REFERENCE)),
    _read("views_invoices.under_way", lambda db, scope: views_invoices.under_way(
        db, scope, after=None, limit=9), []),
    _read("views_invoices.lanes", views_invoices.lanes, Lanes(0, 0, 0)),
    _read("views_invoices.known", lambda db, scope: views_invoices.known(
        db, scope, [REFERENCE]), []),
    _read("views_journal.of_invoice", lambda db, scope: views_journal.of_invoice(
        db, scope, INVOICE), []),
    _read("views_notices.page", lambda db, scope: views_notices.page(
        db, scope, resolved=False, after=None, limit=9), []),
    _read("views_notices.count", lambda db, scope: views_notices.count(
        db, scope, resolved=False), 0),
    _read("views_payments.page", lambda db, scope: views_payments.page(
        db, scope, invoice_id=None, after=None, limit=9), []),
    _read("events.match", lambda db, scope: events.match(db, scope, news.waiting())),
    _read("follows.one", lambda db, scope: follows.one(
        db, scope, InvoiceId(INVOICE[:-1] + "2"), PI[:-1] + "2")),
    _read("watches.one", lambda db, scope: watches.one(
        db, scope, InvoiceId(INVOICE[:-1] + "5"), PI[:-1] + "5")),
    _read("refunds.facts", lambda db, scope: refunds.facts(db, scope, news.PAY)),
    _read("refunds.by_intent", lambda db, scope: refunds.by_intent(db, scope, PI)),
    _read("refunds.state", lambda db, scope: refunds.state(db, scope, news.RFD)),
    _read("views_events.page", lambda db, scope: views_events.page(
        db, scope, invoice_id=None, after=None, limit=9), []),
    _read("views_events.one", lambda db, scope: views_events.one(db, scope, "evt_1")),
    _read("views_events.count", lambda db, scope: views_events.count(
        db, scope, invoice_id=None), 0),
    _read("views_events.deliveries", lambda db, scope: views_events.deliveries(
        db, scope, DeliveryFilter(), after=None, limit=9), []),
    _read("views_events.count_deliveries", lambda db, scope: views_events.count_deliveries(
        db, scope, DeliveryFilter()), 0),
    _read("views_notices.one", lambda db, scope: views_notices.one(db, scope, news.NTC)),
    _read("views_payments.one", lambda db, scope: views_payments.one(db, scope, PI)),
    _read("messages.trial", _trial),
    _read("endpoints.all_of", endpoints.all_of, []),
    _read("signing_secrets.all_of", signing_secrets.all_of, []),
    _read("views_webhooks.deliveries", lambda db, scope: views_webhooks.deliveries(
        db, scope, endpoint_id=None, state=None, after=None, limit=9), []),
    _read("views_webhooks.count", lambda db, scope: views_webhooks.count(
        db, scope, endpoint_id=None, state=None), 0),
    _read("views_refunds.of_payment", lambda db, scope: views_refunds.of_payment(
        db, scope, news.PAY), []),
    _read("views_payments.count", lambda db, scope: views_payments.count(
        db, scope, invoice_id=None), 0),
    *(_read(*row) for row in billing.READS),
    *(_read(*row) for row in dunned.READS),
    *(_read(*row) for row in paging.READS),
    *(_read(*row) for row in asking.READS),
)
"""Every scoped read. A function of the store that reads and is not here fails a test."""
# fmt: on

UNSCOPED = {
    "api_keys.find": "a key says whose it is: it is looked up before anybody is known",
    "accounts.all_accounts": "an operator's list of all accounts",
    "accounts.scopes": "whom a worker works for",
    "checks.now": "the clock",
    "metrics.connections": "how all accounts stand, for alarms",
    "metrics.followed": "a gauge of the whole database",
    "metrics.holds": "gauges of the whole database",
    "metrics.jobs_waiting": "the queue of all accounts",
    "metrics.open_notices": "a gauge of the whole database",
    "metrics.parks_without_hold": "a gauge of the whole database",
    "signing_secrets.active": "an account by its name in an address, and its two modes",
    "schema.current": "the schema's version",
}
"""Reads that are about no account, and what they are about."""
