"""At a million invoices every statement finds its rows by an index, and touches few pages."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from psycopg import AsyncConnection

from anchorhold.domain.answer import Decline
from anchorhold.domain.attempt import AttemptKind, AttemptState
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.hold import Claim, Token
from anchorhold.domain.ids import (
    AttemptId,
    CustomerId,
    DeliveryId,
    EndpointId,
    EventDeliveryId,
    InvoiceId,
    MessageId,
    NoticeId,
    PaymentId,
    RefundId,
    SigningSecretId,
)
from anchorhold.domain.intent import Unprepared
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.news import EventSource
from anchorhold.domain.payment import Source
from anchorhold.domain.refund import Refundable, RefundState
from anchorhold.domain.timing import Timing
from anchorhold.store import (
    attempts,
    blocked,
    checks,
    closes,
    customer_news,
    customers,
    event_cursors,
    event_deliveries,
    events,
    follows,
    holds,
    intents,
    invoices,
    lost_intents,
    messages,
    metrics,
    notices,
    pages,
    payments,
    recoveries,
    refunds,
    repairs,
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
from anchorhold.store.customers import Unready
from anchorhold.store.db import Db
from anchorhold.store.follows import Followed
from anchorhold.store.invoices import NewInvoice
from anchorhold.store.messages import Due, Try
from anchorhold.store.views_events import DeliveryFilter
from anchorhold.store.views_invoices import InvoiceFilter
from anchorhold.store.watches import Watched
from tests import database as databases
from tests.store import asking, billing, closing, direct, dunned, lost, million, news, paging
from tests.store.explain import ALONE, GENERIC, ExplainDb
from tests.store.million import number
from tests.store.scene import ACTOR, DECLINE, NO_TRACE, OURS, success
from tests.store.statements import statements
from tests.store.two import OPTIONS

pytestmark = pytest.mark.xdist_group("million")

TIMING = Timing()
MANY = [number("paid", n) for n in range(99)]
KEPT_PAID = next(one for one in MANY if int(one) % 4 == 0 and int(one) % 20)
PAID = Refundable(
    PaymentId(f"pay_{KEPT_PAID}"), InvoiceId(f"inv_{KEPT_PAID}"), f"pi_{KEPT_PAID}", "acct_1",
    14900, 0, 0, "eur", None, 0,
)  # fmt: skip
OPEN_NOTICE = next(one for one in (number("blocked", n) for n in range(99)) if not int(one) % 10)
THE_DECLINE = Decline("card_declined")
HOLD_UNTIL = "SELECT hold_until FROM anchorhold.invoice WHERE id = %s"
LIMIT = 50


def inv(kind: str) -> InvoiceId:
    """The second of a kind: the first one's customer has no payment method."""
    return InvoiceId(f"inv_{number(kind, 1)}")


def pi(kind: str) -> str:
    return f"pi_{number(kind, 1)}"


@dataclass(frozen=True)
class Case:
    """A call, and how many pages all of its statements may touch."""

    function: str
    pages: int
    call: Callable[[Db, "Held"], Coroutine[Any, Any, Any]]
    note: str = ""
    finds: bool = True
    """Whether there is anything to do; False where the million has no such row to change."""

    def __str__(self) -> str:
        return f"{self.function} {self.note}".strip()


@dataclass(frozen=True)
class Held:
    """Tokens of invoices that are held in the million."""

    live: Token
    stale: Token


def _claim(held: Held) -> Claim:
    return Claim(held.live, AttemptKind.AUTO, pi("held"), 14900, "eur", "pm", False, "acct_1")


def _unprepared() -> Unprepared:
    return Unprepared(OURS, inv("unprepared"), 14900, "eur", "acct_1", "cus_stripe1", ("card",), 1)


def _unready(n: int) -> Unready:
    return Unready(CustomerId(f"cus_{n:026}"), "acct_1", {}, f"cus_stripe{n}", "pm_card_visa", 1)


def _new(n: int) -> NewInvoice:
    return NewInvoice(f"new {n}", f"C{n:026}", None, None, 500, "eur", datetime.now(UTC))


def _followed() -> Followed:
    return Followed(
        inv("followed"), pi("followed"), 1, InvoiceStatus.OPEN, PaymentStatus.PROCESSING
    )


def _watched() -> Watched:
    return Watched(inv("watched"), pi("watched"), 1, InvoiceStatus.OPEN)


async def _take_checks(db: Db) -> Any:
    return await checks.take(db, OURS, TIMING, run_started=await checks.now(db), limit=LIMIT)


ANY = InvoiceFilter()
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
DUE = Due(DeliveryId(f"dlv_{180:026}"), EndpointId("whe_1"), "https://example.com", b"", None, 1, 0,
          LONG_AGO, MessageId("msg"), "invoice.paid", LONG_AGO, 1, {})  # fmt: skip
DELIVERY = event_deliveries.Delivery(
    EventDeliveryId("edl_new"), "valid", 9, "::1", SigningSecretId("sgn_1"), 0, "evt_new", "x"
)
EVENT = StripeEvent("evt_new", "payment_intent.succeeded", 1, "pi_1")
TRY = Try("O5", "500", 12, "", delivered=False, wait_s=300)

# fmt: off
NEWS = (
    Case("attempts.decline_by_key", 60, lambda db, _: attempts.decline_by_key(
        db, OURS, AttemptId(f"att_{number('watched', 1)}"), THE_DECLINE, rule="N2", actor=ACTOR)),
    Case("blocked.missed", 60, lambda db, _: blocked.missed(
        db, OURS, limit=LIMIT, actor=ACTOR), finds=False),
    Case("customer_news.mended", 100, lambda db, _: customer_news.mended(
        db, OURS, stripe_account="acct_1", stripe_customer="cus_stripe1", since=LONG_AGO,
        rule="N7", actor=ACTOR), finds=False),
    Case("customer_news.gone", 100, lambda db, _: customer_news.gone(
        db, OURS, stripe_account="acct_1", stripe_customer="cus_stripe1", rule="N8", actor=ACTOR)),
    Case("disputes.record", 60, lambda db, _: news.dispute(db, OURS, PAID)),
    Case("event_cursors.begin", 60, lambda db, _: event_cursors.begin(db, OURS, "acct_1")),
    Case("event_cursors.advance", 60, lambda db, _: event_cursors.advance(
        db, OURS, "acct_1", read_to=datetime.now(UTC))),
    Case("event_cursors.gap", 60, lambda db, _: event_cursors.gap(
        db, OURS, "acct_1", notice_id="ntc_gap")),
    Case("events.put", 300, lambda db, _: events.put(
        db, OURS, "acct_1", [news.event_of(n) for n in range(10)], EventSource.WEBHOOK)),
    Case("events.take", 2000, lambda db, _: events.take(db, OURS, limit=LIMIT)),
    Case("events.take", 60, lambda db, _: events.take(
        db, OURS, limit=1, event_id=f"evt_{2000:026}"), "of one"),
    Case("events.match", 60, lambda db, _: events.match(db, OURS, news.waiting())),
    Case("events.done", 60, lambda db, _: events.done(
        db, OURS, f"evt_{2000:026}", rule="N1", invoice_id=InvoiceId(f"inv_{2000:026}"))),
    Case("events.again", 60, lambda db, _: events.again(db, OURS, f"evt_{2100:026}")),
    Case("events.again_between", 3000, lambda db, _: events.again_between(
        db, OURS, since=LONG_AGO, until=LONG_AGO), finds=False),
    Case("events.unmatched", 60, lambda db, _: events.unmatched(db, OURS, f"evt_{2000:026}")),
    Case("follows.one", 60, lambda db, _: follows.one(
        db, OURS, inv("followed"), pi("followed"))),
    Case("watches.one", 60, lambda db, _: watches.one(db, OURS, inv("watched"), pi("watched"))),
    Case("notices.resolve", 60, lambda db, _: notices.resolve(
        db, OURS, NoticeId(f"ntc_{OPEN_NOTICE}"), resolution="x", actor=ACTOR)),
    Case("refunds.facts", 60, lambda db, _: refunds.facts(db, OURS, PAID.payment_id)),
    Case("refunds.by_intent", 60, lambda db, _: refunds.by_intent(db, OURS, f"pi_{KEPT_PAID}")),
    Case("refunds.state", 60, lambda db, _: refunds.state(
        db, OURS, RefundId(f"rfd_{200:026}"))),
    Case("refunds.begin", 60, lambda db, _: news.begin(db, OURS, PAID)),
    Case("refunds.take_unfinished", 2000, lambda db, _: refunds.take_unfinished(
        db, OURS, limit=LIMIT)),
    Case("refunds.end", 60, lambda db, _: refunds.end(
        db, OURS, RefundId(f"rfd_{200:026}"), RefundState.REFUSED, error="x", actor=ACTOR)),
    Case("refunds.record", 100, lambda db, _: news.record(db, OURS, PAID)),
    Case("repairs.take", 60, lambda db, held: repairs.take(
        db, OURS, TIMING, held.stale.invoice_id)),
    Case("views_events.page", 200, lambda db, _: views_events.page(
        db, OURS, invoice_id=None, after=None, limit=LIMIT)),
    Case("views_events.page", 60, lambda db, _: views_events.page(
        db, OURS, invoice_id=InvoiceId(f"inv_{2000:026}"), after=None, limit=LIMIT), "of one"),
    Case("views_events.one", 60, lambda db, _: views_events.one(db, OURS, f"evt_{2000:026}")),
    Case("views_notices.one", 60, lambda db, _: views_notices.one(
        db, OURS, f"ntc_{number('blocked', 1)}")),
    Case("views_payments.one", 60, lambda db, _: views_payments.one(db, OURS, f"pi_{KEPT_PAID}")),
    Case("views_refunds.of_payment", 60, lambda db, _: views_refunds.of_payment(
        db, OURS, PaymentId(f"pay_{200:026}"))),
)
"""What news does and reads."""

CASES = (
    *(Case(*row) for row in direct.cases(TIMING, LIMIT)),
    *(Case(*row) for row in billing.cases(LIMIT)),
    *(Case(*row) for row in dunned.cases(LIMIT, inv)),
    *(Case(*row) for row in paging.cases(inv)),
    *(Case(*row) for row in asking.cases(inv)),
    Case("holds.claim_due", 2500, lambda db, _: holds.claim_due(
        db, OURS, TIMING, limit=LIMIT, actor=ACTOR)),
    Case("holds.claim", 60, lambda db, _: holds.claim(
        db, OURS, TIMING, inv("due"), AttemptKind.COLLECT, actor=ACTOR)),
    Case("holds.recheck", 60, lambda db, held: holds.recheck(
        db, _claim(held), TIMING, key="key", params={}, deadline_s=30)),
    Case("holds.end", 100, lambda db, held: holds.end(
        db, held.stale, NO_TRACE, states=frozenset({AttemptState.UNKNOWN}),
        statuses=frozenset({InvoiceStatus.OPEN}), actor=ACTOR)),
    Case("closes.claim", 60, lambda db, _: closes.claim(
        db, OURS, TIMING, inv("due"), AttemptKind.CLOSE, actor=ACTOR)),
    Case("closes.release", 100, lambda db, _: _closing(db, closing.release)),
    Case("closes.write_off_under_way", 60, lambda db, held: closes.write_off_under_way(
        db, OURS, held.stale.invoice_id, reason="x", actor=ACTOR)),
    Case("final_writes.finish", 100, lambda db, _: _closing(db, closing.finish)),
    Case("final_writes.amend", 100, lambda db, _: _closing(db, closing.amend)),
    Case("credits.give", 60, lambda db, _: _give(db)),
    Case("credits.balances", 100, lambda db, _: _given(db, lambda: credit.balances(
        db, OURS, CustomerId(f"cus_{7:026}")))),
    Case("credits.entries", 100, lambda db, _: _given(db, lambda: credit.entries(
        db, OURS, CustomerId(f"cus_{7:026}"), limit=LIMIT))),
    Case("credits.covers", 100, lambda db, _: _given(db, lambda: credit.covers(
        db, OURS, inv("due"))), finds=False),
    Case("credits.without_stripe", 300, lambda db, _: _given(db, lambda: credit.without_stripe(
        db, OURS, limit=LIMIT)), finds=False),
    Case("pages.open_page", 100, lambda db, _: pages.open_page(
        db, OURS, inv("due"), actor=ACTOR)),
    Case("pages.take_unprepared", 60, lambda db, _: pages.take_unprepared(
        db, OURS, inv("unprepared"), page=False, lease_s=60)),
    Case("pages.given_back", 60, lambda db, _: pages.given_back(
        db, OURS, inv("paid")), finds=False),
    Case("pages.abandon_intent", 60, lambda db, _: pages.abandon_intent(
        db, OURS, inv("due"), reason="x", actor=ACTOR), finds=False),
    Case("attempts.late_decline", 60, lambda db, held: attempts.late_decline(
        db, held.stale, DECLINE, actor=ACTOR)),
    Case("payments.settle", 100, lambda db, held: payments.settle(
        db, OURS, held.stale.invoice_id, success(held.stale.invoice_id), Source.SWEEP,
        actor=ACTOR, clears=held.stale)),
    Case("checks.take", 1500, lambda db, _: _take_checks(db)),
    Case("checks.facts", 60, lambda db, held: checks.facts(db, OURS, inv("stale"))),
    Case("checks.keep", 60, lambda db, held: checks.keep(
        db, held.stale, rule="S14", error="", actor=ACTOR, follows=False)),
    Case("metrics.holds", 1500, lambda db, _: metrics.holds(db, TIMING)),
    Case("metrics.parks_without_hold", 10, lambda db, _: metrics.parks_without_hold(db),
         finds=False),
    Case("metrics.followed", 4000, lambda db, _: metrics.followed(db)),
    Case("metrics.open_notices", 500, lambda db, _: metrics.open_notices(db)),
    Case("follows.take", 2000, lambda db, _: follows.take(db, OURS, limit=LIMIT)),
    Case("follows.take", 60, lambda db, _: follows.take(
        db, OURS, limit=1, invoice_id=inv("followed")), "of one"),
    Case("follows.end", 60, lambda db, _: follows.end(
        db, OURS, _followed(), decline=None, canceled=True, rule="F3", actor=ACTOR)),
    Case("watches.take", 3000, lambda db, _: watches.take(db, OURS, limit=LIMIT)),
    Case("watches.follow", 60, lambda db, _: watches.follow(
        db, OURS, _watched(), rule="W2", actor=ACTOR)),
    Case("watches.end", 60, lambda db, _: watches.end(
        db, OURS, _watched(), rule="W3", actor=ACTOR)),
    Case("intents.take_unprepared", 2500, lambda db, _: intents.take_unprepared(
        db, OURS, limit=LIMIT)),
    Case("intents.take_unprepared", 300, lambda db, _: intents.take_unprepared(
        db, OURS, limit=1, invoice_id=inv("unprepared")), "of one"),
    Case("intents.begin", 60, lambda db, _: intents.begin(
        db, _unprepared(), key="key", params={})),
    Case("intents.name", 150, lambda db, _: _named(db)),
    Case("intents.use_up", 100, lambda db, _: _used_up(db)),
    Case("intents.refuse", 60, lambda db, _: intents.refuse(
        db, OURS, inv("unprepared"), 1, code="x", message="No.", actor=ACTOR)),
    Case("intents.why_unnamed", 60, lambda db, _: intents.why_unnamed(db, OURS, inv("due"), 1)),
    Case("invoices.standing", 60, lambda db, _: invoices.standing(db, OURS, inv("due"))),
    Case("invoices.take_in", 2500, lambda db, _: invoices.take_in(
        db, OURS, [_new(n) for n in range(LIMIT)], actor=ACTOR)),
    Case("customers.take_unready", 2000, lambda db, _: customers.take_unready(
        db, OURS, limit=LIMIT)),
    Case("customers.take_unready", 60, lambda db, _: customers.take_unready(
        db, OURS, limit=1, invoice_id=InvoiceId(f"inv_{0:026}")), "of one"),
    Case("customers.begin", 60, lambda db, _: customers.begin(
        db, OURS, CustomerId(f"cus_{1:026}"), params={}, stripe_customer_id=None,
        payment_method=None), finds=False),
    Case("customers.begin_all", 100, lambda db, _: customers.begin_all(
        db, OURS, [CustomerId(f"cus_{1:026}")]), finds=False),
    Case("customers.set_stripe_customer", 60, lambda db, _: customers.set_stripe_customer(
        db, OURS, _unready(0), "cus_new"), finds=False),
    Case("customers.set_payment_method", 60, lambda db, _: customers.set_payment_method(
        db, OURS, _unready(0), "pm_new")),
    Case("customers.spend_key", 60, lambda db, _: customers.spend_key(db, OURS, _unready(0))),
    Case("customers.refuse", 60, lambda db, _: customers.refuse(
        db, OURS, _unready(0), code="x", message="No.", actor=ACTOR)),
    Case("recoveries.look_up", 1500, lambda db, _: recoveries.look_up(
        db, OURS, [(f"pi_{number('due', n)}", InvoiceId(f"inv_{number('due', n)}"))
                   for n in range(100)])),
    Case("recoveries.oldest_live", 60, lambda db, _: recoveries.oldest_live(db, OURS)),
    Case("lost_intents.adopt", 100, lambda db, _: lost_intents.adopt(
        db, OURS, lost.lost(inv("unprepared")), actor=ACTOR)),
    Case("lost_intents.remember", 60, lambda db, _: lost.remember(
        db, OURS, lost.lost(inv("unprepared")))),
    Case("lost_intents.follow", 60, lambda db, _: lost.follow(
        db, OURS, lost.standing(pi("due"), inv("due"), known=True))),
    Case("lost_intents.report", 60, lambda db, _: lost_intents.report(
        db, OURS, lost.shown(inv("due")))),
    Case("views_attempts.page", 60, lambda db, _: views_attempts.page(
        db, OURS, state=None, invoice_id=None, after=None, limit=LIMIT)),
    Case("views_attempts.page", 60, lambda db, _: views_attempts.page(
        db, OURS, state=None, invoice_id=inv("failed"), after=None, limit=LIMIT), "of one"),
    Case("views_attempts.page", 2500, lambda db, _: views_attempts.page(
        db, OURS, state=AttemptState.UNKNOWN, invoice_id=None, after=None, limit=LIMIT), "unknown"),
    Case("views_customers.page", 1500, lambda db, _: views_customers.page(
        db, OURS, after=None, limit=LIMIT)),
    Case("views_customers.one", 60, lambda db, _: views_customers.one(
        db, OURS, f"C{1:026}"), "by reference"),
    Case("views_customers.one", 60, lambda db, _: views_customers.one(
        db, OURS, "cus_stripe1"), "by its id at Stripe"),
    Case("views_invoices.page", 1000, lambda db, _: views_invoices.page(
        db, OURS, ANY, after=None, limit=LIMIT)),
    Case("views_invoices.page", 1000, lambda db, _: views_invoices.page(
        db, OURS, ANY, after=f"inv_{500_000:026}", limit=LIMIT), "from the middle"),
    Case("views_invoices.page", 2500, lambda db, _: views_invoices.page(
        db, OURS, replace(ANY, status=InvoiceStatus.VOID), after=None, limit=LIMIT), "void"),
    Case("views_invoices.page", 8000, lambda db, _: views_invoices.page(
        db, OURS, replace(ANY, payment_status=PaymentStatus.UNKNOWN), after=None, limit=LIMIT),
        "unknown"),
    Case("views_invoices.page", 60, lambda db, _: views_invoices.page(
        db, OURS, replace(ANY, customer_id=CustomerId(f"cus_{7:026}")), after=None, limit=LIMIT),
        "of a customer"),
    Case("views_invoices.one", 60, lambda db, _: views_invoices.one(
        db, OURS, f"R{number('paid')}"), "by reference"),
    Case("views_invoices.under_way", 8000, lambda db, _: views_invoices.under_way(
        db, OURS, after=None, limit=LIMIT)),
    Case("views_invoices.lanes", 6000, lambda db, _: views_invoices.lanes(db, OURS)),
    Case("views_invoices.known", 400, lambda db, _: views_invoices.known(
        db, OURS, [f"R{n:026}" for n in range(LIMIT)])),
    Case("views_journal.of_invoice", 60, lambda db, _: views_journal.of_invoice(
        db, OURS, inv("due"))),
    Case("views_notices.page", 400, lambda db, _: views_notices.page(
        db, OURS, resolved=False, after=None, limit=LIMIT)),
    *NEWS,
    Case("views_payments.page", 60, lambda db, _: views_payments.page(
        db, OURS, invoice_id=None, after=None, limit=LIMIT)),
    Case("views_payments.page", 60, lambda db, _: views_payments.page(
        db, OURS, invoice_id=InvoiceId(f"inv_{100_000:026}"), after=None, limit=LIMIT), "of one"),
    Case("messages.make", 4000, lambda db, _: messages.make(db, OURS, limit=LIMIT)),
    Case("messages.take", 2500, lambda db, _: messages.take(db, OURS, limit=LIMIT)),
    Case("messages.end_try", 60, lambda db, _: messages.end_try(db, OURS, DUE, TRY)),
    Case("messages.resend", 60, lambda db, _: messages.resend(
        db, OURS, DeliveryId(f"dlv_{192:026}"))),
    Case("messages.replay", 2000, lambda db, _: messages.replay(
        db, OURS, EndpointId("whe_1"), DeliveryId("dlv_x"), since=LONG_AGO, until=LONG_AGO),
        finds=False),
    Case("event_deliveries.take_in", 60, lambda db, _: event_deliveries.take_in(
        db, OURS, "acct_1", [event_deliveries.Taking(DELIVERY, EVENT, kept=True)])),
    Case("event_deliveries.refuse", 60, lambda db, _: event_deliveries.refuse(
        db, OURS, replace(DELIVERY, event_id=None, event_type=None, secret_id=None,
                          signature="forged"), Verdict.FORGED)),
    Case("event_deliveries.prune", 600, lambda db, _: event_deliveries.prune(
        db, OURS, keep_days=30, limit=LIMIT)),
    Case("views_events.deliveries", 100, lambda db, _: views_events.deliveries(
        db, OURS, DeliveryFilter(), after=None, limit=LIMIT)),
    Case("views_events.deliveries", 60, lambda db, _: views_events.deliveries(
        db, OURS, DeliveryFilter(event_id="evt_4"), after=None, limit=LIMIT), "of one"),
    Case("views_events.deliveries", 60, lambda db, _: views_events.deliveries(
        db, OURS, DeliveryFilter(Verdict.FORGED), after=None, limit=LIMIT), "forged", finds=False),
    Case("views_webhooks.deliveries", 1000, lambda db, _: views_webhooks.deliveries(
        db, OURS, endpoint_id=None, state=None, after=None, limit=LIMIT)),
)
"""Every statement about a big table, with about half as much again as it touched."""
# fmt: on

TOTALS = {
    "prices.count",
    "views_subscriptions.count",
    "views_webhooks.count",
    "views_dunning.count",
    "views_attempts.count",
    "views_customers.count",
    "views_events.count",
    "views_events.count_deliveries",
    "views_invoices.count",
    "views_notices.count",
    "views_payments.count",
}
"""A total reads every row that it counts. Only a person's table shows one, once."""

SMALL = asking.SMALL | {
    "prices.create",
    "prices.named",
    "prices.page",
    "accounts.set_modes",
    "page_links.present",
    "signing_secrets.active",
    "signing_secrets.add",
    "signing_secrets.all_of",
    "messages.trial",
    "endpoints.add",
    "endpoints.all_of",
    "endpoints.remove",
    "endpoints.rotate",
    "endpoints.switch_on",
    "accounts.accept",
    "accounts.all_accounts",
    "accounts.connect",
    "accounts.connection",
    "accounts.create",
    "accounts.refuse",
    "accounts.scopes",
    "checks.now",
    "dunning_policies.add",
    "dunning_policies.all_of",
    "dunning_policies.assign",
    "dunning_policies.is_on",
    "metrics.connections",
    "metrics.jobs_waiting",
    "recoveries.advance",
    "recoveries.begin",
    "recoveries.doubt",
    "recoveries.finish",
    "recoveries.give_up",
    "recoveries.look",
    "schema.current",
}
"""About tables with a row for each account, or none."""

PARTS = {"checks._invoice": "checks.facts", "checks._attempts": "checks.facts"}


def test_every_statement_about_a_big_table_is_in_the_table() -> None:
    wanted = {PARTS.get(row.function, row.function) for row in statements()}
    assert {case.function for case in CASES} == wanted - TOTALS - SMALL


async def _closing(db: Db, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
    held = await closes.claim(db, OURS, TIMING, inv("due"), AttemptKind.CLOSE, actor=ACTOR)
    return await write(db, OURS, None, [held])


async def _give(db: Db) -> Any:
    return await credit.give(
        db, OURS, CustomerId(f"cus_{7:026}"), amount=5, currency="eur", reason="x", actor=ACTOR
    )


async def _given(db: Db, read: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    await _give(db)
    return await read()


async def _named(db: Db) -> Any:
    await intents.begin(db, _unprepared(), key="key", params={})
    return await intents.name(db, OURS, inv("unprepared"), 1, "pi_new", actor=ACTOR)


async def _used_up(db: Db) -> Any:
    await intents.begin(db, _unprepared(), key="key", params={})
    return await intents.use_up(db, OURS, inv("unprepared"), 1, reason="500", actor=ACTOR)


@pytest.fixture(scope="module", name="conninfo")
def _conninfo(database_server: str) -> Iterator[str]:
    with databases.clone(database_server) as conninfo:
        million.load(conninfo)
        yield conninfo


@pytest_asyncio.fixture(name="db")
async def _db(conninfo: str) -> AsyncGenerator[ExplainDb]:
    conn = await AsyncConnection.connect(conninfo, options=OPTIONS)
    async with conn:
        await conn.execute(GENERIC)
        await conn.execute(ALONE)
        yield ExplainDb(conn)
        await conn.rollback()


async def _held(db: ExplainDb) -> Held:
    tokens = []
    for kind in ("held", "stale"):
        cursor = await db.conn.execute(HOLD_UNTIL, [inv(kind)])
        ((until,),) = await cursor.fetchall()
        tokens.append(Token(OURS, inv(kind), AttemptId(f"att_{number(kind, 1)}"), until, 0))
    return Held(*tokens)


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_it_touches_few_pages(case: Case, db: ExplainDb) -> None:
    answer = await case.call(db, await _held(db))
    assert bool(answer) is case.finds
    scans = set().union(*(plan.scans() for plan in db.plans)) & set(million.BIG)
    touched = sum(plan.buffers for plan in db.plans)
    assert not scans, "\n".join(map(str, db.plans))
    assert touched <= case.pages, "\n".join(map(str, db.plans))
