"""What the writes of a recovery meet: a mode on another server, and intents without a row."""

from typing import Any

from anchorhold.domain.answer import IntentStatus, IntentView
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.recovering import Phase, Run, Standing
from anchorhold.domain.scope import Scope
from anchorhold.store import lost_intents, recoveries
from anchorhold.store.db import Db
from anchorhold.store.lost_intents import Lost
from tests.store.scene import ACTOR, AMOUNT, Scene

OPEN = """
    INSERT INTO anchorhold.recovery
           (account_id, livemode, id, lineage, since, actor, lease_until)
    VALUES (%(account_id)s, %(livemode)s, 'rcv_1', anchorhold.lineage(),
            anchorhold.now() - interval '1 day', 'another', anchorhold.now() - interval '1 hour')
"""
UNSEEN = """
    UPDATE anchorhold.connection SET seen_at = seen_at - interval '1 hour'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""
ELSEWHERE = """
    UPDATE anchorhold.connection SET lineage = 'another/00000001/1'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
"""


async def unseen(scene: Scene) -> None:
    """No commit of the mode was seen for an hour; a recovery was left behind."""
    scene.sql(UNSEEN, **scene.scope.params)
    scene.sql(OPEN, **scene.scope.params)


async def elsewhere(scene: Scene) -> None:
    """The mode is on another server than it was, and who led its recovery is gone."""
    scene.sql(ELSEWHERE, **scene.scope.params)
    scene.sql(OPEN, **scene.scope.params)


async def led(scene: Scene) -> Run:
    """A recovery that the caller leads."""
    await elsewhere(scene)
    run = await begin(scene.db, scene.scope)
    assert run is not None
    return run


async def begin(db: Db, scope: Scope) -> Run | None:
    return await recoveries.begin(db, scope, back_s=3600, in_flight_s=180, actor=ACTOR)


async def advance(db: Db, scope: Scope, run: Run) -> Any:
    return await recoveries.advance(
        db, scope, run, phase=Phase.CHANGED, after="evt_1", counts={"read": 100}
    )


async def intent(scene: Scene) -> Lost:
    """An intent at Stripe that stands for an open invoice, which has no row of it."""
    (row,) = await scene.unprepared()
    return lost(row.invoice_id)


def shown(invoice_id: InvoiceId) -> IntentView:
    """The intent of an invoice as Stripe shows it."""
    return IntentView(
        id=f"pi_lost{invoice_id[4:]}",
        status=IntentStatus.REQUIRES_PAYMENT_METHOD,
        amount=AMOUNT,
        amount_received=0,
        currency="eur",
        customer=f"cus_stripe{invoice_id[4:]}",
        payment_method=None,
        created=1_790_000_000,
        metadata={"anchorhold_invoice_id": invoice_id, "anchorhold_intent_number": "1"},
    )


def lost(invoice_id: InvoiceId) -> Lost:
    """The same, for a row of its own."""
    found = Lost.of(shown(invoice_id))
    assert found is not None
    return found


async def processing(scene: Scene) -> Standing:
    """A due invoice whose intent turns out to be processing."""
    (invoice_id,) = await scene.due()
    return standing(f"pi_{invoice_id[4:]}", invoice_id, known=True)


def standing(intent_id: str, invoice_id: Any, *, known: bool) -> Standing:
    """An invoice that was never charged; or none at all."""
    return Standing(
        intent_id=intent_id,
        invoice_id=invoice_id,
        known=known,
        open=known,
        seq=0,
        amount=AMOUNT if known else 0,
        currency="eur" if known else "",
        held=False,
        free=False,
        own=known,
        followed=False,
        paid=False,
        named=known,
        preparing=None,
    )


async def remember(db: Db, scope: Scope, found: Lost) -> Any:
    return await lost_intents.remember(db, scope, found, state="canceled", actor=ACTOR)


async def follow(db: Db, scope: Scope, found: Standing) -> Any:
    return await lost_intents.follow(db, scope, found, rule="V6", actor=ACTOR)
