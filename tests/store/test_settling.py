"""A success is recorded once and truly, whatever else changed meanwhile."""

from anchorhold.domain.payment import Source, Verdict
from anchorhold.store import accounts, payments
from anchorhold.store.accounts import NewConnection
from tests.store.legal import broken
from tests.store.scene import ACTOR, Scene, success

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
