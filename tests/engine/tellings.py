"""Flows of which Stripe has news, and one telling of it: in any order, with repeats and losses.

A flow happens once. Each telling is a transaction of its own that is rolled back, so that a
thousand of them begin at the same state and cost no commit.
"""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection

from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import InvoiceId
from anchorhold.engine import news
from anchorhold.engine.deps import Deps
from anchorhold.engine.tick import tick
from anchorhold.stripe import views
from anchorhold.twin import acts
from anchorhold.twin.faults import FaultKind
from tests.engine.lost import dies, unknown
from tests.engine.rig import SET_SHIFT, Rig, When
from tests.engine.stripe_side import AtStripe, allow_mandates, end_debits
from tests.store.two import OneDb

VISA, DECLINED = "pm_card_visa", "pm_card_chargeCustomerFail"
THREE_DS = "pm_card_threeDSecure2Required"


async def offered(world: Rig, method: str = VISA) -> InvoiceId:
    """A prepared invoice that nobody charges: its customer may pay on a page."""
    invoice = await world.invoice(method=method)
    await world.prepare()
    return invoice


async def paid(world: Rig, method: str = VISA) -> InvoiceId:
    """The customer paid on the page, and nobody has told us."""
    invoice = await offered(world, method)
    AtStripe(world).page_confirms(invoice, method)
    return invoice


async def declined_then_paid(world: Rig) -> None:
    """Our charge is declined; the customer pays by another card on the page."""
    invoice = await offered(world, DECLINED)
    await world.charge_due()
    AtStripe(world).page_confirms(invoice)


async def declined_on_the_page(world: Rig) -> None:
    """The customer tries a bad card three times, and gives up."""
    invoice = await offered(world)
    for _ in range(3):
        AtStripe(world).page_confirms(invoice, DECLINED)
    world.sql("UPDATE anchorhold.invoice SET next_attempt_at = 'infinity'")


async def authenticated(world: Rig) -> None:
    """The customer fails the bank's question, is asked again, and passes."""
    invoice = await offered(world)
    at = AtStripe(world)
    for passed in (False, True):
        at.page_confirms(invoice, THREE_DS)
        acts.authenticate(world.twin, at.intent(invoice)["id"], passed=passed)


async def debited(world: Rig, method: str) -> InvoiceId:
    """Our bank debit is processing."""
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await offered(world, method)
    allow_mandates(world)
    await world.charge_due()
    return invoice


async def debit_fails_late(world: Rig) -> None:
    """The bank says no after days."""
    await debited(world, "pm_failed_de")
    end_debits(world)


async def debit_pays(world: Rig) -> None:
    """The bank says yes after days."""
    await debited(world, "pm_success_de")
    end_debits(world)


async def debit_is_returned(world: Rig) -> None:
    """The bank says yes, and takes the money back later."""
    invoice = await debited(world, "pm_success_de")
    end_debits(world)
    charge = AtStripe(world).intent(invoice)["latest_charge"]
    made = acts.open_dispute(world.twin, charge, reason="insufficient_funds")
    acts.close_dispute(world.twin, made["id"], won=False)


async def refunded(world: Rig) -> None:
    """A part is given back in Stripe's dashboard, then the rest."""
    invoice = await paid(world)
    AtStripe(world).refund(invoice, 5000)
    AtStripe(world).refund(invoice)


async def refund_fails(world: Rig) -> None:
    """The refund comes back from the customer's bank."""
    invoice = await paid(world, "pm_card_refundFail")
    AtStripe(world).refund(invoice)
    world.later(days=10)


async def disputed(world: Rig, *, won: bool | None) -> None:
    """The customer disputes the payment; the bank decides, or does not yet."""
    invoice = await paid(world)
    made = acts.open_dispute(world.twin, AtStripe(world).intent(invoice)["latest_charge"])
    if won is not None:
        acts.close_dispute(world.twin, made["id"], won=won)


async def canceled(world: Rig) -> None:
    """Somebody cancels the intent in Stripe's dashboard."""
    AtStripe(world).cancel(await offered(world))
    world.sql("UPDATE anchorhold.invoice SET next_attempt_at = 'infinity'")


async def void_but_paid(world: Rig) -> None:
    """The customer pays an invoice that was voided in the database."""
    invoice = await offered(world)
    world.sql("UPDATE anchorhold.invoice SET status = 'void', intent_id = NULL")
    AtStripe(world).page_confirms(invoice)


async def deleted(world: Rig) -> None:
    """The customer's card is mended at Stripe, then the customer is deleted there."""
    await offered(world)
    ((customer, method),) = world.sql(
        "SELECT stripe_customer_id, payment_method FROM anchorhold.stripe_customer"
    )
    client = AtStripe(world).client()
    client.done(f"/v1/payment_methods/{method}", card={"exp_year": 2040})
    client.ask("DELETE", f"/v1/customers/{customer}")


async def card_mended(world: Rig) -> None:
    """The bank wants to ask the customer, who puts in another expiry date."""
    await offered(world, "pm_card_authenticationRequired")
    await world.charge_due()
    world.later(minutes=1)
    ((method,),) = world.sql("SELECT payment_method FROM anchorhold.stripe_customer")
    AtStripe(world).client().done(f"/v1/payment_methods/{method}", card={"exp_year": 2040})


async def answer_lost(world: Rig) -> None:
    """Our charge was paid, its answer was lost and its owner died."""
    await offered(world)
    await dies(world, When.AFTER)


async def decline_comes_late(world: Rig) -> None:
    """Our charge was unclear; Stripe carries it out later, and declines."""
    await unknown(world, FaultKind.LATE, method=DECLINED)
    world.twin.run_late()


async def whole_story(world: Rig) -> None:
    """Declined, paid on the page, refunded in part, disputed, won."""
    invoice = await offered(world, DECLINED)
    await world.charge_due()
    at = AtStripe(world)
    at.page_confirms(invoice)
    at.refund(invoice, 4900)
    made = acts.open_dispute(world.twin, at.intent(invoice)["latest_charge"])
    acts.close_dispute(world.twin, made["id"], won=True)


@dataclass(frozen=True)
class Flow:
    """What happened, and how every telling of it ends: the invoice's status and payment status."""

    name: str
    happens: Callable[[Rig], Awaitable[object]]
    ends: tuple[str, str]
    refunded: int | None = None
    """Of the payment, if there is one."""
    dispute: str | None = None

    def __str__(self) -> str:
        return self.name


# fmt: off
FLOWS = (
    Flow("paid", paid, ("paid", "succeeded"), 0),
    Flow("declined, then paid", declined_then_paid, ("paid", "succeeded"), 0),
    Flow("declined on the page", declined_on_the_page, ("open", "pending")),
    Flow("authenticated", authenticated, ("paid", "succeeded"), 0),
    Flow("a debit that fails late", debit_fails_late, ("open", "failed")),
    Flow("a debit that pays", debit_pays, ("paid", "succeeded"), 0),
    Flow("a debit that is returned", debit_is_returned, ("open", "failed"), 0, "lost"),
    Flow("refunded", refunded, ("paid", "succeeded"), 14900),
    Flow("a refund that fails", refund_fails, ("paid", "succeeded"), 0),
    Flow("disputed", lambda world: disputed(world, won=None), ("paid", "succeeded"), 0, "open"),
    Flow("a dispute that is won", lambda world: disputed(world, won=True),
         ("paid", "succeeded"), 0, "won"),
    Flow("a dispute that is lost", lambda world: disputed(world, won=False),
         ("open", "failed"), 0, "lost"),
    Flow("cancelled", canceled, ("open", "pending")),
    Flow("void, but paid", void_but_paid, ("void", "failed"), 0),
    Flow("a customer that is deleted", deleted, ("open", "failed")),
    Flow("a card that is mended", card_mended, ("open", "failed")),
    Flow("an answer that is lost", answer_lost, ("paid", "succeeded"), 0),
    Flow("a decline that comes late", decline_comes_late, ("open", "failed")),
    Flow("the whole story", whole_story, ("paid", "succeeded"), 4900, "won"),
)
"""Each with news of Stripe's that nobody has heard yet."""
# fmt: on

COLUMNS = {
    "invoice": "status, payment_status, amount_paid, charge_seq, intent_id, followed_intent_id,"
    " collection, blocked_reason, hold_until IS NULL",
    "attempt": "state, decline ->> 'code', decline ->> 'decline_code'",
    "intent": "number, state",
    "payment": "stripe_intent_id, amount, amount_refunded, amount_applied, dispute",
    "refund": "stripe_refund_id, state, amount",
    "notice": "code, resolved_at IS NULL",
    "event": "state",
    "stripe_customer": "refused_code",
}
"""What no order of the news may change: everything but when, by whom, and ids made on the way."""


@dataclass
class Telling:
    """One transaction in which the news is told; `state` is how everything stands in it."""

    world: Rig
    db: OneDb
    deps: Deps
    shift: timedelta = field(default_factory=timedelta)

    async def hears(self, said: Sequence[StripeEvent]) -> None:
        """Each event comes in by itself, as a webhook brings it."""
        connected = await self.deps.providers.of(self.world.scope)
        assert connected is not None
        for event in said:
            await news.take(self.deps, connected, self.world.scope, event)

    async def later(self, **delta: float) -> None:
        """It is so much later here; at Stripe nothing happens any more."""
        self.shift += timedelta(**delta)
        await self.db.conn.execute(SET_SHIFT, [str(self.shift)])

    async def ticks(self, count: int = 1) -> None:
        """So many ticks go by."""
        for _ in range(count):
            await self.later(minutes=31)
            await tick(self.deps, self.world.scope)

    async def state(self) -> dict[str, list[Any]]:
        """How everything stands."""
        found = {}
        for table, columns in COLUMNS.items():
            said = f"SELECT {columns} FROM anchorhold.{table}"
            cursor = await self.db.conn.execute(said.encode())
            found[table] = sorted(await cursor.fetchall(), key=repr)
        found["event"] = sorted(set(found["event"]))
        return found


@asynccontextmanager
async def telling(world: Rig, conn: AsyncConnection[tuple[Any, ...]]) -> AsyncGenerator[Telling]:
    """A telling that begins where the flow ended, and leaves nothing."""
    db = OneDb(conn)
    made = Telling(world, db, replace(world.deps(), db=db))
    try:
        made.shift = world.pool.shift
        await made.later()
        yield made
    finally:
        await conn.rollback()


def told(world: Rig) -> list[StripeEvent]:
    """What Stripe has to tell, oldest first."""
    return [views.news(event) for event in AtStripe(world).account.events]


def order_of(said: Sequence[StripeEvent], seed: int) -> list[StripeEvent]:
    """Any order of some of it: a third is lost, some comes twice, some as a second event object."""
    chance = random.Random(seed)
    order = [event for event in said if chance.random() > 1 / 3]
    order += chance.choices(order, k=3) if order else []
    order += [replace(event, id=f"{event.id}_again") for event in order if chance.random() < 1 / 8]
    chance.shuffle(order)
    return order
