"""One charge, from claim to save, against the twin."""

from tests.engine.rig import Rig


async def test_a_due_invoice_is_prepared_charged_and_paid(world: Rig) -> None:
    invoice = await world.invoice()
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A1", "paid")
    row = world.row(invoice)
    assert (row["status"], row["payment_status"], row["hold_until"]) == ("paid", "succeeded", None)
    assert world.paid_at_stripe() == {invoice: 1}
    assert world.attempts(invoice) == [("succeeded", "answered")]
