"""A success is recorded once and truly, whatever else changed meanwhile."""

import pytest

from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Source, Verdict
from anchorhold.store import accounts, payments
from anchorhold.store.accounts import NewConnection
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
