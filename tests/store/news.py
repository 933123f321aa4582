"""News as the tests of the store bring it: events, refunds and disputes of a scene's payment."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from anchorhold.domain import disputes as rules
from anchorhold.domain.disputes import DisputeView
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import InvoiceId, NoticeId, PaymentId, RefundId
from anchorhold.domain.news import EventSource
from anchorhold.domain.payment import Source
from anchorhold.domain.refund import Refundable, RefundState, RefundView
from anchorhold.domain.scope import Scope
from anchorhold.store import (
    attempts,
    customer_news,
    disputes,
    event_cursors,
    events,
    notices,
    payments,
    refunds,
    repairs,
)
from anchorhold.store.db import Db
from anchorhold.store.events import Waiting
from tests.store.scene import ACTOR, DECLINE, Scene, success


def event_of(number: int) -> StripeEvent:
    """The success of an invoice's intent, as Stripe tells it."""
    intent = f"pi_{number:026}"
    return StripeEvent(
        f"evt_{number}",
        "payment_intent.succeeded",
        1_790_000_000 + number,
        intent,
        intent,
        f"key_{number}",
        {},
        {"amount_received": 14900, "currency": "eur"},
    )


async def told(scene: Scene, count: int = 1) -> list[str]:
    """Events that wait, each about a prepared invoice."""
    ids = await scene.due(count)
    said = [event_of(int(invoice_id[4:])) for invoice_id in ids]
    return await events.put(scene.db, scene.scope, "acct_1", said, EventSource.CATCH_UP)


async def ended(scene: Scene) -> list[str]:
    """An event that had its effect."""
    ids = await told(scene)
    assert await done(scene.db, scene.scope, scene, ids)
    return ids


THEIRS = "cus_stripe" + "1".rjust(26, "0")


async def asking(scene: Scene) -> None:
    """An invoice waits for its customer."""
    await scene.due()
    scene.sql(
        "UPDATE anchorhold.invoice SET payment_status = 'failed', "
        "blocked_reason = 'customer_action'"
    )


async def mended(db: Db, scope: Scope) -> Any:
    """The customer's card is another one."""
    return await customer_news.mended(
        db, scope, stripe_account="acct_1", stripe_customer=THEIRS, since=datetime.now(UTC),
        rule="N7", actor=ACTOR,
    )  # fmt: skip


async def gone(db: Db, scope: Scope) -> Any:
    """The customer is deleted at Stripe."""
    return await customer_news.gone(
        db, scope, stripe_account="acct_1", stripe_customer=THEIRS, rule="N8", actor=ACTOR
    )


async def paid(scene: Scene) -> Refundable:
    """A payment that can be given back."""
    (invoice_id,) = await scene.due()
    news = success(invoice_id)
    assert await payments.settle(
        scene.db, scene.scope, invoice_id, news, Source.FOLLOWER, actor=ACTOR
    )
    found = await refunds.by_intent(scene.db, scene.scope, news.intent_id)
    assert found is not None
    return found


async def begin(db: Db, scope: Scope, payment: Refundable) -> Any:
    """Somebody asks for a part of it."""
    return await ask(db, scope, payment, amount=500)


async def ask(db: Db, scope: Scope, payment: Refundable, *, amount: int) -> Any:
    """Somebody asks for so much of it."""
    return await refunds.begin(
        db,
        scope,
        RefundId(f"rfd_{payment.payment_id[4:]}"),
        payment,
        amount=amount,
        reason="late delivery",
        key=f"refund-{payment.payment_id}",
        params={"amount": amount},
        actor=ACTOR,
    )


async def requested(scene: Scene, count: int = 1) -> Refundable:
    """Refunds are on their way, since an hour; the payment of the last one."""
    payment = await paid(scene)
    for number in range(count):
        payment = payment if not number else await paid(scene)
        assert await begin(scene.db, scene.scope, payment)
    scene.sql(
        "UPDATE anchorhold.refund SET created_at = created_at - interval '1 hour', "
        "look_at = look_at - interval '1 hour'"
    )
    return payment


async def record(db: Db, scope: Scope, payment: Refundable) -> Any:
    """Stripe lists the refund."""
    listed = RefundView("re_1", RefundState.SUCCEEDED, 500, "eur")
    return await refunds.record(db, scope, payment, [listed], settled_by_refund=[], actor=ACTOR)


async def dispute(db: Db, scope: Scope, payment: Refundable, status: str = "lost") -> Any:
    """The bank has spoken."""
    view = DisputeView("du_1", status, 14900, "eur", "fraudulent", payment.intent_id)
    row = rules.read(status)
    assert row is not None
    return await disputes.record(db, scope, payment, view, row, actor=ACTOR)


async def begun(scene: Scene) -> None:
    """The cursor is at its first place."""
    assert await event_cursors.begin(scene.db, scene.scope, "acct_1")


async def left_behind(scene: Scene) -> None:
    """Nobody read events for two months."""
    await begun(scene)
    scene.sql("UPDATE anchorhold.event_cursor SET read_to = read_to - interval '90 days'")


async def noticed(scene: Scene) -> NoticeId:
    """A person has to look at a short payment."""
    (invoice_id,) = await scene.due()
    less = success(invoice_id, amount=100)
    assert await payments.settle(
        scene.db, scene.scope, invoice_id, less, Source.FOLLOWER, actor=ACTOR
    )
    return NoticeId(scene.value("SELECT id FROM anchorhold.notice WHERE account_id = %(a)s "
                                "AND livemode = %(l)s",
                                a=scene.scope.account_id, l=scene.scope.livemode))  # fmt: skip


async def resolve(db: Db, scope: Scope, notice_id: NoticeId) -> Any:
    """Somebody says how it was dealt with."""
    return await notices.resolve(db, scope, notice_id, resolution="agreed", actor=ACTOR)


async def advance(db: Db, scope: Scope, scene: Scene, _: Any) -> Any:
    """Everything until this hour is here."""
    read_to = scene.value("SELECT date_trunc('hour', now())")
    return await event_cursors.advance(db, scope, "acct_1", read_to=read_to)


async def decline_by_key(db: Db, scope: Scope, _: Scene, claims: Any) -> Any:
    """The event of a failed payment carries the attempt's key."""
    assert DECLINE.decline is not None
    token = replace(claims[0].token, scope=scope)
    return await attempts.decline_by_key(
        db, scope, token.attempt_id, DECLINE.decline, rule="N2", actor=ACTOR
    )


async def repair(db: Db, scope: Scope, scene: Scene, claims: Any) -> Any:
    """Somebody opens the invoice."""
    return await repairs.take(db, scope, scene.timing, claims[0].token.invoice_id)


async def end(db: Db, scope: Scope, payment: Refundable) -> Any:
    """Stripe refused the request."""
    refund_id = RefundId(f"rfd_{payment.payment_id[4:]}")
    return await refunds.end(db, scope, refund_id, RefundState.REFUSED, error="No.", actor=ACTOR)


async def done(db: Db, scope: Scope, _: Scene, ids: Any) -> Any:
    """The event has had its effect."""
    return await events.done(
        db, scope, ids[0], rule="N1", invoice_id=InvoiceId(f"inv_{int(ids[0][4:]):026}")
    )


PAY = PaymentId("pay_" + "1".rjust(26, "0"))
NTC = NoticeId("ntc_" + "1".rjust(26, "0"))
RENAME = """
    WITH notice AS (
        UPDATE anchorhold.notice SET id = %(notice_id)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND invoice_id = %(invoice_id)s
    )
    UPDATE anchorhold.payment SET id = %(payment_id)s
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
       AND invoice_id = %(invoice_id)s
"""
RFD = RefundId("rfd_" + "1".rjust(26, "0"))


def waiting() -> Waiting:
    """The success of invoice 1's intent, leased to a reader."""
    said = event_of(1)
    return Waiting(
        said.id,
        "acct_1",
        said.type,
        said.object_id,
        said.intent_id,
        None,
        said.idempotency_key,
        dict(said.summary),
        EventSource.WEBHOOK,
        datetime.fromtimestamp(said.created, UTC),
    )


async def heard(scene: Scene, invoice_id: InvoiceId) -> None:
    """An event waits, this invoice's payment is being refunded, and another one is followed."""
    await events.put(scene.db, scene.scope, "acct_1", [event_of(1)], EventSource.WEBHOOK)
    named = {"payment_id": PAY, "notice_id": NTC, "invoice_id": invoice_id}
    scene.sql(RENAME, **named, **scene.scope.params)
    payment = await refunds.by_intent(scene.db, scene.scope, f"pi_{invoice_id[4:]}")
    assert payment is not None
    assert await refunds.begin(
        scene.db, scene.scope, RFD, payment, amount=50, reason="", key="key", params={}, actor=ACTOR
    )
    await scene.followed()


REFUSED = """
    UPDATE anchorhold.stripe_customer SET refused_code = 'x', refused_message = 'No.'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""


async def refused(scene: Scene, count: int = 1) -> None:
    """Invoices came in at the moment at which Stripe refused their customers."""
    await scene.customers(count)
    scene.sql(REFUSED, **scene.scope.params)
