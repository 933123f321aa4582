"""A database that lost the mark `sending` and kept the claim: the hold ends all the same.

The row has no key and no time of a send, so it can be neither failed nor processing; Stripe's word
counts for the invoice (protocol sections 6 and 11).
"""

import pytest

from tests.engine.left import Left, left
from tests.engine.lost import swept, written_off
from tests.engine.lost_direct import comes_to_rest, crashed
from tests.engine.rig import Rig, When
from tests.engine.test_direct_rows import lost_debit


def lose_the_mark(world: Rig) -> None:
    """The last commit of the charge's owner is lost."""
    world.sql(
        "UPDATE anchorhold.attempt "
        "SET state = 'claimed', sent_at = NULL, idempotency_key = NULL, params = NULL"
    )


@pytest.mark.parametrize(
    ("method", "blocked"),
    [
        ("pm_card_chargeCustomerFail", None),
        ("pm_card_authenticationRequired", "customer_action"),
    ],
)
async def test_s7_its_decline_is_the_invoices(
    direct: Rig, method: str, blocked: str | None
) -> None:
    invoice = await crashed(direct, When.AFTER, method=method)
    lose_the_mark(direct)
    assert await swept(direct) == {"S7": 1}
    assert left(direct, invoice) == Left(
        "open", "failed", True, 1, ("superseded", "answered", "S7"), None, blocked
    )
    await comes_to_rest(direct, invoice, "open")


async def test_s9_and_so_on_a_written_off_invoice(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER, method="pm_card_chargeCustomerFail")
    lose_the_mark(direct)
    written_off(direct)
    await swept(direct)
    await comes_to_rest(direct, invoice, "uncollectible")


async def test_s1_its_success_is_the_invoices(direct: Rig) -> None:
    invoice = await crashed(direct, When.AFTER)
    lose_the_mark(direct)
    assert await swept(direct) == {"S1": 1}
    assert left(direct, invoice).attempt == ("superseded", "intent_succeeded", "S1")
    await comes_to_rest(direct, invoice, "paid")


async def test_s3_its_debit_is_followed(direct: Rig) -> None:
    invoice = await lost_debit(direct)
    lose_the_mark(direct)
    assert await swept(direct) == {"S3": 1}
    assert left(direct, invoice) == Left(
        "open", "processing", True, 1, ("superseded", "answered", "S3"), None
    )
