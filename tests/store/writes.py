"""TABLE: every conditional write of the store, how to meet it, and what its journal says."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from anchorhold.domain.attempt import AttemptKind, AttemptState
from anchorhold.domain.ids import AccountId
from anchorhold.domain.news import EventSource
from anchorhold.domain.payment import Settled, Source, Verdict
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import OPEN
from anchorhold.store import (
    accounts,
    attempts,
    blocked,
    checks,
    closes,
    customers,
    event_cursors,
    events,
    follows,
    holds,
    intents,
    invoices,
    lost_intents,
    pages,
    payments,
    recoveries,
    refunds,
    watches,
)
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import Db
from anchorhold.store.invoices import NewInvoice
from tests.store import asking, billing, closing, direct, dunned, lost, news, paging, telling
from tests.store.scene import (
    ACTOR,
    DECLINE,
    NO_TRACE,
    Scene,
    name_it,
    recheck,
    success,
    watched_of,
)


class Wins(Enum):
    """What two callers with the same arguments come to."""

    ONE = auto()
    """Exactly one gets a row."""
    SHARED = auto()
    """A batch: nobody waits, and no row is given out twice."""
    BOTH = auto()
    """A stamp: the second waits and writes the same again."""
    EACH = auto()
    """Both count: the second waits and adds to what the first left."""


@dataclass(frozen=True)
class Write:
    """One write. `run` sends it in a scope, on what `arrange` made; `won` judges its answer.

    `journal` is what its journal row says; None with the reason in `untold`.
    """

    function: str
    arrange: Callable[[Scene], Coroutine[Any, Any, Any]]
    run: Callable[[Db, Scope, Scene, Any], Coroutine[Any, Any, Any]]
    journal: str | None = None
    untold: str = ""
    wins: Wins = Wins.ONE
    repeats: bool = False
    """Once it is done, the same call answers with what is there."""
    won: Callable[[Any], bool] = lambda answer: answer is not None
    rows: int = 1
    """How many journal rows one call writes."""
    scoped: bool = True
    """False: it is about accounts, or makes rows of the scope that it is given."""


BATCH = 3


async def _nothing(_: Scene) -> None:
    return None


async def _flagged(scene: Scene) -> None:
    assert await accounts.refuse(scene.db, scene.scope, key_fingerprint="fingerprint", reason="401")


async def _stale(scene: Scene) -> Any:
    await scene.stale(2 * BATCH)
    return await checks.now(scene.db)


async def _unbegun(scene: Scene) -> Any:
    (customer,) = await scene.customers()
    scene.sql("DELETE FROM anchorhold.stripe_customer")
    return customer


async def _followed(scene: Scene) -> Any:
    return await scene.followed(2 * BATCH)


async def _connect(db: Db, scope: Scope, _: Scene, _state: Any) -> Any:
    return await accounts.connect(db, scope, NewConnection("acct_2", b"new", "9999", "another"))


async def _take_in(db: Db, scope: Scope, _: Scene, _state: Any) -> Any:
    due = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [NewInvoice(f"N{n}", f"customer {n % 2}", None, None, 500, "eur", due) for n in range(4)]
    return await invoices.take_in(db, scope, rows, actor=ACTOR)


async def _keep(db: Db, scope: Scope, _: Scene, claims: Any) -> Any:
    token = replace(claims[0].token, scope=scope)
    return await checks.keep(db, token, rule="S14", error="503", actor=ACTOR, follows=False)


async def _follow_end(db: Db, scope: Scope, _: Scene, followed: Any) -> Any:
    return await follows.end(
        db, scope, followed[0], decline=DECLINE.decline, canceled=False, rule="F4", actor=ACTOR
    )


async def _recheck(db: Db, scope: Scope, scene: Scene, claims: Any) -> Any:
    claim = replace(claims[0], token=replace(claims[0].token, scope=scope))
    return await recheck(db, scene, claim)


async def _end(db: Db, scope: Scope, _: Scene, claims: Any) -> Any:
    token = replace(claims[0].token, scope=scope)
    return await holds.end(
        db,
        token,
        NO_TRACE,
        states=frozenset({AttemptState.SENDING}),
        statuses=OPEN,
        actor=ACTOR,
    )


async def _settle(db: Db, scope: Scope, _: Scene, claims: Any) -> Settled | None:
    token = replace(claims[0].token, scope=scope)
    news = success(token.invoice_id, token=token)
    return await payments.settle(
        db, scope, token.invoice_id, news, Source.ANSWER, actor=ACTOR, rule="A1", clears=token
    )


async def _claim(db: Db, scope: Scope, scene: Scene, ids: Any) -> Any:
    return await holds.claim(db, scope, scene.timing, ids[0], AttemptKind.COLLECT, actor=ACTOR)


async def _claim_due(db: Db, scope: Scope, scene: Scene, _state: Any) -> Any:
    return await holds.claim_due(db, scope, scene.timing, limit=BATCH, actor=ACTOR)


async def _begin_intent(db: Db, scope: Scope, _: Scene, rows: Any) -> Any:
    return await intents.begin(db, replace(rows[0], scope=scope), key="key", params={"amount": 1})


async def _use_up(db: Db, scope: Scope, _: Scene, rows: Any) -> Any:
    return await intents.use_up(db, scope, rows[0].invoice_id, 1, reason="500", actor=ACTOR)


async def _refuse_intent(db: Db, scope: Scope, _: Scene, rows: Any) -> Any:
    return await intents.refuse(
        db, scope, rows[0].invoice_id, 1, code="amount_too_small", message="No.", actor=ACTOR
    )


async def _refuse_customer(db: Db, scope: Scope, _: Scene, rows: Any) -> Any:
    return await customers.refuse(
        db, scope, rows[0], code="card_declined", message="No.", actor=ACTOR
    )


async def _begin_customer(db: Db, scope: Scope, _: Scene, row: Any) -> Any:
    return await customers.begin(
        db,
        scope,
        row.customer_id,
        params={},
        stripe_customer_id=None,
        payment_method="pm_card_visa",
    )


def _disjoint(rows: Any) -> bool:
    return len(rows) == BATCH


NO_INVOICE = "no invoice changes"
A_LEASE = "a lease: who looks at it next, not what it is"
OWN_ROW = "its own row tells it, with its time"

# fmt: off
WRITES = (
    Write("accounts.create", _nothing,
          lambda db, scope, scene, state: accounts.create(db, AccountId("acc_new"), "shop"),
          untold=NO_INVOICE, scoped=False),
    Write("accounts.connect", _nothing, _connect,
          untold=NO_INVOICE, wins=Wins.BOTH, scoped=False),
    Write("accounts.refuse", _nothing,
          lambda db, scope, scene, state: accounts.refuse(
              db, scope, key_fingerprint="fingerprint", reason="401"),
          untold=NO_INVOICE, scoped=False),
    Write("accounts.accept", _flagged,
          lambda db, scope, scene, state: accounts.accept(
              db, scope, key_fingerprint="fingerprint"),
          untold=NO_INVOICE),
    Write("checks.take", _stale,
          lambda db, scope, scene, started: checks.take(
              db, scope, scene.timing, run_started=started, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("checks.keep", lambda scene: scene.stale(), _keep, "hold.kept", wins=Wins.BOTH),
    Write("customers.begin", _unbegun, _begin_customer, untold=OWN_ROW),
    Write("customers.begin_all", _unbegun,
          lambda db, scope, scene, row: customers.begin_all(db, scope),
          untold=OWN_ROW, won=lambda count: count == 1),
    Write("customers.take_unready", lambda scene: scene.customers(2 * BATCH),
          lambda db, scope, scene, state: customers.take_unready(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("customers.set_stripe_customer", lambda scene: scene.customers(named=False),
          lambda db, scope, scene, rows: customers.set_stripe_customer(
              db, scope, rows[0], "cus_new"),
          untold=NO_INVOICE),
    Write("customers.set_payment_method", lambda scene: scene.customers(),
          lambda db, scope, scene, rows: customers.set_payment_method(
              db, scope, rows[0], "pm_new"),
          untold=NO_INVOICE),
    Write("customers.spend_key", lambda scene: scene.customers(),
          lambda db, scope, scene, rows: customers.spend_key(db, scope, rows[0]),
          untold=NO_INVOICE),
    Write("customers.refuse", lambda scene: scene.customers(), _refuse_customer,
          "collection.blocked"),
    Write("customer_news.mended", news.asking,
          lambda db, scope, scene, state: news.mended(db, scope), "collection.unblocked", won=bool),
    Write("customer_news.gone", lambda scene: scene.due(),
          lambda db, scope, scene, state: news.gone(db, scope), "collection.blocked"),
    Write("attempts.late_decline", lambda scene: scene.superseded(),
          lambda db, scope, scene, claims: attempts.late_decline(
              db, replace(claims[0].token, scope=scope), DECLINE, actor=ACTOR),
          "attempt.failed"),
    Write("watches.take", lambda scene: scene.superseded(2 * BATCH),
          lambda db, scope, scene, state: watches.take(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("watches.follow", lambda scene: scene.superseded(),
          lambda db, scope, scene, claims: watches.follow(
              db, scope, watched_of(claims[0]), rule="W2", actor=ACTOR),
          "following.began"),
    Write("watches.end", lambda scene: scene.superseded(),
          lambda db, scope, scene, claims: watches.end(
              db, scope, watched_of(claims[0]), rule="W3", actor=ACTOR),
          "intent.canceled"),
    Write("follows.take", _followed,
          lambda db, scope, scene, state: follows.take(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("follows.end", lambda scene: scene.followed(), _follow_end, "following.ended"),
    Write("closes.claim", lambda scene: scene.due(), closing.claim_close, "attempt.claimed"),
    Write("closes.release", lambda scene: scene.closing(), closing.release, "attempt.not_sent"),
    Write("closes.write_off_under_way", lambda scene: scene.stale(),
          lambda db, scope, scene, claims: closes.write_off_under_way(
              db, scope, claims[0].token.invoice_id, reason="bankrupt", actor=ACTOR),
          "invoice.write_off"),
    Write("final_writes.finish", lambda scene: scene.closing(), closing.finish, "invoice.void"),
    Write("final_writes.amend", lambda scene: scene.closing(), closing.amend, "invoice.amended"),
    Write("credits.give", lambda scene: scene.due(), closing.give, untold=OWN_ROW, wins=Wins.EACH),
    Write("pages.open_page", lambda scene: scene.due(),
          lambda db, scope, scene, ids: pages.open_page(db, scope, ids[0], actor=ACTOR),
          "page.opened", wins=Wins.BOTH),
    Write("pages.take_unprepared", lambda scene: scene.unprepared(), closing.take_for_a_person,
          untold=A_LEASE),
    Write("pages.abandon_intent", lambda scene: scene.moved_away(),
          lambda db, scope, scene, ids: pages.abandon_intent(
              db, scope, ids[0], reason="account closed", actor=ACTOR),
          "intent.abandoned"),
    Write("holds.claim_due", lambda scene: scene.due(2 * BATCH), _claim_due,
          "attempt.claimed", wins=Wins.SHARED, won=_disjoint),
    Write("holds.claim", lambda scene: scene.due(), _claim, "attempt.claimed"),
    Write("holds.recheck", lambda scene: scene.claimed(), _recheck, untold=OWN_ROW),
    Write("holds.end", lambda scene: scene.sending(), _end, "attempt.superseded"),
    Write("intents.take_unprepared", lambda scene: scene.unprepared(2 * BATCH),
          lambda db, scope, scene, state: intents.take_unprepared(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("intents.begin", lambda scene: scene.unprepared(), _begin_intent,
          untold=OWN_ROW, repeats=True),
    Write("intents.name", lambda scene: scene.preparing(),
          lambda db, scope, scene, rows: name_it(db, scope, rows[0]), "intent.prepared"),
    Write("intents.use_up", lambda scene: scene.preparing(), _use_up, "intent.used_up"),
    Write("intents.refuse", lambda scene: scene.preparing(), _refuse_intent,
          "collection.blocked"),
    Write("recoveries.look", lost.unseen,
          lambda db, scope, scene, state: recoveries.look(db, scope),
          untold=NO_INVOICE, wins=Wins.BOTH,
          won=lambda look: look is not None and look.began_at is not None),
    Write("recoveries.doubt", lost.unseen,
          lambda db, scope, scene, state: recoveries.doubt(db, scope), untold=NO_INVOICE),
    Write("recoveries.begin", lost.elsewhere,
          lambda db, scope, scene, state: lost.begin(db, scope), untold=OWN_ROW),
    Write("recoveries.advance", lost.led,
          lambda db, scope, scene, run: lost.advance(db, scope, run), untold=OWN_ROW),
    Write("recoveries.give_up", lost.led,
          lambda db, scope, scene, run: recoveries.give_up(db, scope, run, failure="503"),
          untold=OWN_ROW),
    Write("recoveries.finish", lost.led,
          lambda db, scope, scene, run: recoveries.finish(db, scope, run), untold=OWN_ROW),
    Write("lost_intents.adopt", lost.intent,
          lambda db, scope, scene, found: lost_intents.adopt(db, scope, found, actor=ACTOR),
          "intent.recovered"),
    Write("lost_intents.remember", lost.intent,
          lambda db, scope, scene, found: lost.remember(db, scope, found), "intent.recovered"),
    Write("lost_intents.follow", lost.processing,
          lambda db, scope, scene, found: lost.follow(db, scope, found), "following.began"),
    Write("lost_intents.report", lost.intent,
          lambda db, scope, scene, found: lost_intents.report(
              db, scope, lost.shown(found.invoice_id)),
          untold=NO_INVOICE, scoped=False),
    Write("invoices.take_in", _nothing, _take_in, "invoice.opened",
          won=lambda rows: any(row.created for row in rows), rows=4, scoped=False),
    Write("attempts.decline_by_key", lambda scene: scene.superseded(), news.decline_by_key,
          "attempt.failed"),
    Write("blocked.missed", lambda scene: news.refused(scene, 2 * BATCH),
          lambda db, scope, scene, state: blocked.missed(db, scope, limit=BATCH, actor=ACTOR),
          "collection.blocked", wins=Wins.SHARED, won=_disjoint),
    Write("disputes.record", news.paid,
          lambda db, scope, scene, payment: news.dispute(db, scope, payment), "dispute.lost"),
    Write("event_cursors.begin", _nothing,
          lambda db, scope, scene, state: event_cursors.begin(db, scope, "acct_1"),
          untold=NO_INVOICE, repeats=True, scoped=False),
    Write("event_cursors.advance", news.begun, news.advance, untold=NO_INVOICE),
    Write("event_cursors.gap", news.left_behind,
          lambda db, scope, scene, state: event_cursors.gap(
              db, scope, "acct_1", notice_id="ntc_gap"),
          untold=NO_INVOICE),
    Write("events.put", _nothing,
          lambda db, scope, scene, state: events.put(
              db, scope, "acct_1", [news.event_of(1)], EventSource.WEBHOOK),
          untold=NO_INVOICE, won=bool, scoped=False),
    Write("events.take", lambda scene: news.told(scene, 2 * BATCH),
          lambda db, scope, scene, ids: events.take(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("events.done", news.told, news.done, untold=OWN_ROW),
    Write("events.again", news.ended, lambda db, scope, scene, ids: events.again(
        db, scope, ids[0]), untold=OWN_ROW),
    Write("events.again_between", news.ended, lambda db, scope, scene, ids: events.again_between(
        db, scope, since=datetime(2020, 1, 1, tzinfo=UTC), until=scene.now()),
        won=bool, untold=OWN_ROW),
    Write("events.unmatched", news.told,
          lambda db, scope, scene, ids: events.unmatched(db, scope, ids[0]),
          untold=OWN_ROW, wins=Wins.BOTH),
    Write("notices.resolve", news.noticed,
          lambda db, scope, scene, notice_id: news.resolve(db, scope, notice_id),
          "notice.resolved"),
    Write("refunds.begin", news.paid,
          lambda db, scope, scene, payment: news.begin(db, scope, payment), "refund.requested"),
    Write("refunds.take_unfinished", lambda scene: news.requested(scene, 2 * BATCH),
          lambda db, scope, scene, payment: refunds.take_unfinished(db, scope, limit=BATCH),
          untold=A_LEASE, wins=Wins.SHARED, won=_disjoint),
    Write("refunds.end", news.requested,
          lambda db, scope, scene, payment: news.end(db, scope, payment), "refund.refused"),
    Write("refunds.record", news.paid,
          lambda db, scope, scene, payment: news.record(db, scope, payment), "refund.succeeded"),
    Write("repairs.take", lambda scene: scene.stale(), news.repair, untold=A_LEASE),
    Write("payments.settle", lambda scene: scene.sending(), _settle, "payment.paid",
          won=lambda settled: settled is not None and settled.verdict is Verdict.PAID),
    *(Write(**row) for row in direct.WRITES),
    *(Write(**row) for row in telling.WRITES),
    *(Write(**row) for row in billing.WRITES),
    *(Write(**row) for row in dunned.WRITES),
    *(Write(**row) for row in paging.WRITES),
    *(Write(**row) for row in asking.WRITES),
    *(Write(**row, wins=Wins.BOTH) for row in paging.STAMPS),
    *(Write(**row, wins=Wins.SHARED) for row in dunned.SHARED),
    *(Write(**row, wins=Wins.BOTH) for row in dunned.STAMPS),
    *(Write(**row, wins=Wins.SHARED) for row in billing.SHARED),
    *(Write(**row, wins=Wins.SHARED) for row in telling.SHARED),
    *(Write(**row, wins=Wins.SHARED) for row in direct.SHARED),
    *(Write(**row, wins=Wins.BOTH) for row in direct.MODES),
)
"""Every write. A function of the store that writes and is not here fails a test."""
# fmt: on
