"""A success is recorded once and truly, whatever else changed meanwhile."""

import asyncio
from dataclasses import replace

import pytest

from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Settled, Source, Success, Verdict
from anchorhold.store import accounts, follows, payments
from anchorhold.store.accounts import NewConnection
from anchorhold.store.db import Db
from tests.store.legal import broken
from tests.store.scene import (
    ACTOR,
    DECLINE,
    NO_TRACE,
    UNCLEAR,
    Scene,
    owner_ends,
    success,
    sweep_ends,
)
from tests.store.two import two

LOSE_MARK = """
    UPDATE anchorhold.attempt
       SET state = 'claimed', sent_at = NULL, idempotency_key = NULL, params = NULL
"""


async def test_a_payment_is_recorded_though_the_database_lost_the_mark_of_its_sending(
    scene: Scene,
) -> None:
    """The re-check's commit does not wait for the disk, and its owner lives on."""
    (claim,) = await scene.sending()
    scene.sql(LOSE_MARK)
    token = claim.token
    settled = await payments.settle(
        scene.db,
        scene.scope,
        token.invoice_id,
        success(token.invoice_id, token=token),
        Source.ANSWER,
        actor=ACTOR,
        clears=token,
    )
    assert settled is not None
    assert (settled.verdict, settled.held) == (Verdict.PAID, False)
    assert scene.sql("SELECT state, cause FROM anchorhold.attempt") == [
        ("superseded", "intent_succeeded")
    ]
    assert broken(scene) == []


async def test_of_two_payments_by_two_intents_at_once_one_is_a_duplicate(scene: Scene) -> None:
    """Case A14: both are recorded, one pays, the other is somebody's task."""
    (invoice,) = await scene.due()
    other = replace(success(invoice), intent_id="pi_other")
    async with two(scene.conninfo) as pair:
        first = await _settle(pair.first, scene, success(invoice))
        second = asyncio.create_task(_settle(pair.second, scene, other))
        assert await pair.waits(pair.second, second)
        await pair.first.conn.commit()
        verdicts = [settled.verdict for settled in (first, await second) if settled]
    assert verdicts == [Verdict.PAID, Verdict.DUPLICATE]
    assert scene.value("SELECT amount_paid = amount_due FROM anchorhold.invoice")
    assert scene.sql("SELECT code, subject FROM anchorhold.notice") == [
        ("payment.duplicate_charge", "pi_other")
    ]
    assert scene.value("SELECT count(*) FROM anchorhold.payment") == 2


async def _settle(db: Db, scene: Scene, news: Success) -> Settled | None:
    invoice = InvoiceId(f"inv_{1:026}")
    return await payments.settle(db, scene.scope, invoice, news, Source.FOLLOWER, actor=ACTOR)


async def test_the_end_of_a_following_moves_the_counter(scene: Scene) -> None:
    """A look that comes late is about an earlier charge, and compares it (P7)."""
    (followed,) = await scene.followed()
    for won in (True, False):
        ended = await follows.end(
            scene.db, scene.scope, followed, decline=None, canceled=False, rule="F4", actor=ACTOR
        )
        assert (ended is not None) is won
    assert scene.value("SELECT charge_seq FROM anchorhold.invoice") == followed.seq + 1


@pytest.mark.parametrize("end", [DECLINE, UNCLEAR, ENDS[Meaning.KEEP]], ids=lambda end: end.state)
async def test_an_owner_whose_mark_was_lost_leaves_the_rest_to_the_sweep(
    end: End, scene: Scene
) -> None:
    (claim,) = await scene.sending()
    scene.sql(LOSE_MARK)
    assert await owner_ends(scene.db, claim.token, end) is None
    assert scene.sql("SELECT state FROM anchorhold.attempt") == [("claimed",)]
    assert await sweep_ends(scene.db, claim.token, NO_TRACE, AttemptState.CLAIMED)
    assert broken(scene) == []


async def test_a_payment_belongs_to_the_account_at_stripe_that_its_intent_was_made_in(
    scene: Scene,
) -> None:
    (claim,) = await scene.sending()
    await accounts.connect(scene.db, scene.scope, NewConnection("acct_2", b"sealed", "5678", "new"))
    token = claim.token
    await payments.settle(
        scene.db,
        scene.scope,
        token.invoice_id,
        success(token.invoice_id, token=token),
        Source.ANSWER,
        actor=ACTOR,
        clears=token,
    )
    assert scene.value("SELECT stripe_account FROM anchorhold.payment") == "acct_1"
