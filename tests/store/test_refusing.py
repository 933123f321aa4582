"""What was refused is told, each time, and stays told until something newer is known."""

from dataclasses import replace

from anchorhold.domain.ids import NOTICE
from anchorhold.domain.outcome import ENDS, Meaning
from anchorhold.store import customers
from tests.store.acts import RELEASE
from tests.store.scene import ACTOR, DECLINE, Scene, claim_one, owner_ends

LIFTED = """
    UPDATE anchorhold.stripe_customer SET refused_code = NULL, refused_message = NULL
"""
NOTICES = "SELECT id, subject FROM anchorhold.notice ORDER BY id"


async def test_a_customer_that_is_refused_again_for_another_reason_is_another_notice(
    scene: Scene,
) -> None:
    (customer,) = await scene.customers()
    for code in ("card_declined", "resource_missing"):
        scene.sql(LIFTED)
        assert await customers.refuse(
            scene.db, scene.scope, customer, code=code, message="No.", actor=ACTOR
        )
    rows = scene.sql(NOTICES)
    assert [subject for _, subject in rows] == ["card_declined", "resource_missing"]
    assert all(NOTICE.parse(notice_id) for notice_id, _ in rows)


async def test_a_charge_that_was_not_sent_leaves_the_last_decline_to_be_read(scene: Scene) -> None:
    (claim,) = await scene.sending()
    await owner_ends(scene.db, claim.token, DECLINE)
    again = await claim_one(scene.db, scene, claim.token.invoice_id)
    assert again is not None
    await owner_ends(scene.db, again.token, replace(RELEASE, decline=None))
    said = scene.value("SELECT last_error ->> 'decline_code' FROM anchorhold.invoice")
    assert said == "insufficient_funds"


async def test_a_later_end_takes_the_decline_back(scene: Scene) -> None:
    (claim,) = await scene.sending()
    await owner_ends(scene.db, claim.token, DECLINE)
    again = await claim_one(scene.db, scene, claim.token.invoice_id)
    assert again is not None
    canceled = ENDS[Meaning.INTENT_CANCELED]
    await owner_ends(scene.db, again.token, canceled)
    assert scene.value("SELECT last_error FROM anchorhold.invoice") is None
