"""Disputes and returned debits: what the bank's word does to a payment and its invoice."""

import sys
from typing import Any

import pytest

from anchorhold.domain.disputes import DISPUTES
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code
from anchorhold.twin import acts
from tests.domain.tables import rows_without_a_test
from tests.engine.left import journal, notices
from tests.engine.rig import DEBIT_S, Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import AtStripe, allow_mandates, end_debits
from tests.engine.test_refunds import paid, refuses


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in DISPUTES))


def opens(world: Rig, invoice: InvoiceId, reason: str = "fraudulent") -> dict[str, Any]:
    charge = AtStripe(world).intent(invoice)["latest_charge"]
    return dict(acts.open_dispute(world.twin, charge, reason=reason))


def dispute(world: Rig) -> str | None:
    return world.sql("SELECT dispute FROM anchorhold.payment")[0][0]


def open_notices(world: Rig) -> list[str]:
    rows = world.sql("SELECT code FROM anchorhold.notice WHERE resolved_at IS NULL ORDER BY code")
    return [row[0] for row in rows]


async def test_b1_an_inquiry_moves_no_money_and_is_told(world: Rig) -> None:
    invoice, _ = await paid(world)
    opens(world, invoice, "inquiry")
    await world.tick()
    assert (dispute(world), open_notices(world)) == ("inquiry", ["payment.disputed"])
    assert world.row(invoice)["status"] == "paid"


async def test_b2_an_open_dispute_is_told_and_stops_refunds(world: Rig) -> None:
    invoice, payment = await paid(world)
    opens(world, invoice)
    await world.tick()
    assert (dispute(world), open_notices(world)) == ("open", ["payment.disputed"])
    assert await refuses(world, payment) is Code.PAYMENT_DISPUTED
    assert world.row(invoice)["status"] == "paid"


async def test_b3_case_h4_a_dispute_that_is_won_leaves_the_invoice_paid(world: Rig) -> None:
    invoice, _ = await paid(world)
    opened = opens(world, invoice)
    await world.tick()
    acts.close_dispute(world.twin, opened["id"], won=True)
    await world.tick()
    assert (dispute(world), open_notices(world)) == ("won", [])
    assert world.row(invoice)["status"] == "paid"


async def test_b4_case_h4_a_dispute_that_is_lost_makes_the_invoice_owed_again(world: Rig) -> None:
    invoice, _ = await paid(world)
    opened = opens(world, invoice)
    acts.close_dispute(world.twin, opened["id"], won=False)
    await world.tick()
    row = world.row(invoice)
    assert (row["status"], row["payment_status"], row["collection"]) == ("open", "failed", "manual")
    assert (row["amount_paid"], row["paid_at"]) == (0, None)
    assert open_notices(world) == ["payment.dispute_lost"]
    assert journal(world, invoice)[-1] == ("dispute.lost", "B4")
    await world.recover()
    assert AtStripe(world).intents(invoice) == ["succeeded"], "nobody charges it by himself"


async def test_b5_an_inquiry_that_is_closed_is_over(world: Rig) -> None:
    invoice, _ = await paid(world)
    opened = opens(world, invoice, "inquiry")
    await world.tick()
    acts.close_dispute(world.twin, opened["id"], won=True)
    await world.tick()
    assert (dispute(world), open_notices(world)) == ("closed", [])


async def test_an_operator_collects_again_after_a_lost_dispute(world: Rig) -> None:
    invoice, _ = await paid(world)
    acts.close_dispute(world.twin, opens(world, invoice)["id"], won=False)
    await world.tick()
    world.later(minutes=2)
    assert (await world.collect(invoice)).saved == "paid"
    assert world.row(invoice)["status"] == "paid"
    assert AtStripe(world).intents(invoice) == ["succeeded", "succeeded"]


async def test_a_lost_dispute_of_a_second_payment_leaves_the_invoice_paid(world: Rig) -> None:
    invoice, _ = await paid(world)
    world.sql("UPDATE anchorhold.payment SET amount_applied = 0")
    acts.close_dispute(world.twin, opens(world, invoice)["id"], won=False)
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    assert open_notices(world) == ["payment.dispute_lost"]


async def test_a_written_off_invoice_stays_written_off(world: Rig) -> None:
    invoice, _ = await paid(world)
    world.sql(
        "UPDATE anchorhold.invoice SET status = 'uncollectible', payment_status = 'failed', "
        "paid_at = NULL"
    )
    acts.close_dispute(world.twin, opens(world, invoice)["id"], won=False)
    await world.tick()
    assert world.row(invoice)["status"] == "uncollectible"


async def debited(world: Rig, method: str, kind: str = "sepa_debit") -> InvoiceId:
    """A debit of ours is processing."""
    currency = {"sepa_debit": "eur", "us_bank_account": "usd"}[kind]
    world.sql(f"UPDATE anchorhold.connection SET payment_method_types = '{{card,{kind}}}'")
    invoice = await world.invoice(method=method, currency=currency)
    await world.prepare()
    allow_mandates(world)
    await world.charge_due()
    return invoice


async def test_case_e1_e5_a_debit_is_processing_for_days_and_charged_by_nobody(
    world: Rig,
) -> None:
    invoice = await debited(world, "pm_success_de")
    for _ in range(3):
        world.later(days=1)
        await world.tick()
        assert await world.charge_due() == []
        assert world.row(invoice)["payment_status"] == "processing"
    assert AtStripe(world).charges(invoice) == ["pending"]


async def test_case_e2_a_debit_is_paid_only_when_it_succeeded(world: Rig) -> None:
    invoice = await debited(world, "pm_success_de")
    assert world.sql("SELECT 1 FROM anchorhold.payment") == []
    world.later(seconds=DEBIT_S + 86_400)
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_case_e3_a_debit_that_is_returned_after_success_is_owed_again(world: Rig) -> None:
    invoice = await debited(world, "pm_success_de")
    end_debits(world)
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    returned = opens(world, invoice, "insufficient_funds")
    acts.close_dispute(world.twin, returned["id"], won=False)
    await world.tick()
    row = world.row(invoice)
    assert (row["status"], row["amount_paid"], row["collection"]) == ("open", 0, "manual")


async def test_case_e4_a_debit_that_fails_is_not_tried_again_by_itself(world: Rig) -> None:
    invoice = await debited(world, "pm_failed_de")
    for _ in range(10):
        world.later(days=1)
        await world.tick()
        await world.charge_due()
    assert AtStripe(world).charges(invoice) == ["failed"]
    assert notices(world) == []


@pytest.mark.parametrize(
    ("kind", "method"),
    [("sepa_debit", "pm_failed_de"), ("us_bank_account", "pm_usBankAccount_insufficientFunds"),],
)  # fmt: skip
async def test_a_debit_that_fails_late_is_its_attempts_decline(
    world: Rig, kind: str, method: str
) -> None:
    invoice = await debited(world, method, kind)
    world.later(days=8)
    await world.tick()
    assert world.attempts(invoice)[-1][0] == "failed"
    assert world.row(invoice)["payment_status"] == "failed"
